"""Collects what is wrong with single questions or answers, to say all of it at once, or to leave these out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ragsweep.core.errors import DatasetError

OnError = Literal["refuse", "skip"]
OnQuestionError = Literal["refuse", "skip", "keep"]

FAULTS_SHOWN = 5


class AbsentUnitError(DatasetError):
    """A judgment names a page or a document that the documents do not have.

    Attributes:
        judgments: All judgments of the question, those of absent units among them.
    """

    judgments: Sequence[Any] = ()


class Absent(NamedTuple):
    """A question whose only fault is that it asks for pages or documents that the documents do not have.

    Attributes:
        query: The question, a `Query`.
        judgments: All of its `Judgment`s, those of absent units among them.
        position: How many questions before it can be used.
        case: Its multiple-choice `Case`, if the dataset has cases.
    """

    query: Any
    judgments: Sequence[Any]
    position: int
    case: Any = None


class Fault(NamedTuple):
    """Why a question or an answer cannot be used.

    Attributes:
        text: A sentence.
        name: The id; None if that cannot be read either.
        absent: The question, if it can be measured with what is absent counting as missed.
    """

    text: str
    name: str | None
    absent: Absent | None = None


@dataclass
class Faults:
    """What is wrong with the questions or answers of a file: one fault for each of them that cannot be used.

    Attributes:
        path: The file, which the messages need not repeat.
        group: The group of the setting `on_error`.
        noun: What the file has: `questions` or `answers`.
        faults: In the order of the file.
    """

    path: object
    group: str = "dataset"
    noun: str = "questions"
    faults: list[Fault] = field(default_factory=list)

    def add(self, error: DatasetError, name: str | None = None) -> None:
        """Note that one cannot be used; `name` is its id."""
        self.faults.append(Fault(str(error), name))

    def add_absent(self, error: AbsentUnitError, query: Any, position: int, case: Any = None) -> None:
        """Note a question of absent units, which may be kept; arguments as of `Absent`."""
        self.faults.append(Fault(str(error), query.query_id, Absent(query, error.judgments, position, case)))

    def left_out(self, on_error: OnQuestionError, usable: int) -> tuple[Fault, ...]:
        """The faults, if what has them is left out.

        Args:
            on_error: Whether one that cannot be used refuses the file, or is left out.
            usable: How many others there are, without any fault.

        Raises:
            DatasetError: Some are faulty, and are not to be left out, or all of them are.
        """
        if self.faults and (on_error != "skip" or not usable):
            raise self._refusal(usable)
        return tuple(self.faults)

    def _refusal(self, usable: int) -> DatasetError:
        """An error with the first faults, of how many, and what can be done about it."""
        number = len(self.faults)
        first, *further = (fault.text for fault in self.faults[:FAULTS_SHOWN])
        shown = [first, *(text.removeprefix(f"{self.path}, ") for text in further)]
        more = [f"and {number - FAULTS_SHOWN:,} more"] if number > FAULTS_SHOWN else []
        how_many = f"{number:,} of {number + usable:,} {self.noun} cannot be used: " if number > 1 else ""
        ways = [f"{self.group}.on_error=skip leaves {'them' if number > 1 else 'it'} out"] if usable else []
        if all(fault.absent for fault in self.faults):
            ways.append(f"{self.group}.on_error=keep counts what is absent as missed")
        advice = f" ({', '.join(ways)})" if ways else ""
        return DatasetError(f"{how_many}{'; '.join(shown + more)}{advice}")
