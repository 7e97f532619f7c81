"""Who judges: a person at the terminal, or a file of judgments that stands for one."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

from ragsweep.core.terminal import printable
from ragsweep_audit.judging.pool import LONGEST_SHOWN, Asked, Shown

UNDO: Literal["u"] = "u"
QUIT: Literal["q"] = "q"
UNSURE = "?"
ALL = "a"  # shows what was left out
OTHER_LINES = 12  # of the terminal, beside the text
LONGEST_KEY = 64  # bytes: an arrow is several, with digits among them, and so is what is pasted: neither is an answer
WIDEST = 100  # columns of text

Answer = int | None | Literal["u", "q"]


class Judge(ABC):
    """Says how relevant a unit is for a query.

    Attributes:
        shows_state: Whether it shows what is known so far where the command runs.
    """

    shows_state: ClassVar[bool] = False

    @abstractmethod
    def answer(self, asked: Asked, state: str) -> Answer:
        """The grade; None if it cannot be told; `u` to take the last one back; `q` to stop.

        Args:
            asked: What is asked.
            state: What is known so far, in one line.
        """

    def end(self, sentences: Sequence[str]) -> None:  # noqa: B027  # most judges are told by the terminal
        """Show what is decided."""


@dataclass(frozen=True)
class FileJudge(Judge):
    """Looks judgments up. What is not in the file is not relevant.

    Attributes:
        grades: The grades by the ids of query and unit.
        highest: The highest grade; higher ones count as that.
    """

    grades: Mapping[tuple[str, str], int]
    highest: int

    def answer(self, asked: Asked, state: str) -> Answer:
        """The grade of the file."""
        grade = self.grades.get((asked.pair.query_id, asked.pair.unit), 0)
        return min(max(grade, 0), self.highest)


@dataclass(frozen=True)
class TerminalJudge(Judge):
    """Asks at the terminal, with one key for an answer.

    Attributes:
        highest: The highest grade.
    """

    shows_state: ClassVar[bool] = True

    highest: int

    def answer(self, asked: Asked, state: str) -> Answer:
        """Show a passage and wait for a key; the end of the input, or Ctrl-D, stops."""
        columns, lines = shutil.get_terminal_size()
        width, unit = min(columns, WIDEST), asked.pair.read()
        fits = max(width * (lines - OTHER_LINES), len(unit.match[:LONGEST_SHOWN]))
        print(f"{state}\n")
        self._show(asked, unit, fits, width)
        while key := _key():
            if key == ALL and unit.size > fits:
                fits = unit.size
                self._show(asked, unit, fits, width)
            elif key in answers(self.highest):
                return answers(self.highest)[key]
        return QUIT

    def _show(self, asked: Asked, unit: Shown, most: int, width: int) -> None:
        """Print so many characters of what is asked, and the keys."""
        again = " (asked a second time)" if asked.again else ""
        shown = unit.cut(most)
        bar = "| " if shown.before or shown.after else ""  # marks the passage that is ranked highest
        print(_wrapped(f"Question: {printable(asked.pair.query)}\n\n{shown.where}{again}", width), end="\n\n")
        for text, mark in ((shown.before, ""), (shown.match, bar), (shown.after, "")):
            if text.strip():
                print(_wrapped(text.strip("\n"), width, mark))
        grades = " ".join(f"[{grade}]" for grade in range(self.highest, -1, -1))
        meaning = "not relevant" if self.highest == 1 else f"{self.highest} best, 0 not relevant"
        rest = f"[{ALL}] show all  " if unit.size > most else ""
        print(f"\nRelevant? {grades} ({meaning})  {rest}[?] cannot tell  [u] undo  [q] stop", flush=True)


def answers(highest: int) -> dict[str, Answer]:
    """What may be answered, by the key for it."""
    grades: dict[str, Answer] = {str(grade): grade for grade in range(highest, -1, -1)}
    return {**grades, UNSURE: None, UNDO: UNDO, QUIT: QUIT}


def _wrapped(text: str, width: int, mark: str = "") -> str:
    fill = partial(textwrap.fill, width=width, initial_indent=mark, subsequent_indent=mark)
    return "\n".join(map(fill, text.splitlines()))


def _key() -> str:
    """The next key, or the next character of the input that is no space; empty at its end."""
    if not sys.stdin.isatty():
        while (key := sys.stdin.read(1)).isspace():
            pass
        return key
    with _single_keys():
        key = os.read(sys.stdin.fileno(), LONGEST_KEY).decode(errors="replace")
    return "" if key == "\x04" else key  # Ctrl-D


@contextmanager
def _single_keys() -> Iterator[None]:
    """Let the terminal hand over each key at once; Ctrl-C still interrupts."""
    import termios
    import tty

    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
