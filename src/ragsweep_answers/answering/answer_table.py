"""Reads tables of answers: a row per case, as JSONL, JSON, CSV, TSV or Parquet.

Fields: `id` of the case; `answer`, a letter or the text of an option, null or empty for no answer; and any of
`options` (the texts of the options as the system was shown them; refused if the dataset has others, or another order),
`confidence`, `probabilities` (a list in the order of the options, or a mapping by letter), `response` (what a model
wrote, read by `answer_forms` if there is no `answer`), `reasoning`, `evidence` and `cited` (pages, by the keys that
judgments have), `time_ms`, `tokens_in` and `tokens_out`. A text that is a list separates its values by semicolons.
Other fields are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from regex import Pattern

from ragsweep.core.errors import DatasetError
from ragsweep.datasets.readers.fields import (
    SHOWN_CHARACTERS,
    Entry,
    flaw_of_name,
    flaw_of_text,
    id_of,
    listed,
    shown_value,
)
from ragsweep.datasets.readers.tables import is_csv, read_entries
from ragsweep.text.normalisation import composed
from ragsweep_answers.answering.answer_forms import LETTER, matched_letter, option_of, read_letter
from ragsweep_answers.answering.json_answer import number_of, probability_of, read_confidence, read_json_answer
from ragsweep_answers.answering.question import Answer, Question

LOGS = "docs/answers.md turns logs of lm-evaluation-harness and Inspect into a table"
LARGEST_OF_SCALE = {"unit": 1, "ten": 10, "percent": 100}
TABLE_SUM_ERROR = 0.02  # by which probabilities may miss a sum of 1
OTHER_SCALE = "answerer.confidence_scale=ten reads 0 to 10, percent 0 to 100"
LARGEST_NUMBER = 2**53  # of times and tokens
NUMBERS = ("confidence", "time_ms", "tokens_in", "tokens_out")
LISTS = ("options", "probabilities", "evidence", "cited")
FIELDS = ("answer", "response", "reasoning", *NUMBERS, *LISTS)


class Row(NamedTuple):
    """A row of a file: its place, for error messages, the id of its case, and its fields by name."""

    where: str
    case: str
    fields: Entry

    def value(self, name: str, kind: type | tuple[type, ...], expected: str) -> Any:
        """The value of a field; None if it is null or absent. Raises `DatasetError` if it is something else."""
        value = self.fields.get(name)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise self.error(name, expected)
        if isinstance(value, str) and (flaw := flaw_of_text(value)):
            raise DatasetError(f"{self.where}: the field {name!r} {flaw}")
        return value

    def error(self, name: str, expected: str) -> DatasetError:
        """An error about the value of a field."""
        return DatasetError(
            f"{self.where}: the field {name!r} is {shown_value(self.fields[name])}; expected {expected}"
        )


def read_answers(path: Path, scale: str) -> list[Row]:
    """The rows of a table. NaN may be in it: programs write it into fields that are not read.

    Args:
        path: The file.
        scale: That of its confidences.

    Raises:
        DatasetError: The file or a row cannot be read, or no confidence is above 1 on a scale that ends at 10 or 100.
    """
    rows = []
    for where, entry in read_entries(path, "answers", setting="answerer.path", allow_nan=True):
        case = composed(id_of(entry, "id", where))
        if entry.keys().isdisjoint(("answer", "response", "probabilities")):
            found = f"found {listed(entry)}; {LOGS}"
            raise DatasetError(f"{where}: expected the field answer, response or probabilities; {found}")
        fields = {name: entry[name] for name in FIELDS if name in entry}
        fields = _from_csv(fields) if is_csv(path) else fields
        rows.append(Row(where, case, fields | {name: number_of(fields[name]) for name in NUMBERS if name in fields}))
    if not rows:
        raise DatasetError(f"{path}: contains no answers; expected a row per case with id and answer")
    stated = [row for row in rows if _is_number(row.fields.get("confidence"), 0, LARGEST_NUMBER)]
    if scale != "unit" and 0 < max((row.fields["confidence"] for row in stated), default=0) <= 1:
        suggested = "but none is above 1; set answerer.confidence_scale=unit"
        raise stated[0].error("confidence", f"a number from 0 to {LARGEST_OF_SCALE[scale]}, {suggested}")
    return rows


@dataclass
class RowReader:
    """Reads the answer of a row. What is wrong with its other fields is noted: a bad field costs no other.

    Attributes:
        row: The row.
        question: The question of its case.
        scale: The largest confidence and the sum of probabilities.
        retrieves: Whether the system retrieved evidence by itself for some of the cases.
        pattern: Finds the answer in a response, in place of the documented forms; None takes these.
        errors: What is wrong, by the name of the field.
    """

    row: Row
    question: Question
    scale: int
    retrieves: bool
    pattern: Pattern[str] | None = None
    errors: dict[str, DatasetError] = field(default_factory=dict)

    def answer(self) -> Answer:
        """The answer.

        Raises:
            DatasetError: The system was shown other options, or these in another order, or there is no such option.
        """
        self._check_options()
        fields, letters = self.row.fields, self.question.letters
        probabilities = self._field("probabilities", self._probabilities, ())
        response = self._field("response", lambda: self._text("response"), "")
        letter, unread = self._letter(response)
        if probabilities and letter is None and fields.keys().isdisjoint(("answer", "response")):
            letter = letters[probabilities.index(max(probabilities))]
        stated = self._field("confidence", self._confidence)
        in_response: tuple[str, ...] = ()
        if fields.get("confidence") is None and probabilities and letter:
            stated = probabilities[letters.index(letter)]
        elif fields.get("confidence") is None:
            stated, in_response = confidence_in(response, self.scale)
        return Answer(
            letter,
            stated,
            probabilities=probabilities,
            reasoning=self._field("reasoning", lambda: self._text("reasoning"), "") or response,
            cited=self._field("cited", lambda: self._pages("cited"), ()),
            retrieved=self._field("evidence", lambda: self._pages("evidence")) if self.retrieves else None,
            tokens_in=self._field("tokens_in", lambda: self._amount("tokens_in", whole=True)),
            tokens_out=self._field("tokens_out", lambda: self._amount("tokens_out", whole=True)),
            time_ms=self._field("time_ms", lambda: self._amount("time_ms", whole=False)),
            lost=(*self.errors, *in_response),
            unread=unread,
        )

    def _field(self, name: str, read: Callable[[], Any], otherwise: Any = None) -> Any:
        try:
            return read()
        except DatasetError as error:
            self.errors[name] = error
            return otherwise

    def _check_options(self) -> None:
        options = [option.text for option in self.question.options]
        shown = self.row.value("options", list, "a list of the texts of the options")
        if shown is not None and _pieces(shown) != _pieces(options):
            case = self.question.question_id[:SHOWN_CHARACTERS]
            expected = f"the options of case {case!r} in the order of the dataset ({listed(options)})"
            raise self.row.error("options", f"{expected}, as a letter would mean another one")

    def _text(self, name: str) -> str:
        return self.row.value(name, str, "a string") or ""

    def _confidence(self) -> float | None:
        value = self.row.fields.get("confidence")
        confidence = None if value is None else probability_of(value, self.scale)
        if confidence is None and value is not None:
            raise self.row.error("confidence", f"a number from 0 to {self.scale} ({OTHER_SCALE})")
        return confidence

    def _letter(self, response: str) -> tuple[str | None, str]:
        """The letter of a row, and the text in which none is found; empty if one is, or there is no text."""
        options, letters = self.question.options, self.question.letters
        if "answer" not in self.row.fields:
            found = matched_letter(response, options, self.pattern) if self.pattern else read_letter(response, options)
            return found, "" if found else response.strip()
        answer = (self.row.value("answer", str, "a letter, or the text of an option") or "").strip()
        found, bare = option_of(answer, options), LETTER.fullmatch(answer)
        if found or not bare:
            return found, "" if found else answer
        letter = bare[1].upper()
        if letter in letters:
            both = f"{letter}) {options[letters.index(letter)].text[:SHOWN_CHARACTERS]}"
            meant = f"{letter!r} is the letter of one option and the text of another"
            raise self.row.error("answer", f'letter and text, such as "{both}", since {meant}')
        raise self.row.error("answer", f"a letter of its case ({letters}), or null for no answer")

    def _probabilities(self) -> tuple[float, ...]:
        row, letters = self.row, self.question.letters
        values = row.value("probabilities", (list, dict), "a list of numbers, or a mapping by letter")
        if not values:
            return ()
        if isinstance(values, dict):
            if {*values} != {*letters}:
                raise row.error("probabilities", f"one for each letter of its case ({letters})")
            values = [values[letter] for letter in letters]
        if len(values) != len(letters):
            raise row.error("probabilities", f"{len(letters)} numbers, one for each option of its case")
        if not all(_is_number(value, 0, self.scale) for value in values):
            raise row.error("probabilities", f"numbers from 0 to {self.scale} ({OTHER_SCALE})")
        total = sum(values)
        if abs(total / self.scale - 1) > TABLE_SUM_ERROR:
            raise row.error("probabilities", f"numbers that add up to {self.scale}, not {total:.4g}")
        return tuple(value / total for value in values)

    def _amount(self, name: str, *, whole: bool) -> float | None:
        value = self.row.fields.get(name)
        if value is None:
            return None
        if not _is_number(value, 0, LARGEST_NUMBER) or (whole and value != int(value)):
            raise self.row.error(name, f"a {'whole ' if whole else ''}number of at least 0")
        return int(value) if whole else float(value)

    def _pages(self, name: str) -> tuple[str, ...]:
        values = self.row.value(name, (list, str), "a list of pages")
        values = values.split(";") if isinstance(values, str) else values or ()
        pages = [str(page) if type(page) is int else page for page in values]
        if any(flaw_of_name(page) for page in pages):
            raise self.row.error(name, 'a list of pages such as "manual.pdf#34"')
        return tuple(page.strip() for page in pages)


def confidence_in(response: object, scale: int) -> tuple[float | None, tuple[str, ...]]:
    """The confidence that a response states, and the names of the fields that it lost."""
    if not isinstance(response, str):
        return None, ()
    if fields := read_json_answer(response, scale=scale):
        return fields.confidence, tuple(name for name in fields.lost if name == "confidence")
    return read_confidence(response, scale), ()


def _pieces(options: Sequence[Any]) -> list[str]:
    """The texts, and what a semicolon separates in them: in CSV, options are separated by it, too."""
    pieces = [composed(" ".join(piece.split())) for text in options for piece in str(text).split(";")]
    return [piece for piece in pieces if piece]


def _is_number(value: Any, low: float, high: float) -> TypeGuard[float]:
    return type(value) in (int, float) and low <= value <= high  # NaN is not, nor is a truth value


def _from_csv(fields: Entry) -> Entry:
    """The fields with the values that JSON would have. An empty cell is a field without a value."""
    fields = {name: cell if cell.strip() else None for name, cell in fields.items()}
    for name in LISTS:
        if fields.get(name):
            parts = [part.strip() for part in fields[name].split(";") if part.strip()]
            fields[name] = [number_of(part) for part in parts] if name == "probabilities" else parts
    return fields
