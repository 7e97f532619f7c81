"""A bar for long work, in a terminal only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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
