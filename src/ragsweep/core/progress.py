"""A bar for long work, in a terminal only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from threading import Event
from typing import Any, TypeVar

from ragsweep.core.errors import ModelError
from ragsweep.core.terminal import counted

Item = TypeVar("Item")
Result = TypeVar("Result")

_open: list[Any] = []  # the bar of tqdm; one at most


def hide_progress() -> None:
    """Show no bar in this process: the workers of a launcher share a terminal."""
    from tqdm import tqdm

    _open.append(tqdm(disable=True))


@contextmanager
def progress(label: str, total: int | None = None) -> Iterator[Any]:
    """Show the work of the block; a part of work that is being shown already is not shown on its own."""
    if _open:
        yield _open[0]
        return
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # no thread beside the work
    form = "{desc} ..." if total is None else None
    with tqdm(desc=label, total=total, bar_format=form, leave=False, disable=None) as bar:
        _open.append(bar)
        try:
            yield bar
        finally:
            _open.clear()


def advance(done: int) -> None:
    """Add to what is done of the work that is being shown, if any is."""
    for bar in _open:
        bar.update(done)


class Stopped(Exception):  # noqa: N818 - another item has failed, or the user has stopped the run
    """No further work is done."""


def in_threads(
    work: Callable[[Item, Event], Result], items: Sequence[Item], threads: int, *, noun: str, go_on: str
) -> list[Result]:
    """Call `work` for each item in threads. After a failure, no further item is begun.

    Args:
        work: Called in several threads, with an event that is set after a failure: it may raise `Stopped` then.
        items: What it is called with.
        threads: How many.
        noun: What an item is, for messages.
        go_on: How to go on after a `ModelError`, for messages.
    """
    stop = Event()

    def result(item: Item) -> Result:
        try:
            return work(item, stop)
        except BaseException:
            stop.set()
            raise

    with ThreadPoolExecutor(threads) as pool:
        try:  # from the first one on: the pool waits for all that were handed to it
            futures = [pool.submit(result, item) for item in items]
            for future in as_completed(futures):
                if future.exception() is not None:
                    break
                advance(1)
        finally:  # also at an interruption
            stop.set()
            pool.shutdown(cancel_futures=True)
    left = [future for future in futures if future.cancelled() or future.exception() is not None]
    for error in (future.exception() for future in left if not future.cancelled()):
        if isinstance(error, ModelError):
            raise type(error)(f"{error}; {counted(len(left), noun)} left; {go_on}")
        if error is not None and not isinstance(error, Stopped):
            raise error
    return [future.result() for future in futures]
