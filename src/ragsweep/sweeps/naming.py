"""Short names of settings, and conversion of their values to and from text."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from ragsweep.core.style import is_number


def short(name: str) -> str:
    """The last part of a dotted setting name, for charts."""
    return name.rpartition(".")[2]


def short_names(names: Sequence[str]) -> list[str]:
    """The last part of each dotted name; the full name if two names end in the same part."""
    last = [short(name) for name in names]
    return [word if last.count(word) == 1 else name for word, name in zip(last, names, strict=True)]


def as_text(value: object) -> str:
    """The value of a setting as a configuration writes it."""
    return "null" if value is None else f"{value:g}" if is_number(value) else str(value)


def as_number(text: str) -> float | int | str:
    """Convert a logged parameter back to a number. Other texts stay as they are."""
    try:
        number = float(text)
    except ValueError:
        return text
    if not isfinite(number):
        return text
    return int(number) if number.is_integer() and "." not in text else number
