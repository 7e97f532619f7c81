"""Finds what is quoted in a text that may be in another normal form. Offsets are those of the text's own characters."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import islice
from typing import Literal

from ragsweep.text.normalisation import composed
from ragsweep.text.tokens import Span, combining_marks

Form = Literal["NFC", "NFD"]
FORMS: tuple[Form, ...] = ("NFC", "NFD")
HANGUL = "\u1161-\u1175\u11a8-\u11c2"  # vowels and final consonants, which compose with what is before them


def places_of(quote: str, text: str, most: int = 2) -> list[Span]:
    """The first spans of a text that are a quote, in whatever normal form both are; they do not overlap."""
    if composed(quote) == quote and composed(text) == text:
        return list(islice(_found(quote, text), most))
    own = _offsets(text, "NFC")
    spans = (own.span(*span) for span in _found(composed(quote), own.text))
    return list(islice(filter(None, spans), most))


def span_of(quote: str, text: str, start: int, end: int) -> Span | None:
    """Where a quote is, by offsets of its text in some normal form; None if something else is there."""
    if end <= len(text) and composed(text[start:end]) == composed(quote):
        return start, end
    for form in FORMS:
        if unicodedata.is_normalized(form, text):
            continue
        own = _offsets(text, form)
        if end <= len(own.text) and composed(own.text[start:end]) == composed(quote):
            return own.span(start, end)
    return None


def _found(quote: str, text: str) -> Iterator[Span]:
    end = 0
    while (start := text.find(quote, end)) >= 0:
        end = start + len(quote)
        yield start, end


class _Offsets:
    """A text in a normal form, with the place of each of its letters in the text itself.

    A letter with its marks is normalised as a whole.

    Attributes:
        text: In the normal form.
    """

    def __init__(self, text: str, form: Form) -> None:
        letters: list[str] = []
        self._normal, self._own = [0], [0]  # where each letter begins, and the end of the last one
        for letter in _letters().findall(text):
            letters.append(unicodedata.normalize(form, letter))
            self._normal.append(self._normal[-1] + len(letters[-1]))
            self._own.append(self._own[-1] + len(letter))
        self.text = "".join(letters)

    def span(self, start: int, end: int) -> Span | None:
        """A span of the normalised text in the text itself; None if it begins or ends within a letter."""
        first, last = bisect_left(self._normal, start), bisect_left(self._normal, end)
        if (self._normal[first], self._normal[last]) != (start, end):
            return None
        return self._own[first], self._own[last]


@lru_cache(maxsize=16)  # the references of a document follow each other
def _offsets(text: str, form: Form) -> _Offsets:
    return _Offsets(text, form)


@cache
def _letters() -> re.Pattern[str]:
    return re.compile(f".(?:{combining_marks()}|[{HANGUL}])*", re.DOTALL)
