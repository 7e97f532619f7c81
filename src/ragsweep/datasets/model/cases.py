"""Multiple-choice cases: what is asked, the options, and which of them is correct."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ragsweep.core.digest import digest
from ragsweep.core.errors import DatasetError
from ragsweep.datasets.readers.fields import SHOWN_CHARACTERS, flaw_of_name, flaw_of_text

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
WRITTEN_LETTER = re.compile(r"\(?([A-Z])[):]\s")  # as an option may begin; "B. anthracis" does not


class Option(NamedTuple):
    """One of the answers to choose from."""

    letter: str
    text: str


@dataclass(frozen=True, slots=True)
class Case:
    """A multiple-choice question with its correct answer, if it has one.

    Attributes:
        query_id: Id of the query that retrieves evidence for it.
        case: What the question is about, such as a patient; empty if the question says everything.
        question: The question.
        options: The answers to choose from, at least two, with the letters A, B, C, ... in this order.
        correct: Letter of the correct option; None if the documents are known not to answer the question, so that every
            answer is wrong.
        specialty: Medical field, or None.
        difficulty: Such as easy, medium or hard, or None.
        condition: The disease or problem, or None.
        conditions: The condition that each option stands for, shape [options]; empty if not known. A wrong answer then
            names the condition that it was confused with.
    """

    query_id: str
    case: str
    question: str
    options: tuple[Option, ...]
    correct: str | None
    specialty: str | None = None
    difficulty: str | None = None
    condition: str | None = None
    conditions: tuple[str | None, ...] = ()

    @property
    def letters(self) -> str:
        """The letters of the options."""
        return LETTERS[: len(self.options)]

    @property
    def position(self) -> int:
        """Position of the correct option; -1 if there is none."""
        return -1 if self.correct is None else self.letters.index(self.correct)

    @property
    def text(self) -> str:
        """What retrieval searches for: the case and the question."""
        return f"{self.case}\n{self.question}".strip()


def digest_of_cases(cases: tuple[Case, ...]) -> str:
    """Digest of the cases with everything that is asked and known of them."""
    return digest([[getattr(case, name) for name in Case.__slots__] for case in cases])


def check_cases(name: str, cases: tuple[Case, ...], query_ids: list[str]) -> None:
    """Raise `DatasetError` if a case cannot be asked or judged.

    Args:
        name: Name of the dataset.
        cases: The cases; empty if the dataset has none.
        query_ids: Ids of the queries of the dataset; each case belongs to one, in the same order.
    """
    if cases and [case.query_id for case in cases] != query_ids:
        raise DatasetError(f"{name}: the cases and the queries have different ids; expected a query for each case")
    for case in cases:
        if flaw := flaw_of_case(case):
            raise DatasetError(f"{name}: case {case.query_id!r}: {flaw}")


def flaw_of_case(case: Case) -> str | None:
    """Why a case cannot be asked or judged; None if it can."""
    if flaw := flaw_of_options(case.options):
        return flaw
    if case.correct not in (None, *(option.letter for option in case.options)):
        return f"the correct answer {case.correct!r} is not an option ({case.letters})"
    if case.conditions and len(case.conditions) != len(case.options):
        return f"{len(case.conditions)} conditions for {len(case.options)} options"
    for kind, text in (("case", case.case), ("question", case.question)):
        if flaw := flaw_of_text(text):
            return f"the {kind} {flaw}"
    if not case.question.strip():
        return "the question is blank"
    names = [("specialty", case.specialty), ("difficulty", case.difficulty), ("condition", case.condition)]
    for kind, value in [*names, *(("condition of an option", condition) for condition in case.conditions)]:
        if value is not None and (flaw := flaw_of_name(value)):
            return f"the {kind} {value[:SHOWN_CHARACTERS]!r} {flaw}"
    return None


def flaw_of_options(options: Sequence[Option]) -> str | None:
    """Why options cannot be chosen from; None if they can."""
    letters = [option.letter for option in options]
    if len(letters) < 2 or letters != [*LETTERS[: len(letters)]]:
        shown = repr("".join(letters)[:SHOWN_CHARACTERS]) if letters else "none"
        return f"expected 2 to 26 options with the letters A, B, C, ...; found {shown}"
    earlier: dict[str, str] = {}
    for letter, text in options:
        if flaw := flaw_of_text(text):
            return f"option {letter} {flaw}"
        if not text.strip():
            return f"option {letter} is blank"
        if earlier.setdefault(text.strip(), letter) != letter:
            return f"options {earlier[text.strip()]} and {letter} have the same text; expected different ones"
    written = [match[1] for match in map(WRITTEN_LETTER.match, earlier) if match]
    if written != letters and sorted(written) == letters:
        return f"the texts of the options begin with the letters {''.join(written)}; expected their own, or none"
    return None
