"""What the texts, names and grades of a dataset may be, and words for what was found instead."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

LARGEST_GRADE = 10**9  # beyond it, gains are no longer exact
GRADE = re.compile(r"[+-]?[0-9]{1,20}(\.0*)?")  # pandas writes whole numbers as 1.0 where others are missing
NOT_IN_NAMES = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")  # control characters and line ends
SHOWN = 80  # characters of a value in a message
LISTED = 5  # names in a message


def kind(value: object) -> str:
    """A JSON value, in a few words."""
    if isinstance(value, str) and not value.strip():
        return "an empty text"
    if isinstance(value, dict) or value == []:
        return "an object" if isinstance(value, dict) else "an empty list"
    shown = json.dumps(value)
    return shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 3]}..."


def listed(names: Iterable[str]) -> str:
    """The first few of some names, and how many more there are."""
    names = list(names)
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(repr(name[:SHOWN]) for name in names[:LISTED]) + more if names else "none"


def grade_of(text: str) -> int | None:
    """The whole number that a grade is written as, `1` or `1.0`; None where it is none, or beyond `LARGEST_GRADE`."""
    grade = int(text.partition(".")[0]) if GRADE.fullmatch(text) else None
    return grade if grade is not None and abs(grade) <= LARGEST_GRADE else None


def flaw_of_text(text: object) -> str | None:
    """Why a value is not a text that can be written; JSON can escape half of a surrogate, which nothing can encode."""
    if not isinstance(text, str):
        return f"is of type {type(text).__name__}; expected a text"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "contains an invalid surrogate, half of a character"
    return None


def flaw_of_name(name: object) -> str | None:
    """Why an id, a file name or a type cannot stand in tables, TREC files and on a terminal; None where it can."""
    if not isinstance(name, str):
        return flaw_of_text(name)
    if not name.strip():
        return "is blank"
    if NOT_IN_NAMES.search(name):
        return "contains a control character or a line end"
    return flaw_of_text(name)
