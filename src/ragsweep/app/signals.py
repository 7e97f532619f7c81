"""Handles signals that end this process: open runs are closed as KILLED, whatever the main thread is doing."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable
from functools import cache

import psutil

from ragsweep.core.endings import end, remember
from ragsweep.core.terminal import TERMINATED

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SECONDS_TO_END = 5  # for a worker whose driver is gone
SECONDS_TO_UNWIND = 0.3  # for the main thread, before its runs are closed beside it


def watch_signals(close: Callable[[], None]) -> None:
    """Raise an exception for signals that end this process, and call `close` from a thread soon after.

    The thread is needed where a library holds the main thread, so that the exception comes late.
    """
    signal.signal(signal.SIGTERM, end)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup leaves it
        signal.signal(signal.SIGHUP, end)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def close_in_time() -> None:
        while number := os.read(reading, 1):
            if number[0] in ENDINGS:
                remember(number[0])
                time.sleep(SECONDS_TO_UNWIND)
                close()

    threading.Thread(target=close_in_time, daemon=True).start()


def ignore_signals() -> None:
    """From now on, no signal ends this process: it is closing what is open."""
    for ending in ENDINGS:
        signal.signal(ending, signal.SIG_IGN)


@cache
def end_with(driver: int, identity: str) -> None:
    """In a worker that the driver has started on this machine: end soon after the driver is gone, even if killed.

    Args:
        driver: The process that started the sweep.
        identity: Of that process, as `process_identity` returns it.
    """
    from ragsweep.tracking.process import is_gone

    if is_gone(identity):  # before this worker was ready
        os._exit(TERMINATED)
    if driver not in {parent.pid for parent in psutil.Process().parents()}:
        return
    alive = os.pidfd_open(driver)

    def wait() -> None:
        select.select([alive], [], [])  # until the driver is gone
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(SECONDS_TO_END)
        os._exit(TERMINATED)  # a library holds the main thread

    threading.Thread(target=wait, daemon=True).start()


def leave_signals_to_the_sweep() -> None:
    """In a worker: a terminal sends Ctrl-C to all processes, but the sweep ends its workers itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if getattr(signal.getsignal(signal.SIGTERM), "__module__", "").startswith(("ray.", "submitit.")):
        signal.signal(signal.SIGTERM, end)  # theirs looks like sys.exit in a retriever, or does nothing
