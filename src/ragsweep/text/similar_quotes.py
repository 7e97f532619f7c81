"""Finds a quote again in a text that another program has read from the same file."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections import Counter
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from ragsweep.text.quotes import places_of
from ragsweep.text.tokens import Span

GRAM = 4  # letters; of a quote that is 90 % alike, at least one piece in five is whole
WINDOWS = 3  # stretches of the text that are compared: those that share most pieces, and the nearest that share half
MOST_PLACES = 1000  # of the same words


class Letters(NamedTuple):
    """The letters and digits of a text, without case, marks, ligatures, spaces, hyphens and punctuation.

    Attributes:
        text: The letters.
        places: Of each letter, the offset of its character in the text itself.
    """

    text: str
    places: list[int]

    def span(self, start: int, end: int) -> Span:
        """Where these letters are in the text itself."""
        return self.places[start], self.places[end - 1] + 1


def find_again(quote: str, text: str, near: int | None, least: float) -> list[Span]:
    """Where a quote is in a text: as it is written, else by the same letters, else where the letters are most alike.

    Args:
        quote: The quote.
        text: The text.
        near: About where in the text it should begin. None finds all places.
        least: Least similarity of the letters, from 0 to 1: 1 - d / n, where d letters have to be inserted or deleted,
            and n is the number of the letters of both.

    Returns:
        The place that is nearest, or all places of the same words; nothing if the text does not have it.
    """
    exact = places_of(quote, text, MOST_PLACES)
    sought, known = letters_of(quote), letters_of(text)
    if not exact and sought.text:
        exact = [known.span(start, start + len(sought.text)) for start in _starts(sought.text, known.text)]
    if exact and near is not None:
        exact = [min(exact, key=lambda span: abs(span[0] - near))]
    return exact or _most_alike(sought.text, known, near or 0, least)


def _starts(part: str, whole: str) -> list[int]:
    """Where a text begins in another one."""
    starts: list[int] = []
    while len(starts) < MOST_PLACES and (start := whole.find(part, starts[-1] + 1 if starts else 0)) >= 0:
        starts.append(start)
    return starts


def _most_alike(sought: str, known: Letters, near: int, least: float) -> list[Span]:
    """The stretch of a text whose letters are most like these, if they are alike enough; of equal ones the nearest."""
    from rapidfuzz.fuzz import partial_ratio_alignment

    length = len(sought)
    if not GRAM <= length <= len(known.text):
        return []
    width = max(length // 2, GRAM)
    shared: Counter[int] = Counter()  # pieces of the quote by where in the text it would begin
    for place in range(0, length - GRAM + 1, GRAM):
        piece = sought[place : place + GRAM]
        shared.update({(start - place) // width for start in _starts(piece, known.text)})
    begins = bisect_left(known.places, near)
    nearest = sorted(shared, key=lambda window: abs(window * width - begins))
    likely = [window for window, _ in shared.most_common(WINDOWS)]
    likely += [window for window in nearest if 2 * shared[window] >= shared[likely[0]]][:WINDOWS]
    best, span = 100 * least, None
    for window in dict.fromkeys(likely):
        first = max(0, (window - 1) * width)
        stretch = known.text[first : first + 3 * width + length]
        found = partial_ratio_alignment(sought, stretch, score_cutoff=best) if len(stretch) >= length else None
        if found and found.dest_end > found.dest_start:
            other = known.span(first + found.dest_start, first + found.dest_end)
            if span is None or found.score > best or abs(other[0] - near) < abs(span[0] - near):
                best, span = found.score, other
    return [span] if span else []


@lru_cache(maxsize=16)  # the references of a document follow each other
def letters_of(text: str) -> Letters:
    """The letters and digits of a text, and where they are."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    distinct, number = np.unique(codes, return_inverse=True)
    plain = [_plain(chr(code)) for code in distinct]
    places = np.repeat(np.arange(len(codes)), np.array([*map(len, plain)], dtype=np.int64)[number])
    return Letters("".join([plain[each] for each in number.tolist()]), places.tolist())


@cache
def _plain(character: str) -> str:
    plain = unicodedata.normalize("NFKD", character).casefold()
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", plain)))
