"""Reads tables of answers: a row per case, as JSONL or CSV.

Fields: `id` of the case; `answer`, a letter or the text of an option, null or empty for no answer; and any of
`options` (the texts of the options as the system was shown them; refused if the dataset has others, or another order),
`confidence`, `probabilities` (a list in the order of the options, or a mapping by letter), `response` (what a model
wrote, read by `answer_forms` if there is no `answer`), `reasoning`, `evidence` and `cited` (pages, by the keys that
judgments have), `time_ms`, `tokens_in` and `tokens_out`. A text that is a list separates its values by semicolons.
Other fields are ignored.

A value that is out of range or of another type costs its row this field only. A file in which at least half of the
values of a field are like that is refused, as it means something else by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeGuard

from regex import Pattern

from ragsweep.core.errors import DatasetError
from ragsweep.datasets.readers.fields import SHOWN_CHARACTERS, flaw_of_name, id_of, listed
from ragsweep.datasets.readers.tables import is_csv
from ragsweep.text.normalisation import composed
from ragsweep_answers.answering.answer_forms import LETTER, matched_letter, option_of, pattern_of, read_letter
from ragsweep_answers.answering.json_answer import number_of, probability_of, read_confidence, read_json_answer
from ragsweep_answers.answering.question import Answer, Question
from ragsweep_answers.answering.rows import LOGS, Row, read_rows, unknown_case

LARGEST_OF_SCALE = {"unit": 1, "ten": 10, "percent": 100}
TABLE_SUM_ERROR = 0.02  # by which probabilities may miss a sum of 1
OTHER_SCALE = "answerer.confidence_scale=ten reads 0 to 10, percent 0 to 100"
LARGEST_NUMBER = 2**53  # of times and tokens
MOST_LOST = 0.5  # of the values of a field; with as many, the file is refused
NUMBERS = ("confidence", "time_ms", "tokens_in", "tokens_out")
LISTS = ("options", "probabilities", "evidence", "cited")
FIELDS = ("answer", "response", "reasoning", *NUMBERS, *LISTS)


@dataclass(frozen=True)
class AnswerTable:
    """A table of answers.

    Attributes:
        rows: The rows, with the fields that are read.
        scale: The largest confidence and the sum of probabilities.
        pattern: Finds the answer in a response, in place of the documented forms; None takes these.
    """

    rows: tuple[Row, ...]
    scale: int
    pattern: str | None = None

    @classmethod
    def read(cls, path: Path, scale: str, pattern: str | None) -> AnswerTable:
        """Read a table.

        Raises:
            DatasetError: The file or a row cannot be read.
        """
        rows: list[Row] = []
        for row in map(_from_csv, read_rows(path)) if is_csv(path) else read_rows(path):
            case = id_of(row.fields, "id", row.where)
            if row.fields.keys().isdisjoint(("answer", "response", "probabilities")):
                found = f"found {listed(row.fields)}; {LOGS}"
                raise DatasetError(f"{row.where}: expected the field answer, response or probabilities; {found}")
            fields = {name: row.fields[name] for name in FIELDS if name in row.fields}
            fields |= {name: number_of(fields[name]) for name in NUMBERS if name in fields}
            rows.append(Row(row.where, fields | {"id": case}))
        if not rows:
            raise DatasetError(f"{path}: contains no answers; expected a row per case with id and answer")
        _check_scale(rows, scale)
        return cls(tuple(rows), LARGEST_OF_SCALE[scale], pattern)

    @cached_property
    def has_confidence(self) -> bool:
        """Whether there are confidences or probabilities."""
        return any(
            row.fields.get("confidence") is not None
            or row.fields.get("probabilities")
            or self._confidence_in(row)[0] is not None
            for row in self.rows
        )

    @cached_property
    def _has_evidence(self) -> bool:
        """Whether the system retrieved anything by itself."""
        return any(row.fields.get("evidence") for row in self.rows)

    def answers(self, asked: Mapping[str, Question]) -> Iterator[tuple[str, str, Answer | DatasetError]]:
        """The place and the case of each row, and its answer, or why that does not fit its question or has none.

        Args:
            asked: The questions by their ids, which are in NFC.
        """
        found, given = list[tuple[str, str, Answer | DatasetError, dict[str, DatasetError]]](), dict.fromkeys(FIELDS, 0)
        bad: dict[str, list[DatasetError]] = {name: [] for name in FIELDS}
        for row in self.rows:
            case = composed(row.fields["id"])
            lost: dict[str, DatasetError] = {}
            try:
                if case not in asked:
                    raise unknown_case(row.where, case, asked)
                found.append((row.where, case, self._answer(row, asked[case], lost), lost))
            except DatasetError as error:
                found.append((row.where, case, error, {}))
                continue
            for name in FIELDS:
                given[name] += row.fields.get(name) is not None
                bad[name] += [lost[name]] if name in lost else []
        refused = [name for name, errors in bad.items() if errors and len(errors) >= MOST_LOST * given[name]]
        for where, case, answer, lost in found:
            yield where, case, next((lost[name] for name in refused if name in lost), answer)

    def _answer(self, row: Row, question: Question, lost: dict[str, DatasetError]) -> Answer:
        """The answer of a row. Fields that cannot be used are added to `lost`, with what is wrong."""

        def used(name: str, read: Callable[[], Any], otherwise: Any = None) -> Any:
            try:
                return read()
            except DatasetError as error:
                lost[name] = error
                return otherwise

        _check_options(row, question)
        probabilities = used("probabilities", lambda: self._probabilities(row, question), ())
        response = used("response", lambda: row.field("response", str, "a string")) or ""
        letter, unread = used("answer", lambda: self._letter(row, question, response), (None, ""))
        if probabilities and letter is None and row.fields.keys().isdisjoint(("answer", "response")):
            letter = question.letters[probabilities.index(max(probabilities))]
        stated: float | None = used("confidence", lambda: self._confidence(row))
        in_response: tuple[str, ...] = ()
        if row.fields.get("confidence") is None and probabilities and letter:
            stated = probabilities[question.letters.index(letter)]
        elif row.fields.get("confidence") is None:
            stated, in_response = self._confidence_in(row)
        return Answer(
            letter,
            stated,
            probabilities=probabilities,
            reasoning=used("reasoning", lambda: row.field("reasoning", str, "a string")) or response,
            cited=used("cited", lambda: _texts(row, "cited"), ()),
            retrieved=used("evidence", lambda: _texts(row, "evidence")) if self._has_evidence else None,
            tokens_in=used("tokens_in", lambda: _amount(row, "tokens_in", whole=True)),
            tokens_out=used("tokens_out", lambda: _amount(row, "tokens_out", whole=True)),
            time_ms=used("time_ms", lambda: _amount(row, "time_ms", whole=False)),
            lost=(*lost, *in_response),
            unread=unread,
        )

    def _confidence(self, row: Row) -> float | None:
        """The confidence in the field of this name."""
        value = row.fields.get("confidence")
        confidence = None if value is None else probability_of(value, self.scale)
        if confidence is None and value is not None:
            raise row.error("confidence", f"a number from 0 to {self.scale} ({OTHER_SCALE})")
        return confidence

    def _confidence_in(self, row: Row) -> tuple[float | None, tuple[str, ...]]:
        """The confidence that a response states, and the names of the fields that it lost."""
        response = row.fields.get("response")
        if not isinstance(response, str):
            return None, ()
        if fields := read_json_answer(response, scale=self.scale):
            return fields.confidence, tuple(name for name in fields.lost if name == "confidence")
        return read_confidence(response, self.scale), ()

    def _letter(self, row: Row, question: Question, response: str) -> tuple[str | None, str]:
        """The letter of a row, and the text in which none is found; empty if one is, or there is no text."""
        if "answer" not in row.fields:
            pattern, options = self._pattern, question.options
            found = matched_letter(response, options, pattern) if pattern else read_letter(response, options)
            return found, "" if found else response.strip()
        answer = (row.field("answer", str, "a letter, or the text of an option") or "").strip()
        found, bare = option_of(answer, question.options), LETTER.fullmatch(answer)
        if found or not bare:
            return found, "" if found else answer
        letter = bare[1].upper()
        if letter in question.letters:
            text = question.options[question.letters.index(letter)].text[:SHOWN_CHARACTERS]
            meant = f"{letter!r} is the letter of one option and the text of another"
            raise row.error("answer", f'letter and text, such as "{letter}) {text}", since {meant}')
        raise row.error("answer", f"a letter of its case ({question.letters}), or null for no answer")

    @cached_property
    def _pattern(self) -> Pattern[str] | None:
        return pattern_of(self.pattern) if self.pattern else None

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
            raise row.error("probabilities", f"numbers from 0 to {self.scale} ({OTHER_SCALE})")
        total = sum(values)
        if abs(total / self.scale - 1) > TABLE_SUM_ERROR:
            raise row.error("probabilities", f"numbers that add up to {self.scale}, not {total:.4g}")
        return tuple(value / total for value in values)


def _check_options(row: Row, question: Question) -> None:
    """Raise `DatasetError` if a row says that the system was shown other options, or these in another order."""
    options = [option.text for option in question.options]
    shown = row.field("options", list, "a list of the texts of the options")
    if shown is not None and _pieces(shown) != _pieces(options):
        expected = f"the options of case {question.question_id[:SHOWN_CHARACTERS]!r} in the order of the dataset"
        raise row.error("options", f"{expected} ({listed(options)}), as a letter would mean another one")


def _pieces(options: Sequence[Any]) -> list[str]:
    """The texts, and what a semicolon separates in them: in CSV, options are separated by it, too."""
    pieces = [composed(" ".join(piece.split())) for text in options for piece in str(text).split(";")]
    return [piece for piece in pieces if piece]


def _check_scale(rows: Sequence[Row], scale: str) -> None:
    """Raise `DatasetError` if the scale ends at 10 or 100, and no confidence is above 1."""
    stated = [row for row in rows if _is_number(row.fields.get("confidence"), 0, LARGEST_NUMBER)]
    if scale != "unit" and 0 < max((row.fields["confidence"] for row in stated), default=0) <= 1:
        suggested = "but none is above 1; set answerer.confidence_scale=unit"
        raise stated[0].error("confidence", f"a number from 0 to {LARGEST_OF_SCALE[scale]}, {suggested}")


def _is_number(value: Any, low: float, high: float) -> TypeGuard[float]:
    return type(value) in (int, float) and low <= value <= high  # NaN is not, nor is a truth value


def _amount(row: Row, name: str, *, whole: bool) -> Any:
    value = row.fields.get(name)
    if value is None:
        return None
    if not _is_number(value, 0, LARGEST_NUMBER) or (whole and value != int(value)):
        raise row.error(name, f"a {'whole ' if whole else ''}number of at least 0")
    return int(value) if whole else float(value)


def _texts(row: Row, name: str) -> tuple[str, ...]:
    values = row.field(name, (list, str), "a list of pages")
    pages = [_page(value) for value in (values.split(";") if isinstance(values, str) else values or ())]
    if any(flaw_of_name(page) for page in pages):
        raise row.error(name, 'a list of pages such as "manual.pdf#34"')
    return tuple(page.strip() for page in pages)


def _page(value: Any) -> Any:
    return str(value) if type(value) is int else value


def _from_csv(row: Row) -> Row:
    """The row with the values that JSON would have. An empty cell is a field without a value."""
    fields: dict[str, Any] = {name: cell if cell.strip() else None for name, cell in row.fields.items()}
    for name in LISTS:
        if fields.get(name):
            parts = [part.strip() for part in fields[name].split(";") if part.strip()]
            fields[name] = [number_of(part) for part in parts] if name == "probabilities" else parts
    return Row(row.where, fields)
