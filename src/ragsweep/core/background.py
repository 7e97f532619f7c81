"""A second process that draws charts while this one writes tables and logs runs."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from io import BytesIO
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, ParamSpec, TypeVar

from ragsweep.core.style import figure

P = ParamSpec("P")
T = TypeVar("T")

_workers: list[Connection] = []  # one at most
_can_fork: set[int] = set()  # ids of processes: the background process, on Linux


def start() -> None:
    """Start the process; it ends when this one ends, in whatever way."""
    context = get_context("spawn")  # a fork would copy locks that other threads hold
    ours, theirs = context.Pipe()
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches both processes; this one handles it
    context.Process(target=_serve, args=(theirs,), daemon=True).start()
    signal.signal(signal.SIGINT, interrupt)
    theirs.close()
    _workers.append(ours)


def in_background(task: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Callable[[], T]:
    """Start a task in the other process; without one, the task runs here when its result is asked for.

    Returns:
        A function that waits for the task and returns its result, or raises its error.
    """
    if not _workers:
        return partial(task, *args, **kwargs)
    [worker] = _workers

    def wait() -> T:
        try:
            answer: T | _Failure = worker.recv()
        except (EOFError, OSError):  # the process was killed: go on without it
            _workers.clear()
            return task(*args, **kwargs)
        if isinstance(answer, _Failure):
            raise answer.error
        return answer

    try:
        worker.send((task, args, kwargs))
    except OSError:  # `wait` will notice, too
        pass
    except Exception:  # an argument, such as a function within a function, cannot be sent to another process
        return partial(task, *args, **kwargs)
    return wait


def in_fork(task: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> Callable[[], None]:
    """Do something in a copy of the background process, or right now where a copy cannot be made safely.

    Returns:
        A function that waits for it, and raises its error if it failed.
    """
    if os.getpid() not in _can_fork:
        task(*args, **kwargs)
        return lambda: None
    child = os.fork()  # this process has no threads of its own, and started without any
    if child == 0:
        status = 1
        with suppress(BaseException):
            task(*args, **kwargs)
            status = 0
        os._exit(status)

    def wait() -> None:
        if os.waitpid(child, 0)[1]:
            task(*args, **kwargs)  # again, for its error

    return wait


class _Failure:
    def __init__(self, error: Exception) -> None:
        self.error = error


def _serve(requests: Connection) -> None:
    if sys.platform == "linux":
        _can_fork.add(os.getpid())
    warm_up = figure(4, 3, "Charts", "in the background")  # loads matplotlib while the first run is being measured
    warm_up.subplots()
    warm_up.savefig(BytesIO())
    gc.disable()  # a collection in the middle of a chart would take as long as the chart
    gc.freeze()
    while True:
        gc.collect()
        try:
            task, args, kwargs = requests.recv()
            requests.send(_answer(task, args, kwargs))
        except (EOFError, OSError):  # the other process is gone
            return


def _answer(task: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return task(*args, **kwargs)
    except Exception as error:
        return _Failure(error)
