"""Makes text from any source safe to print on a terminal, and ends a process with the right message and exit status.

A signal ends it by an exception in its main thread, which closes what is open; the next start closes the rest.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import warnings
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Any

from ragsweep.core.errors import Terminated
from ragsweep.core.plugins import our_folders

FAILED, BAD_INPUT, NOT_ACCEPTED, INTERRUPTED, TERMINATED = 1, 2, 3, 130, 143  # exit statuses
FULL_ERROR, VERBOSE = "HYDRA_FULL_ERROR", "RAGSWEEP_VERBOSE"  # in the environment: show tracebacks, Hydra's and ours
LONGEST_PRINTED_NAME = 120  # characters
LONGEST_EXAMPLE = 80  # characters
LONGEST_SHOWN_H = 1000  # hours of a time: a server can ask to wait any number of them
EXAMPLES_SHOWN = 3  # in a sentence
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SECONDS_TO_UNWIND = 5  # after that, a second signal also ends what is still closing

_lost: list[OSError] = []  # errors because of which something could not be printed
_received: list[tuple[int, float]] = []  # signals and their times: a library may catch the exception, or replace it
_usual_format = warnings.formatwarning


def printable(text: str) -> str:
    """A text without escape sequences, control characters and marks that change the direction of writing.

    Line breaks stay; other white space becomes a space.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else " " if char.isspace() else "" for char in text)


def one_line(text: str) -> str:
    """A printable text in one line, with all white space reduced to single spaces."""
    return " ".join(printable(text).split())


def shortened(text: str, longest: int = LONGEST_PRINTED_NAME) -> str:
    """The text, or its two ends where it is too long to be shown."""
    kept = longest - 3
    return text if len(text) <= longest else f"{text[: kept - kept // 2]}...{text[-(kept // 2) :]}"


def counted(number: int, noun: str) -> str:
    """A number with its noun in the singular or plural: `1 query`, `2,000 queries`."""
    return f"{number:,} {noun if number == 1 else f'{noun[:-1]}ies' if noun.endswith('y') else f'{noun}s'}"


def verb(number: int, plural: str) -> str:
    """The verb after a number: `are`, or `is` after 1."""
    singular = {"are": "is", "have": "has", "were": "was"}.get(plural, f"{plural}s")
    return singular if number == 1 else plural


def counted_of_all(number: int, left_out: int, noun: str) -> str:
    """A number, and of how many, if some are left out: `133 queries`, `4,162 of 4,183 questions`."""
    if not left_out:
        return counted(number, noun)
    return f"{number:,} of {number + left_out:,} {counted(number + left_out, noun).partition(' ')[2]}"


def some_of(names: Iterable[str]) -> str:
    """The first names in quotes, and whether there are more: `'a', 'b', 'c', ...`."""
    first = [shortened(one_line(repr(name)), LONGEST_EXAMPLE) for name in islice(names, EXAMPLES_SHOWN + 1)]
    return ", ".join(first[:EXAMPLES_SHOWN]) + (", ..." if len(first) > EXAMPLES_SHOWN else "")


def named(names: Sequence[str], separator: str = ", ") -> str:
    """The first names in parentheses, after a space; nothing if there are none."""
    more = separator + "..." if len(names) > EXAMPLES_SHOWN else ""
    return f" ({separator.join(names[:EXAMPLES_SHOWN])}{more})" if names else ""


def quoted(text: str) -> str:
    """A text of the dataset in quotes, in one line, shortened."""
    return f'"{shortened(one_line(text), LONGEST_EXAMPLE)}"'


def duration(seconds: float) -> str:
    """A time as a reader would say it: `19 s`, `3 min 5 s`, `2 h 10 min`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= LONGEST_SHOWN_H:
        return f"more than {LONGEST_SHOWN_H:,} h"
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def aligned(rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> list[str]:
    """Rows of cells as aligned lines; the columns in `left` are aligned left, the others right."""
    rows = [[shortened(one_line(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


@cache
def say_once(line: str) -> None:
    """Print a line to standard error, unless this process has printed it before."""
    print(line, file=sys.stderr)


def guard() -> None:
    """Make everything that this process prints safe for a terminal, also if the reader of its output goes away.

    A standard stream that was closed goes to the null device, else the next file that is opened would get its number.
    """
    warnings.formatwarning = _formatted
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it takes the lowest free number
        stream = getattr(sys, name) or os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False)
        guarded = number == 0 or isinstance(stream, _Guarded)
        setattr(sys, name, stream if guarded else _Guarded(stream))


def _formatted(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    if any(Path(filename).is_relative_to(folder) for folder in our_folders()):
        return f"ragsweep: {message}\n"
    return _usual_format(message, category, filename, lineno, line)


class _Guarded:
    """A stream that passes all text through `printable`, and drops it once the reader is gone."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        if getattr(stream, "errors", "") == "strict":
            stream.reconfigure(errors="replace")  # a text may contain letters that the terminal cannot show

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        progress = "\r" if text.startswith("\r") else ""  # a bar that is drawn again and again
        try:
            self._stream.write(progress + printable(text.removeprefix("\r")))
            self._stream.flush()
        except OSError as error:  # `| head` has ended, or the disk is full: the work goes on
            if error.errno != errno.EPIPE:
                _lost.append(error)
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        self.write("")


def with_lost_output(status: int) -> int:
    """The exit status: `FAILED` instead of 0 if what was printed could not be written. Standard error says so."""
    if not _lost:
        return status
    print(f"ragsweep: not everything could be printed ({_lost[0].strerror})", file=sys.stderr)
    return status or FAILED


def interrupted() -> int:
    """Say that Ctrl-C has ended this process, and return its exit status."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one would leave a traceback
    print("interrupted", file=sys.stderr)
    return INTERRUPTED


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
