"""Settings and their values as names: short, as a configuration writes them, and as the numbers that they were."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from ragsweep.core.style import is_number


def short(name: str) -> str:
    """A setting's name as it is written in a chart."""
    return name.rpartition(".")[2]


def short_names(names: Sequence[str]) -> list[str]:
    """The last words of dotted names, where that leaves them different."""
    last = [short(name) for name in names]
    return [word if last.count(word) == 1 else name for word, name in zip(last, names, strict=True)]


def as_text(value: object) -> str:
    """A setting's value as it is written in a configuration."""
    return "null" if value is None else f"{value:g}" if is_number(value) else str(value)


def as_number(text: str) -> float | int | str:
    """A parameter as the number that it was before the tracking store made it text."""
    try:
        number = float(text)
    except ValueError:
        return text
    if not isfinite(number):
        return text
    return int(number) if number.is_integer() and "." not in text else number
