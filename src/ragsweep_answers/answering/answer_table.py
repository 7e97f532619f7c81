"""Reads tables of answers: a row per case, as JSONL, JSON, CSV, TSV or Parquet.

Fields: `id` of the case; `answer`, a letter or the text of an option, null or empty for no answer; and any of
`options` (the texts of the options as the system was shown them; refused if the dataset has others, or another order),
`confidence`, `probabilities` (a list in the order of the options, or a mapping by letter), `response` (what a model
wrote, read by `answer_letters` if there is no `answer`), `reasoning`, `evidence` and `cited` (pages, by the keys that
judgments have), `time_ms`, `tokens_in` and `tokens_out`. A text that is a list separates its values by semicolons.
Other fields are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from regex import Pattern

from ragsweep.core.errors import DatasetError
from ragsweep.datasets.readers.fields import (
    Entry,
    flaw_of_name,
    flaw_of_text,
    id_of,
    listed,
    shown_value,
    whole_number,
)
from ragsweep.datasets.readers.tables import is_csv, read_entries
from ragsweep.text.normalisation import composed
from ragsweep_answers.answering.answer_letters import LETTER, matched_letter, option_of, read_letter
from ragsweep_answers.answering.json_answer import number_of, probability_of, read_confidence, read_json_answer
from ragsweep_answers.answering.question import Answer, Question

LOGS = "docs/recipes.md turns logs of lm-evaluation-harness and Inspect into a table"
LARGEST_OF_SCALE = {"unit": 1, "ten": 10, "percent": 100}
TABLE_SUM_ERROR = 0.02  # by which probabilities may miss a sum of 1
OTHER_SCALE = "answerer.confidence_scale=ten reads 0 to 10, percent 0 to 100"
LARGEST_NUMBER = 2**53  # of times and tokens
NUMBERS = ("confidence", "time_ms", "tokens_in", "tokens_out")
LISTS = ("options", "probabilities", "evidence", "cited")


class Row(NamedTuple):
    """A row of a file: its place, for error messages, the id of its case, and its fields by name."""

    where: str
    case: str
    fields: Entry

    def error(self, name: str, expected: str) -> DatasetError:
        """An error about the value of a field."""
        value = shown_value(self.fields[name])
        return DatasetError(f"{self.where}: the field {name!r} is {value}; expected {expected}")


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
            expected = "expected the field answer, response or probabilities"
            raise DatasetError(f"{where}: {expected}; found {listed(entry)}; {LOGS}")
        fields = {name: entry[name] for name in FIELDS if name in entry}
        fields = _from_csv(fields) if is_csv(path) else fields
        rows.append(Row(where, case, fields | {name: number_of(fields[name]) for name in NUMBERS if name in fields}))
    if not rows:
        raise DatasetError(f"{path}: contains no answers; expected a row per case with id and answer")
    stated = [row for row in rows if _is_number(row.fields.get("confidence"), LARGEST_NUMBER)]
    if scale != "unit" and 0 < max((row.fields["confidence"] for row in stated), default=0) <= 1:
        suggested = "but none is above 1; set answerer.confidence_scale=unit"
        raise stated[0].error("confidence", f"a number from 0 to {LARGEST_OF_SCALE[scale]}, {suggested}")
    return rows


def read_answer(
    row: Row, question: Question, scale: int, *, retrieves: bool, pattern: Pattern[str] | None = None
) -> tuple[Answer, list[DatasetError]]:
    """The answer of a row, and what is wrong with its fields: a bad field costs no other.

    Args:
        row: The row.
        question: The question of its case.
        scale: The largest confidence and the sum of probabilities.
        retrieves: Whether the system retrieved evidence by itself for some of the cases.
        pattern: Finds the answer in a response, in place of the documented forms; None takes these.

    Raises:
        DatasetError: The system was shown other options, or these in another order, or there is no such option.
    """
    values, errors = dict[str, Any](), dict[str, DatasetError]()
    for name, (read, expected) in FIELDS.items():
        value = row.fields.get(name)
        values[name] = None if value is None else read(value, question, scale)
        if value is not None and values[name] is None:
            texts = listed(option.text for option in question.options)
            errors[name] = row.error(name, expected.format(letters=question.letters, options=texts, scale=scale))
    for name in ("options", "answer"):
        if name in errors:
            raise errors[name]
    letter, unread = values["answer"] or (None, "")
    response, probabilities = values["response"] or "", values["probabilities"] or ()
    if "answer" not in row.fields:
        options = question.options
        letter = matched_letter(response, options, pattern) if pattern else read_letter(response, options)
        unread = "" if letter else response.strip()
    if probabilities and letter is None and row.fields.keys().isdisjoint(("answer", "response")):
        letter = question.letters[probabilities.index(max(probabilities))]
    confidence, lost = values["confidence"], tuple(errors)
    if row.fields.get("confidence") is None and probabilities and letter:
        confidence = probabilities[question.letters.index(letter)]
    elif row.fields.get("confidence") is None:
        confidence, lost_in_response = confidence_in(response, scale)
        lost += lost_in_response
    found_none = () if retrieves and "evidence" not in errors else None
    answer = Answer(
        letter,
        confidence,
        probabilities=probabilities,
        reasoning=values["reasoning"] or response,
        cited=values["cited"] or (),
        retrieved=values["evidence"] or found_none,
        tokens_in=values["tokens_in"],
        tokens_out=values["tokens_out"],
        time_ms=values["time_ms"],
        lost=lost,
        unread=unread,
    )
    return answer, [*errors.values()]


def confidence_in(response: object, scale: int) -> tuple[float | None, tuple[str, ...]]:
    """The confidence that a response states, and the names of the fields that it lost."""
    if not isinstance(response, str):
        return None, ()
    if fields := read_json_answer(response, scale=scale):
        return fields.confidence, tuple(name for name in fields.lost if name == "confidence")
    return read_confidence(response, scale), ()


def _text(value: Any, *_: object) -> str | None:
    return None if flaw_of_text(value) else str(value)


def _options(value: Any, question: Question, _: int) -> bool | None:
    """True if the options are those of the dataset, in its order."""
    is_same = isinstance(value, list) and _pieces(value) == _pieces([option.text for option in question.options])
    return is_same or None


def _answer(value: Any, question: Question, _: int) -> tuple[str | None, str] | None:
    """The letter, and the text in which none is found; None for a letter that is no option, or may be several."""
    if flaw_of_text(value):
        return None
    letter = option_of(value, question.options)
    if letter is None and LETTER.fullmatch(value.strip()):
        return None
    return letter, "" if letter else value.strip()


def _probabilities(values: Any, question: Question, scale: int) -> tuple[float, ...] | None:
    if not values and isinstance(values, list | dict):
        return ()
    if isinstance(values, dict) and {*values} == {*question.letters}:
        values = [values[letter] for letter in question.letters]
    if not isinstance(values, list) or len(values) != len(question.letters):
        return None
    if not all(_is_number(value, scale) for value in values) or abs(sum(values) / scale - 1) > TABLE_SUM_ERROR:
        return None
    return tuple(value / sum(values) for value in values)


def _pages(values: Any, *_: object) -> tuple[str, ...] | None:
    if not isinstance(values, list | str):
        return None
    pages = [
        str(page) if type(page) is int else page for page in (values.split(";") if type(values) is str else values)
    ]
    return None if any(map(flaw_of_name, pages)) else tuple(page.strip() for page in pages)


def _time(value: Any, *_: object) -> float | None:
    return float(value) if _is_number(value, LARGEST_NUMBER) else None


def _tokens(value: Any, *_: object) -> int | None:
    tokens = whole_number(value)
    return tokens if _is_number(tokens, LARGEST_NUMBER) else None


FIELDS: dict[str, tuple[Callable[[Any, Question, int], Any], str]] = {  # how a value is read, and what is expected
    "options": (_options, "the options of the dataset in its order ({options}), as a letter would mean another one"),
    "answer": (_answer, "a letter of its case ({letters}), the text of an option, or null for no answer; both, such as "
               '"B) text", where a letter is also the text of another option'),
    "response": (_text, "a string"),
    "reasoning": (_text, "a string"),
    "confidence": (lambda value, _, scale: probability_of(value, scale),
                   f"a number from 0 to {{scale}} ({OTHER_SCALE})"),
    "probabilities": (_probabilities, "numbers that add up to {scale}, one for each letter of its case ({letters}), "
                      f"in a list or by letter ({OTHER_SCALE})"),
    "evidence": (_pages, 'a list of pages such as "manual.pdf#34"'),
    "cited": (_pages, 'a list of pages such as "manual.pdf#34"'),
    "time_ms": (_time, "a number of at least 0"),
    "tokens_in": (_tokens, "a whole number of at least 0"),
    "tokens_out": (_tokens, "a whole number of at least 0"),
}  # fmt: skip


def _pieces(options: Sequence[Any]) -> list[str]:
    """The texts, and what a semicolon separates in them: in CSV, options are separated by it, too."""
    pieces = [composed(" ".join(piece.split())) for text in options for piece in str(text).split(";")]
    return [piece for piece in pieces if piece]


def _is_number(value: Any, largest: float) -> bool:
    return type(value) in (int, float) and 0 <= value <= largest  # NaN is not, nor is a truth value


def _from_csv(fields: Entry) -> Entry:
    """The fields with the values that JSON would have. An empty cell is a field without a value."""
    fields = {name: cell if cell.strip() else None for name, cell in fields.items()}
    for name in LISTS:
        if fields.get(name):
            parts = [part.strip() for part in fields[name].split(";") if part.strip()]
            fields[name] = [number_of(part) for part in parts] if name == "probabilities" else parts
    return fields
