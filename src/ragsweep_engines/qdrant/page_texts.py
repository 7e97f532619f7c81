"""Whether the texts of somebody else's points are those of the pages that the points are matched to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ragsweep.core.terminal import counted

WORD_COUNTS = Counter[str]
FEWEST_WORDS = 5  # of a text that is compared
LEAST_WORDS_OF_PAGE = 0.5  # of the words of a point that are on its page
MISPLACED = 0.1  # of the points: more are said
SHIFTS = {  # the likeliest first
    1: "the next page, as pages are counted from 0",
    -1: "the page before",
    2: "the second page after it",
    -2: "the second page before it",
}


class Point(NamedTuple):
    """A point that was found.

    Attributes:
        words: Of its text.
        unit: The page, document or passage that it is matched to.
        fields: Its payload, and for inner objects their fields, by their names with dots.
        page: What its payload gives as its page; empty if nothing.
    """

    words: WORD_COUNTS
    unit: str
    fields: Mapping[str, str]
    page: str


class Places:
    """The units of a corpus in their order, with their documents and words."""

    def __init__(self, units: Sequence[str], documents: Sequence[str], words: Callable[[int], WORD_COUNTS]) -> None:
        self._passages: dict[str, list[int]] = {}
        self._document: dict[str, str] = {}
        for passage, (unit, document) in enumerate(zip(units, documents, strict=True)):
            self._passages.setdefault(unit, []).append(passage)
            self._document.setdefault(unit, document)
        self._order = [*self._passages]
        self._position = {unit: position for position, unit in enumerate(self._order)}
        self._words = words
        self._of_unit: dict[str, WORD_COUNTS] = {}

    def beside(self, unit: str, shift: int) -> str | None:
        """The unit so many places after this one in the same document, if there is one."""
        position = self._position[unit] + shift
        other = self._order[position] if 0 <= position < len(self._order) else None
        return other if other is not None and self._document[other] == self._document[unit] else None

    def share(self, words: WORD_COUNTS, unit: str | None) -> float:
        """The share of these words that are in a unit."""
        if unit is None:
            return 0.0
        if unit not in self._of_unit:
            self._of_unit[unit] = sum((self._words(passage) for passage in self._passages[unit]), Counter())
        return (words & self._of_unit[unit]).total() / words.total()


def misplaced(points: Sequence[Point], places: Places) -> str:
    """What is said of points whose text is not that of their unit; empty if there are few of them."""
    points = [point for point in points if point.words.total() >= FEWEST_WORDS]
    shares = [places.share(point.words, point.unit) for point in points]
    strange = [point for point, share in zip(points, shares, strict=True) if share < LEAST_WORDS_OF_PAGE]
    if len(strange) <= MISPLACED * len(points):
        return ""
    said = f"the texts of {len(strange):,} of {counted(len(points), 'point')} are not those of what they are matched to"
    at = {shift: [each for each in strange if _is_at(places, each, shift)] for shift in SHIFTS}
    shift = max(SHIFTS, key=lambda each: len(at[each]))
    if 2 * len(at[shift]) <= len(strange):
        return f"{said} (such as {strange[0].unit!r}): its hits earn what others should; check retriever.payload"
    field = _field_of(at[shift], shift)
    advice = f"retriever.payload.page={field} names them" if field else "correct the numbers in the collection"
    return f"{said}; {len(at[shift]):,} are those of {SHIFTS[shift]}: {advice}"


def _is_at(places: Places, point: Point, shift: int) -> bool:
    return places.share(point.words, places.beside(point.unit, shift)) >= LEAST_WORDS_OF_PAGE


def _field_of(points: Sequence[Point], shift: int) -> str | None:
    """The field of the payload that gives all of these points the page at the shift."""
    right = [str(int(point.page) + shift) if point.page.isdecimal() else None for point in points]
    names = points[0].fields
    return next((name for name in names if [point.fields.get(name) for point in points] == right), None)


def fields_of(payload: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """The plain values of a payload as texts, by their names with dots."""
    found: dict[str, str] = {}
    for name, value in payload.items():
        if isinstance(value, Mapping):
            found |= fields_of(value, f"{prefix}{name}.")
        elif isinstance(value, str | int):
            found[f"{prefix}{name}"] = str(value)
    return found
