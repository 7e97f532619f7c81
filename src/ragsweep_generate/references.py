"""Finds a reference, as a model has copied it, in the passage that it is said to be from."""

from __future__ import annotations

import re

from ragsweep.text.content_words import numbers_and_negations
from ragsweep.text.normalisation import TYPED
from ragsweep.text.quotes import places_of
from ragsweep.text.tokens import Span, count_of_words, stripped

THRESHOLD = 90  # least similarity of a reference and what the passage has, from 0 to 100
SHORTEST_REFERENCE = 3  # words of a reference
QUOTATION_MARKS = {*"'\"\u201c\u201d\u2018\u2019"}
TYPED_ALIKE = str.maketrans(TYPED)


def locate(reference: str, text: str) -> Span | None:
    """Where a reference is in a text.

    It is looked for as it is, then with any white space, case and kind of quotes and dashes, and then as the most
    similar part of the text by `rapidfuzz`. A similar part is refused if a number or a negation differs, since "50 mg"
    is not "15 mg". The span is that of the text, so what is recorded is what the text says.

    Args:
        reference: What a model returned.
        text: The passage.

    Returns:
        The span, or None if the text does not contain the reference.
    """
    reference = reference.strip()
    if {reference[:1], reference[-1:]} <= QUOTATION_MARKS:  # a model often puts what it copies into quotes
        reference = reference[1:-1].strip()
    words = reference.split()
    if count_of_words(reference) < SHORTEST_REFERENCE:
        return None
    if places := places_of(reference, text, most=1):
        return places[0]
    pattern = r"\s+".join(re.escape(word.translate(TYPED_ALIKE)) for word in words)
    if found := re.search(pattern, text.translate(TYPED_ALIKE), re.IGNORECASE):  # both have the same length as before
        return found.span()
    return _similar(reference, text)


def _similar(reference: str, text: str) -> Span | None:
    from rapidfuzz import fuzz

    if len(reference) > len(text):
        return None
    plain, searched = _folded(reference), _folded(text)
    aligned = fuzz.partial_ratio_alignment(plain, searched, score_cutoff=THRESHOLD)
    if aligned is None:
        return None
    start, end = _whole_words(text, aligned.dest_start, aligned.dest_end)
    part = searched[start:end]
    same = numbers_and_negations(plain) == numbers_and_negations(part)
    return (start, end) if same and fuzz.ratio(plain, " ".join(part.split())) >= THRESHOLD else None


def _folded(text: str) -> str:
    """The text in lower case, with one kind of quotes, dashes and white space. Its length stays the same."""
    lower = "".join(each.lower() if len(each.lower()) == 1 else each for each in text)
    return re.sub(r"\s", " ", lower.translate(TYPED_ALIKE))


def _whole_words(text: str, start: int, end: int) -> Span:
    start, end = stripped(text, start, end)
    while 0 < start < end and not text[start - 1].isspace():
        start -= 1
    while start < end < len(text) and not text[end].isspace():
        end += 1
    return start, end
