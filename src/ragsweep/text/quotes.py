"""Finds what is quoted in a text: as it is written, by the same letters, or where it is most alike.

Offsets are those of the text's own characters, whatever its normal form. A text that differs in a number or a negation
says something else, and is never found: "50 mg" is not "15 mg".
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import islice
from typing import Literal, NamedTuple

import numpy as np

from ragsweep.text.content_words import NUMBER, numbers_and_negations
from ragsweep.text.normalisation import composed
from ragsweep.text.tokens import Span, letters_with_marks, word_spans

Form = Literal["NFC", "NFD"]
FORMS: tuple[Form, ...] = ("NFC", "NFD")
GRAM = 4  # letters; of a quote that is 90 % alike, at least one piece in five is whole
WINDOWS = 3  # stretches of the text that are compared: those that share most pieces, and the first that share half
MOST_PLACES = 1000  # of the same words
BEFORE, AFTER = re.compile(r"[\d.,]*\Z"), re.compile(r"[\d.,]*")  # what may belong to a number that is cut
LONGEST_WORD = 50  # characters


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


def places_of(quote: str, text: str, most: int = 2) -> list[Span]:
    """The first spans of a text that are a quote, in whatever normal form both are; they do not overlap."""
    if composed(quote) == quote and composed(text) == text:
        return list(islice(_spans(quote, text), most))
    own = _offsets(text, "NFC")
    spans = (own.span(*span) for span in _spans(composed(quote), own.text))
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


def find_quote(quote: str, text: str, least: float) -> Span | None:
    """The first place of a quote: as it is written, else by the same letters, else where these are most alike.

    Args:
        quote: The quote.
        text: The text.
        least: Least similarity of the letters, from 0 to 1: 1 - d / n, where d letters have to be inserted or deleted,
            and n is the number of the letters of both.
    """
    if places := places_of(quote, text, 1):
        return places[0]
    sought, letters = letters_of(quote), letters_of(text)
    if not sought.text:
        return None
    for place in islice(_spans(sought.text, letters.text), MOST_PLACES):
        span = letters.span(*place)
        if _numbers(_with_numbers(text, span)) == _numbers(quote):
            return span
    alike = _most_alike(sought.text, letters, least)
    if alike is None:
        return None
    part = _with_numbers(text, whole_words(text, *alike))
    return alike if numbers_and_negations(part) == numbers_and_negations(quote) else None


def whole_words(text: str, start: int, end: int) -> Span:
    """A span that begins and ends with a word of which it has at least a half."""
    offset = max(0, start - LONGEST_WORD)
    spans = [(first + offset, after + offset) for first, after in word_spans(text[offset : end + LONGEST_WORD])]
    begins = next((word for word in spans if word[0] < start < word[1]), (start, start))
    ends = next((word for word in spans if word[0] < end < word[1]), (end, end))
    start = begins[0] if start - begins[0] <= begins[1] - start else begins[1]
    return start, ends[1] if ends[1] - end <= end - ends[0] else ends[0]


def _spans(quote: str, text: str) -> Iterator[Span]:
    end = 0
    while (start := text.find(quote, end)) >= 0:
        end = start + len(quote)
        yield start, end


def _most_alike(sought: str, letters: Letters, least: float) -> Span | None:
    """The first stretch of a text whose letters are most like these, if they are alike enough."""
    from rapidfuzz.fuzz import partial_ratio_alignment

    length = len(sought)
    if not GRAM <= length <= len(letters.text):
        return None
    width = max(length // 2, GRAM)
    shared: Counter[int] = Counter()  # pieces of the quote by where in the text it would begin
    for place in range(0, length - GRAM + 1, GRAM):
        starts = islice(_spans(sought[place : place + GRAM], letters.text), MOST_PLACES)
        shared.update({(start - place) // width for start, _ in starts})
    most = max(shared.values(), default=0)
    likely = [window for window, _ in shared.most_common(WINDOWS)]
    likely += sorted(window for window, number in shared.items() if 2 * number >= most)[:WINDOWS]
    best, span = 100 * least, None
    for window in sorted({*likely}):
        first = max(0, (window - 1) * width)
        stretch = letters.text[first : first + 3 * width + length]
        match = partial_ratio_alignment(sought, stretch, score_cutoff=best) if len(stretch) >= length else None
        if match and match.dest_end > match.dest_start and (span is None or match.score > best):
            best, span = match.score, letters.span(first + match.dest_start, first + match.dest_end)
    return span


def _with_numbers(text: str, span: Span) -> str:
    """A span with the rest of the numbers that it cuts."""
    start, end = span
    before, after = BEFORE.search(text, max(0, start - LONGEST_WORD), start), AFTER.match(text, end)
    return text[before.start() if before else start : after.end() if after else end]


def _numbers(text: str) -> list[str]:
    return re.findall(NUMBER, unicodedata.normalize("NFKD", text))


class _Offsets:
    """A text in a normal form, with the place of each of its letters in the text itself.

    A letter with its marks is normalised as a whole.

    Attributes:
        text: In the normal form.
    """

    def __init__(self, text: str, form: Form) -> None:
        letters: list[str] = []
        self._normal, self._own = [0], [0]  # where each letter begins, and the end of the last one
        for letter in letters_with_marks(text):
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


@lru_cache(maxsize=16)
def letters_of(text: str) -> Letters:
    """The letters and digits of a text, and where they are."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    distinct, number = np.unique(codes, return_inverse=True)
    plain = [_plain(chr(code)) for code in distinct]
    places = np.repeat(np.arange(len(codes)), np.array([*map(len, plain)], dtype=np.int64)[number])
    return Letters("".join([plain[position] for position in number.tolist()]), places.tolist())


@cache
def _plain(character: str) -> str:
    plain = unicodedata.normalize("NFKD", character).casefold()
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", plain)))
