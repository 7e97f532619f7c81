"""Short names of settings, and conversion of their values to and from text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import isfinite

from ragsweep.core.style import is_number

FILE = re.compile(r"[^\[\]{}'\",:]*/([^\[\]{}'\",:/]+\.\w+)")  # no list, mapping, address or quoted text


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


def without_folders(value: object) -> str:
    """The last part of the path of a file; any other value as text."""
    text = as_text(value)
    path = FILE.fullmatch(text)
    return path.group(1) if path else text


def shown_by(values: Sequence[object]) -> Callable[[object], str]:
    """How the values of a setting are shown: files without their folders, if that tells the values apart."""
    distinct = len(set(map(without_folders, values))) == len(set(map(as_text, values)))
    return without_folders if distinct else as_text


def as_number(text: str) -> float | int | str:
    """Convert a logged parameter back to a number. Other texts stay as they are."""
    try:
        number = float(text)
    except ValueError:
        return text
    if not isfinite(number):
        return text
    return int(number) if number.is_integer() and "." not in text else number
