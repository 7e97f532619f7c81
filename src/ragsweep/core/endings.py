"""Remembers the signals that end this process: a library may catch their exception, or turn it into its own error."""

from __future__ import annotations

import signal
from types import FrameType
from typing import NoReturn

from ragsweep.core.errors import Terminated
from ragsweep.core.terminal import TERMINATED

_received: list[int] = []


def remember(number: int) -> None:
    """Note that a signal that ends this process was received."""
    _received.append(number)


def of_signal() -> BaseException | None:
    """The exception of the first signal that was received; None if there was none."""
    if not _received:
        return None
    return KeyboardInterrupt() if _received[0] == signal.SIGINT else Terminated(TERMINATED)


def end_if_signalled() -> None:
    """Raise the exception of a received signal once more."""
    if error := of_signal():
        raise error


def terminate(number: int, _frame: FrameType | None) -> NoReturn:
    """End this process on SIGTERM or SIGHUP; open runs are closed on the way."""
    remember(number)
    raise Terminated(TERMINATED)
