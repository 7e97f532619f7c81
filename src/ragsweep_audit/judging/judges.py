"""Who judges: a person at the terminal, or a file of judgments that stands for one."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, Protocol

from ragsweep.core.terminal import printable
from ragsweep_audit.judging.pool import Asked, Pair

UNDO: Literal["u"] = "u"
QUIT: Literal["q"] = "q"
UNSURE = "?"
LONGEST_SHOWN = 5000  # characters of a passage
LONGEST_KEY = 64  # bytes: an arrow is several, with digits among them, and so is what is pasted: neither is an answer
WIDEST = 100  # columns of text

Answer = int | None | Literal["u", "q"]


class Judge(Protocol):
    """Says how relevant a unit is for a query."""

    def answer(self, asked: Asked, state: str) -> Answer:
        """The grade; None if it cannot be told; `u` to take the last one back; `q` to stop.

        Args:
            asked: What is asked.
            state: What is known so far, in one line.
        """
        ...


@dataclass(frozen=True)
class FileJudge:
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
class TerminalJudge:
    """Asks at the terminal, with one key for an answer.

    Attributes:
        highest: The highest grade.
    """

    highest: int

    def answer(self, asked: Asked, state: str) -> Answer:
        """Show a passage and wait for a key; the end of the input, or Ctrl-D, stops."""
        width = min(shutil.get_terminal_size().columns, WIDEST)
        again = " (asked a second time)" if asked.again else ""
        text = printable(shown_text(asked.pair))
        shown = [f"Question: {printable(asked.pair.query)}", f"{printable(asked.pair.where)}{again}", text]
        print(f"{state}\n\n" + "\n\n".join(_wrapped(each, width) for each in shown) + "\n")
        grades = " ".join(f"[{grade}]" for grade in range(self.highest, -1, -1))
        meaning = "not relevant" if self.highest == 1 else f"{self.highest} best, 0 not relevant"
        print(f"Relevant? {grades} ({meaning})  [?] cannot tell  [u] undo  [q] stop", flush=True)
        while key := _key():
            if key in answers(self.highest):
                return answers(self.highest)[key]
        return QUIT


def answers(highest: int) -> dict[str, Answer]:
    """What may be answered, by the key for it."""
    grades: dict[str, Answer] = {str(grade): grade for grade in range(highest, -1, -1)}
    return {**grades, UNSURE: None, UNDO: UNDO, QUIT: QUIT}


def shown_text(pair: Pair) -> str:
    """The passage as a judge sees it, which says so where it is cut."""
    left_out = len(pair.text) - LONGEST_SHOWN
    return pair.text if left_out <= 0 else f"{pair.text[:LONGEST_SHOWN]} [... {left_out:,} more characters]"


def _wrapped(text: str, width: int) -> str:
    return "\n".join(textwrap.fill(line, width) for line in text.splitlines())


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
