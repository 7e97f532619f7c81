"""Reads which pages or documents are relevant: a list of keys, or grades by key."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ragsweep.core.errors import DatasetError
from ragsweep.core.parsing import MalformedError, from_json
from ragsweep.datasets.readers.fields import LARGEST_GRADE, SHOWN_CHARACTERS, shown_value, whole

LONGEST_LITERAL = 1_000_000  # characters
EXPECTED = 'expected a list like ["34", "manual.pdf#35"], or grades like {"34": 2}'
PAGES_SHOWN = 3


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
    number = {"true": 1, "false": 0}.get(str(value).strip().lower(), whole(value))
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
            found = grade(given, f"{where}, key {key[:SHOWN_CHARACTERS]!r}")
            if grades.setdefault(key, found) != found:
                raise DatasetError(f"{where}: {key[:80]!r} has the grades {grades[key]} and {found}; expected one")
    return grades


def keys_in(value: Any, where: str, *, in_text: bool = False) -> list[str]:
    """The keys of pages or documents in a list; a text or a number is one key. Blank ones are left out."""
    value = _written(value, where, in_text=in_text)
    items = [] if value is None else value if isinstance(value, list) else [value]
    if any(not isinstance(item, str) and whole(item) is None for item in items):
        first = items[0]  # whose fields say what it could be
        objects = f"objects with {', '.join(map(repr, [*first][:5]))}" if isinstance(first, dict) else ""
        raise DatasetError(f"{where} is {objects or shown_value(value)}; {EXPECTED}")
    return [key for item in items if (key := key_in(item, where))]


def key_in(value: object, where: str) -> str:
    """The key that a text or a whole number is; empty if there is none."""
    if isinstance(value, str) or value is None:
        return (value or "").strip()
    if (number := whole(value)) is None:
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
