"""Ends this process by an exception in its main thread, which closes what is open; the next start closes the rest."""

from __future__ import annotations

import signal
import sys
from time import monotonic
from types import FrameType
from typing import Any

from ragsweep.core.errors import Terminated
from ragsweep.core.terminal import TERMINATED

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SECONDS_TO_UNWIND = 5  # after that, a second signal also ends what is still closing

_received: list[tuple[int, float]] = []  # signals and their times: a library may catch the exception, or replace it


def answer_signals() -> None:
    """Let signals end this process by `end`, unless they are ignored, as by nohup or in the background of a shell."""
    for number in ENDINGS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, end)
    sys.unraisablehook = _report


def ignore_signals() -> None:
    """From now on, no signal ends this process: it is closing what is open."""
    for number in ENDINGS:
        signal.signal(number, signal.SIG_IGN)


def end(number: int, _frame: FrameType | None) -> None:
    """Raise the exception of a signal, but no second one while that of the first is handled: it would be half done."""
    _received.append((number, monotonic()))
    if not _is_ending(sys.exception()) or monotonic() - _received[0][1] > SECONDS_TO_UNWIND:
        end_if_signalled()


def of_signal() -> BaseException | None:
    """The exception of the first signal that was received; None if there was none."""
    if not _received:
        return None
    return KeyboardInterrupt() if _received[0][0] == signal.SIGINT else Terminated(TERMINATED)


def end_if_signalled() -> None:
    """Raise the exception of a received signal once more."""
    if error := of_signal():
        raise error


def _report(unraisable: Any) -> None:
    """Print an error that cannot be raised where it happened, but not that of a signal, which is raised later."""
    if not _is_ending(unraisable.exc_value):
        sys.__unraisablehook__(unraisable)


def _is_ending(error: BaseException | None) -> bool:
    """Whether an error, or what it was raised from, is the exception of a signal."""
    while error is not None and not isinstance(error, KeyboardInterrupt | Terminated):
        error = error.__context__
    return error is not None
