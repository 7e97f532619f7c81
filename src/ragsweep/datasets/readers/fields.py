"""Checks the texts, names and grades of a dataset, and describes bad values for error messages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

QUERY_TYPE = "query_type"  # the field of the types of queries; a file need not have it
LARGEST_GRADE = 10**9  # gains of higher grades are not exact
LARGEST_WHOLE = 2**53  # above it, numbers with decimals are not exact
GRADE = re.compile(r"[+-]?[0-9]{1,20}(\.0*)?")  # pandas writes whole numbers as 1.0 if some are missing
NOT_IN_NAMES = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")  # control characters and line ends
# Names that pandas gives to the numbers of its rows, once they are written as a column and read again.
ROW_NUMBERS = re.compile(r"Unnamed: 0(\.[0-9]+)*|__index_level_[0-9]+__")
MISSING_VALUES = ("nan", "NaN", "None", "<NA>", "null", "NA", "N/A", "#N/A")  # as pandas, R and spreadsheets write one
SHOWN_CHARACTERS = 80  # characters of a value in a message
LISTED_NAMES = 5  # names in a message


def shown_value(value: object) -> str:
    """A JSON value as shown in an error message; also a date, bytes or a decimal number of a Parquet file."""
    if isinstance(value, str) and not value.strip():
        return "an empty string"
    if isinstance(value, dict) or value == []:
        return "an object" if isinstance(value, dict) else "an empty list"
    shown = json.dumps(value, default=str)
    return shown if len(shown) <= SHOWN_CHARACTERS else f"{shown[: SHOWN_CHARACTERS - 3]}..."


def listed(names: Iterable[str]) -> str:
    """The first few names, and the number of further ones."""
    names = list(names)
    more = f" and {len(names) - LISTED_NAMES} more" if len(names) > LISTED_NAMES else ""
    return ", ".join(repr(name[:SHOWN_CHARACTERS]) for name in names[:LISTED_NAMES]) + more if names else "none"


def grade_of(text: str) -> int | None:
    """The grade in a text such as `1` or `1.0`. None if it is not a whole number or exceeds `LARGEST_GRADE`."""
    grade = int(text.partition(".")[0]) if GRADE.fullmatch(text) else None
    return grade if grade is not None and abs(grade) <= LARGEST_GRADE else None


def whole(value: object) -> int | None:
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
