"""Short names of settings, and conversion of their values to and from text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from math import isfinite

from ragsweep.core.style import is_number

# No list, mapping, address or quoted text. A relative path without an ending could be a model, as owner/model-v1.5.
FILE = re.compile(r"[^\[\]{}'\",:]*/[^\[\]{}'\",:/]+\.[^\W\d]\w*|(~|\.{1,2})?/[^\[\]{}'\",:]+")


def short(name: str) -> str:
    """The last part of a dotted setting name, for charts."""
    return name.rpartition(".")[2]


def short_names(names: Sequence[str]) -> list[str]:
    """The last part of each dotted name; the full name if two names end in the same part."""
    last = [short(name) for name in names]
    return [word if last.count(word) == 1 else name for word, name in zip(last, names, strict=True)]


def own_words(groups: Sequence[Sequence[str]]) -> list[set[str]]:
    """The words that all names of a group have, and not all names of another one."""
    common = [set.intersection(*(set(name.split()) for name in names)) for names in groups]
    return [words - set().union(*(other for other in common if other is not words)) for words in common]


def as_text(value: object) -> str:
    """The value of a setting as a configuration writes it."""
    return "null" if value is None else f"{value:g}" if is_number(value) else str(value)


def short_values(values: Iterable[object]) -> dict[str, str]:
    """The shown form of a setting's values: files without folders that are not needed to distinguish them.

    Returns:
        What is shown for each value, by the value as text.
    """
    ends = {text: _ends(text) for text in dict.fromkeys(map(as_text, values))}
    number = Counter(end for of_text in ends.values() for end in of_text)
    return {text: next((end for end in of_text if number[end] == 1), text) for text, of_text in ends.items()}


def _ends(text: str) -> list[str]:
    """A path of a file, by its last part, its last two parts and so on; any other text is its only end."""
    path = text.rstrip("/")  # of a folder, often written with one
    parts = path.split("/") if path and FILE.fullmatch(text) else [text]
    return ["/".join(parts[-number:]) for number in range(1, len(parts) + 1)]


def as_number(text: str) -> float | int | str:
    """Convert a logged parameter back to a number. Other texts stay as they are."""
    try:
        number = float(text)
    except ValueError:
        return text
    if not isfinite(number):
        return text
    return int(number) if number.is_integer() and "." not in text else number
