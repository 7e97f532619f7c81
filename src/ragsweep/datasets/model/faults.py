"""Collects what is wrong with single questions or answers, to say all of it at once, or to leave these out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from ragsweep.core.errors import DatasetError

OnError = Literal["refuse", "skip"]

FAULTS_SHOWN = 5
VALUES = re.compile(r"'[^']*'|\([^)]*\)|\d+")  # in which faults of one kind differ
FIRST_VALUE = re.compile(r"[^']*'[^']*'")
REMARK = re.compile(r" \(.*\)$")  # what there is instead


class Fault(NamedTuple):
    """Why a question or an answer cannot be used.

    Attributes:
        text: What is wrong with it, in a sentence.
        name: Its id; None if that cannot be read either.
    """

    text: str
    name: str | None


@dataclass
class Faults:
    """What is wrong with the questions or answers of a file: one fault for each of them that cannot be used.

    Attributes:
        path: The file, which the messages need not repeat.
        group: The group of the setting `on_error`.
        noun: What the file has: `questions` or `answers`.
        found: The faults, in the order of the file.
    """

    path: object
    group: str = "dataset"
    noun: str = "questions"
    found: list[Fault] = field(default_factory=list)

    def add(self, error: DatasetError, name: str | None = None) -> None:
        """Note that one cannot be used; `name` is its id."""
        self.found.append(Fault(str(error), name))

    def of(self, belongs: Callable[[Fault], bool]) -> Faults:
        """Those of the faults for which this is true."""
        return replace(self, found=[each for each in self.found if belongs(each)])

    def left_out(self, on_error: OnError, usable: int) -> tuple[Fault, ...]:
        """The faults, if what has them is left out.

        Args:
            on_error: Whether one that cannot be used refuses the file, or is left out.
            usable: How many others there are, without any fault.

        Raises:
            DatasetError: Some are faulty, and are not to be left out, or all of them are.
        """
        if self.found and (on_error == "refuse" or not usable):
            them = "them" if len(self.found) > 1 else "it"
            raise self.refusal(usable, f" ({self.group}.on_error=skip leaves {them} out)" if usable else "")
        return tuple(self.found)

    def refusal(self, usable: int, advice: str = "") -> DatasetError:
        """An error that says what is wrong, each kind once, of how many, and what can be done about it."""
        number = len(self.found)
        shown: list[str] = []
        said: set[str] = set()
        for each in self.found[:FAULTS_SHOWN]:
            text = each.text.removeprefix(f"{self.path}, ")
            place, _, problem = text.partition(": ")
            kind, value = VALUES.sub("", problem), FIRST_VALUE.match(problem)
            remark = REMARK.search(problem, value.end() if value else 0)
            instead = remark[0] if remark and remark[0] not in said else ""
            again = f"{place}: {f'{value[0]}, too' if value else 'the same'}{instead}"
            shown.append(again if kind in said else text if shown else each.text)
            said |= {kind, instead}
        more = [f"and {number - FAULTS_SHOWN:,} more"] if number > FAULTS_SHOWN else []
        found = f"{number:,} of {number + usable:,} {self.noun} cannot be used: " if number > 1 else ""
        return DatasetError(f"{found}{'; '.join(shown + more)}{advice}")
