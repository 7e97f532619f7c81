"""Reads and checks the values of fields: texts, names, grades, and what is judged; describes bad ones for messages."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Collection, Iterable
from typing import Any

from ragsweep.core.errors import DatasetError
from ragsweep.core.parsing import MalformedError, from_json

Entry = dict[str, Any]  # a row of a table, or an object of JSON

QUERY_TYPE = "query_type"  # the field of the types of queries; a file need not have it
LARGEST_GRADE = 10**9  # gains of higher grades are not exact
LARGEST_WHOLE = 2**53  # above it, numbers with decimals are not exact
GRADE = re.compile(r"[+-]?[0-9]{1,20}(\.0*)?")  # pandas writes whole numbers as 1.0 if some are missing
NOT_IN_NAMES = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")  # control characters and line ends
# Names that pandas gives to the numbers of its rows, once they are written as a column and read again.
ROW_NUMBERS = re.compile(r"Unnamed: 0(\.[0-9]+)*|__index_level_[0-9]+__")
SHOWN_CHARACTERS = 80  # characters of a value in a message
LISTED_NAMES = 5  # names in a message
LONGEST_LITERAL = 1_000_000  # characters
EXPECTED = 'expected a list like ["34", "manual.pdf#35"], or grades like {"34": 2}'
PAGES_SHOWN = 3
FALSE, TRUE = (False, "false", "no", "0"), (True, "true", "yes", "1")


def shown_value(value: object) -> str:
    """A JSON value as shown in an error message; also a date, bytes or a decimal number of a Parquet file."""
    if isinstance(value, str) and not value.strip():
        return "an empty string"
    if isinstance(value, dict) or value == []:
        return "an object" if isinstance(value, dict) else "an empty list"
    shown = json.dumps(value, default=str)
    return shown if len(shown) <= SHOWN_CHARACTERS else f"{shown[: SHOWN_CHARACTERS - 3]}..."


def listed(names: Iterable[str], most: int = LISTED_NAMES) -> str:
    """The first few names, and the number of further ones."""
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(name[:SHOWN_CHARACTERS]) for name in names[:most]) + more if names else "none"


def grade_of(text: str) -> int | None:
    """The grade in a text such as `1` or `1.0`. None if it is not a whole number or exceeds `LARGEST_GRADE`."""
    grade = int(text.partition(".")[0]) if GRADE.fullmatch(text) else None
    return grade if grade is not None and abs(grade) <= LARGEST_GRADE else None


def whole_number(value: object) -> int | None:
    """A whole number, also as `2.0` or in a text; None for anything else."""
    if isinstance(value, str):
        return int(value.partition(".")[0]) if GRADE.fullmatch(value.strip()) else None
    if isinstance(value, float) and value.is_integer() and abs(value) < LARGEST_WHOLE:
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def flaw_of_text(text: object) -> str | None:
    """What is wrong with a text; None if it is valid. JSON can contain single surrogates, which cannot be encoded."""
    if not isinstance(text, str):
        return f"is of type {type(text).__name__}; expected a string"
    if text.isascii():  # known without reading it, and true of most texts
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        return "contains an invalid surrogate, half of a character"
    return None


def flaw_of_name(name: object) -> str | None:
    """Why an id, a file name or a type cannot be written to tables, TREC files and a terminal. None if it can."""
    if not isinstance(name, str):
        return flaw_of_text(name)
    if name.isprintable() and name.strip():
        return None
    if not name.strip():
        return "is blank"
    if NOT_IN_NAMES.search(name):
        return "contains a control character or a line end"
    return flaw_of_text(name)


def value_of(entry: Entry, field: str | None, where: str) -> Any:
    """The value of a field; None for the field None. Raises `DatasetError` if the entry lacks the field."""
    if field is not None and field not in entry:
        raise DatasetError(f"{where}: the field {field!r} is missing; found {listed(entry)}")
    return None if field is None else entry[field]


def text_of(entry: Entry, field: str | None, where: str) -> str | None:
    """The text in a field without the white space around it; None if it is null or blank.

    Raises:
        DatasetError: The entry lacks the field, or it is not a valid text.
    """
    value = value_of(entry, field, where)
    if value is not None and (flaw := flaw_of_text(value)):
        raise DatasetError(f"{where}: the field {field!r} {flaw}")
    return (value or "").strip() or None


def id_of(entry: Entry, field: str, where: str) -> str:
    """The id in a field: a name, or a whole number, of which pandas makes `1.0` where another is missing.

    Raises:
        DatasetError: The entry lacks the field, or it is not a valid name.
    """
    value = value_of(entry, field, where)
    if not isinstance(value, str) and (number := whole_number(value)) is not None:
        return str(number)
    if flaw := flaw_of_name(value):
        raise DatasetError(f"{where}: the field {field!r} {flaw}")
    return str(value).strip()


def type_in(entry: Entry, field: str | None, where: str) -> str | None:
    """The type of a query in a field; None if it has none. Raises `DatasetError` if it is not a valid name."""
    value = entry.get(field) if field else None
    if value is None or value == "":
        return None
    if flaw := flaw_of_name(value):
        raise DatasetError(f"{where}: the field {field!r} {flaw}")
    return str(value).strip()


def answerable_in(entry: Entry, field: str | None, where: str) -> bool:
    """Whether the documents may answer a question: the field is absent, or not false, also as a text.

    Raises:
        DatasetError: It is neither true nor false.
    """
    value = entry.get(field) if field else None
    value = value.strip().lower() if isinstance(value, str) else value  # FALSE of spreadsheets
    if value not in (None, "", *TRUE, *FALSE):
        raise DatasetError(f"{where}: the field {field!r} is {shown_value(value)}; expected true or false")
    return value not in FALSE


def further_fields(entry: Entry, used: Collection[str | None], where: str) -> tuple[tuple[str, str], ...]:
    """The names and texts of the fields that are not used, and neither null nor an empty object.

    Raises:
        DatasetError: A name or a text is invalid.
    """
    further: list[tuple[str, str]] = []
    for name, value in entry.items():
        if name in used or ROW_NUMBERS.fullmatch(name) or value is None or (isinstance(value, dict) and not value):
            continue
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        if flaw := flaw_of_name(name) or flaw_of_text(text):
            raise DatasetError(f"{where}: the field {name[:SHOWN_CHARACTERS]!r} {flaw}")
        further.append((name, text))
    return tuple(further)


def structured(text: str, where: str, expected: str) -> Any:
    """The list or object in a cell of a table: JSON, or exactly as Python prints it.

    Raises:
        DatasetError: It is neither. numpy prints lists without commas, which Python would join to one text.
    """
    try:
        return from_json(text)
    except MalformedError as error:
        try:
            value = ast.literal_eval(text) if len(text) <= LONGEST_LITERAL else None
            if isinstance(value, list | dict) and repr(value) == text:
                return value
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            pass
        raise DatasetError(f"{where}: {error}; {expected}") from error


def whole_grade(value: object, where: str, words: str = "") -> int:
    """The grade that a whole number is, also as a text; true is 1, false is 0. `words` is the setting for others."""
    number = {"true": 1, "false": 0}.get(str(value).strip().lower(), whole_number(value))
    if number is None or abs(number) > LARGEST_GRADE:
        expected = f"a whole number from -{LARGEST_GRADE} to {LARGEST_GRADE}"
        by_words = f", or words by {words}" if words and isinstance(value, str) and number is None else ""
        raise DatasetError(f"{where}: the grade is {shown_value(value)}; expected {expected}{by_words}")
    return number


def grades_in(
    value: Any, where: str, grade: Callable[[object, str], int] = whole_grade, *, in_text: bool = False
) -> dict[str, int]:
    """The grades in a value, by the keys of pages or documents. Those in a list have grade 1, and null is no judgment.

    Args:
        value: A list of keys, grades by key, or one key.
        where: Its place, for error messages.
        grade: Reads a grade.
        in_text: Whether a text may be a list: JSON, or keys between semicolons.

    Raises:
        DatasetError: It is none of these.
    """
    value = _written(value, where, in_text=in_text)
    if not isinstance(value, dict):
        return dict.fromkeys(keys_in(value, where), 1)
    grades: dict[str, int] = {}
    for name, given in value.items():
        if isinstance(given, list):
            pages = [f'"{name}#{page}"' for page in given[:PAGES_SHOWN]]
            raise DatasetError(f"{where} has pages by document; expected keys like [{', '.join(pages)}]")
        if given is not None:
            key = str(name).strip()
            number = grade(given, f"{where}, key {key[:SHOWN_CHARACTERS]!r}")
            if grades.setdefault(key, number) != number:
                raise DatasetError(f"{where}: {key[:80]!r} has the grades {grades[key]} and {number}; expected one")
    return grades


def keys_in(value: Any, where: str, *, in_text: bool = False) -> list[str]:
    """The keys of pages or documents in a list; a text or a number is one key. Blank ones are left out."""
    value = _written(value, where, in_text=in_text)
    items = [] if value is None else value if isinstance(value, list) else [value]
    if any(not isinstance(item, str) and whole_number(item) is None for item in items):
        first = items[0]  # whose fields say what it could be
        objects = f"objects with {', '.join(map(repr, [*first][:5]))}" if isinstance(first, dict) else ""
        raise DatasetError(f"{where} is {objects or shown_value(value)}; {EXPECTED}")
    return [key for item in items if (key := key_in(item, where))]


def key_in(value: object, where: str) -> str:
    """The key that a text or a whole number is; empty if there is none."""
    if isinstance(value, str) or value is None:
        return (value or "").strip()
    if (number := whole_number(value)) is None:
        raise DatasetError(f"{where} is {shown_value(value)}; expected a text or a whole number")
    return str(number)


def _written(value: Any, where: str, *, in_text: bool) -> Any:
    """What a text stands for: a list or grades, or keys between semicolons; other values as they are."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    is_structured = text.startswith(("[", "{"))
    if not in_text and (is_structured or ";" in text):
        raise DatasetError(f"{where} is the text {text[:SHOWN_CHARACTERS]!r}; {EXPECTED}, not a text of one")
    return structured(text, where, EXPECTED) if is_structured else [part.strip() for part in text.split(";")]
