"""Reads tables of answers: a row per case, as JSONL or CSV.

Fields: `id` of the case; `answer`, a letter or the text of an option, null or empty for no answer; and any of
`confidence`, `probabilities` (a list in the order of the options, or a mapping by letter), `response` (what a model
wrote, read if there is no `answer`), `reasoning`, `evidence` and `cited` (units such as `manual.pdf#34`), `time_ms`,
`tokens_in` and `tokens_out`. In CSV, the values of a list are separated by semicolons. Other fields are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ragsweep.answering.option_letters import bare_letter, has_two_meanings
from ragsweep.answering.parsing import read_confidence, read_letter
from ragsweep.answering.question import Answer, Question
from ragsweep.answering.rows import Row, read_rows, unknown_case
from ragsweep.core.errors import DatasetError
from ragsweep.datasets.entry_files import id_of, is_csv
from ragsweep.datasets.fields import SHOWN, flaw_of_name, listed

ROUNDING = 0.02  # by which probabilities may miss a sum of 1
LARGEST = 2**53  # of times and tokens
NUMBER = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
)  # float() also takes 1_000 and other digits
NUMBERS = ("confidence", "time_ms", "tokens_in", "tokens_out")
LISTS = ("probabilities", "evidence", "cited")
FIELDS = ("answer", "response", "reasoning", *NUMBERS, *LISTS)


@dataclass(frozen=True)
class AnswerTable:
    """A table of answers.

    Attributes:
        rows: The rows, with the fields that are read.
        scale: What confidences and probabilities are divided by: 100 if they are in percent, else 1.
    """

    rows: tuple[Row, ...]
    scale: int

    @classmethod
    def read(cls, path: Path, scale: int) -> AnswerTable:
        """Read a table.

        Raises:
            DatasetError: The file or a row cannot be read.
        """
        rows: list[Row] = []
        for row in map(_from_csv, read_rows(path)) if is_csv(path) else read_rows(path):
            case = id_of(row.fields, "id", row.where)
            if row.fields.keys().isdisjoint(("answer", "response", "probabilities")):
                found = listed(row.fields)
                raise DatasetError(f"{row.where}: expected the field answer, response or probabilities; found {found}")
            rows.append(
                Row(row.where, {name: row.fields[name] for name in FIELDS if name in row.fields} | {"id": case})
            )
        if not rows:
            raise DatasetError(f"{path}: contains no answers; expected a row per case with id and answer")
        _check_confidences(rows, scale)
        return cls(tuple(rows), scale)

    @cached_property
    def has_confidence(self) -> bool:
        """Whether there are confidences or probabilities."""
        return any(
            row.fields.get("confidence") is not None
            or row.fields.get("probabilities")
            or _confidence_in(row) is not None
            for row in self.rows
        )

    @cached_property
    def _has_evidence(self) -> bool:
        """Whether the system retrieved anything by itself."""
        return any(row.fields.get("evidence") for row in self.rows)

    def answers(self, asked: Mapping[str, Question]) -> Iterator[tuple[str, str, Answer | DatasetError]]:
        """The place and the case of each row, and its answer, or why that does not fit its question or has none.

        Args:
            asked: The questions by their ids.
        """
        for row in self.rows:
            case = row.fields["id"]
            try:
                if case not in asked:
                    raise unknown_case(row.where, case, asked)
                yield row.where, case, self._answer(row, asked[case])
            except DatasetError as error:
                yield row.where, case, error

    def _answer(self, row: Row, question: Question) -> Answer:
        probabilities = self._probabilities(row, question)
        letter = _letter(row, question, probabilities)
        confidence = row.fields.get("confidence")
        if confidence is not None:
            confidence /= self.scale
        elif probabilities and letter:
            confidence = probabilities[question.letters.index(letter)]
        else:
            confidence = _confidence_in(row)
        response = row.field("response", str, "a string") or ""
        return Answer(
            letter,
            confidence,
            probabilities=probabilities,
            reasoning=row.field("reasoning", str, "a string") or response,
            cited=_texts(row, "cited"),
            retrieved=_texts(row, "evidence") if self._has_evidence else None,
            tokens_in=_amount(row, "tokens_in", whole=True),
            tokens_out=_amount(row, "tokens_out", whole=True),
            time_ms=_amount(row, "time_ms", whole=False),
        )

    def _probabilities(self, row: Row, question: Question) -> tuple[float, ...]:
        values = row.field("probabilities", (list, dict), "a list of numbers, or a mapping by letter")
        if not values:
            return ()
        if isinstance(values, dict):
            if set(values) != set(question.letters):
                raise row.error("probabilities", f"one for each letter of its case ({question.letters})")
            values = [values[letter] for letter in question.letters]
        if len(values) != len(question.options):
            raise row.error("probabilities", f"{len(question.options)} numbers, one for each option of its case")
        if not all(_is_number(value, 0, self.scale) for value in values):
            raise row.error("probabilities", f"numbers from 0 to {self.scale}")
        total = sum(values)
        if abs(total / self.scale - 1) > ROUNDING:
            raise row.error("probabilities", f"numbers that add up to {self.scale}, not {total:.4g}")
        return tuple(value / total for value in values)


def _letter(row: Row, question: Question, probabilities: Sequence[float]) -> str | None:
    if "answer" in row.fields:
        answer = (row.field("answer", str, "a letter, or the text of an option") or "").strip()
        letter, bare = read_letter(answer, question.options), bare_letter(answer)
        if letter or not bare:
            return letter
        if bare in question.letters and has_two_meanings(bare, question.options):
            text = question.options[question.letters.index(bare)].text[:SHOWN]
            meant = f"{bare!r} is the letter of one option and the text of another"
            raise row.error("answer", f'letter and text, such as "{bare}) {text}", since {meant}')
        raise row.error("answer", f"a letter of its case ({question.letters}), or null for no answer")
    if row.fields.get("response") is not None:
        return read_letter(row.field("response", str, "a string"), question.options)
    if not probabilities:
        return None
    return question.letters[probabilities.index(max(probabilities))]


def _confidence_in(row: Row) -> float | None:
    """The confidence that a response states."""
    response = row.fields.get("response")
    return read_confidence(response) if isinstance(response, str) else None


def _check_confidences(rows: Sequence[Row], scale: int) -> None:
    """Raise `DatasetError` for a confidence that is not a probability, or if all of them are on another scale."""
    stated = [row for row in rows if row.fields.get("confidence") is not None]
    for row in stated:
        if not _is_number(row.fields["confidence"], 0, scale):
            in_percent = scale == 1 and all(_is_number(each.fields["confidence"], 0, 100) for each in stated)
            hint = "; in percent? set answerer.confidence_scale=percent" if in_percent else ""
            raise row.error("confidence", f"a number from 0 to {scale}{hint}")
    largest = max((row.fields["confidence"] for row in stated), default=0)
    if scale > 1 and 0 < largest <= 1:
        expected = f"percent, but none is above {largest:g}; set answerer.confidence_scale=unit"
        raise stated[0].error("confidence", expected)


def _is_number(value: Any, low: float, high: float) -> bool:
    return type(value) in (int, float) and low <= value <= high  # NaN is not, nor is a truth value


def _amount(row: Row, name: str, *, whole: bool) -> Any:
    value = row.fields.get(name)
    if value is None:
        return None
    if not _is_number(value, 0, LARGEST) or (whole and value != int(value)):
        raise row.error(name, f"a {'whole ' if whole else ''}number of at least 0")
    return int(value) if whole else float(value)


def _texts(row: Row, name: str) -> tuple[str, ...]:
    values = row.field(name, list, "a list of units")
    if not values:
        return ()
    if any(flaw_of_name(value) for value in values):
        raise row.error(name, "a list of units such as manual.pdf#34")
    return tuple(value.strip() for value in values)


def _from_csv(row: Row) -> Row:
    """The row with the values that JSON would have. An empty cell is a field without a value."""
    fields: dict[str, Any] = {name: cell if cell.strip() else None for name, cell in row.fields.items()}
    for name in LISTS:
        if fields.get(name):
            parts = [part.strip() for part in fields[name].split(";") if part.strip()]
            fields[name] = [_as_number(part) for part in parts] if name == "probabilities" else parts
    for name in NUMBERS:
        if fields.get(name):
            fields[name] = _as_number(fields[name])
    return Row(row.where, fields)


def _as_number(cell: str) -> float | str:
    return float(cell) if NUMBER.fullmatch(cell.strip()) else cell
