"""Remembers the signals that end this process: a library may catch their exception, or turn it into its own error."""

from __future__ import annotations

import signal
import sys
from time import monotonic
from types import FrameType
from typing import Any

from ragsweep.core.errors import Terminated
from ragsweep.core.terminal import TERMINATED

SECONDS_TO_UNWIND = 5  # after that, a second signal also ends what is still closing

_received: list[tuple[int, float]] = []  # signals, and when they came


def remember(number: int) -> None:
    """Note that a signal that ends this process was received."""
    _received.append((number, monotonic()))


def of_signal() -> BaseException | None:
    """The exception of the first signal that was received; None if there was none."""
    if not _received:
        return None
    return KeyboardInterrupt() if _received[0][0] == signal.SIGINT else Terminated(TERMINATED)


def end_if_signalled() -> None:
    """Raise the exception of a received signal once more."""
    if error := of_signal():
        raise error


def end(number: int, _frame: FrameType | None) -> None:
    """Handle a signal by ending this process; open runs are closed on the way.

    The signal is remembered here, where its exception is raised: a thread that reads it may come too late. A second
    signal changes nothing while the exception of the first one is handled: it would leave half of that undone.
    """
    remember(number)
    if not _is_ending(sys.exception()) or monotonic() - _received[0][1] > SECONDS_TO_UNWIND:
        end_if_signalled()


def answer_ctrl_c() -> None:
    """Let Ctrl-C end this process by `end`, unless it is ignored, as in the background of a shell."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end)
        sys.unraisablehook = _report


def _report(unraisable: Any) -> None:
    """Print an error that cannot be raised where it happened; that of a signal is remembered, and raised elsewhere."""
    if not _is_ending(unraisable.exc_value):
        sys.__unraisablehook__(unraisable)


def _is_ending(error: BaseException | None) -> bool:
    """Whether an error, or what it was raised from, is the exception of a signal."""
    while error is not None and not isinstance(error, KeyboardInterrupt | Terminated):
        error = error.__context__
    return error is not None
