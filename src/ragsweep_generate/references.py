"""Finds a reference, as a model has copied it, in the passage that it is said to be from."""

from __future__ import annotations

from ragsweep.text.quotes import find_quote, whole_words
from ragsweep.text.tokens import Span, count_of_words, stripped

LEAST_SIMILARITY = 0.9  # of the letters of a reference and of what the passage has
SHORTEST_REFERENCE = 3  # words of a reference
QUOTATION_MARKS = {*"'\"\u201c\u201d\u2018\u2019"}


def locate(reference: str, text: str) -> Span | None:
    """Where a reference is in a text, as `find_quote` finds it; None if the text does not contain it.

    The span is that of the text, so what is recorded is what the text says.
    """
    reference = reference.strip()
    if {reference[:1], reference[-1:]} <= QUOTATION_MARKS:  # a model often puts what it copies into quotes
        reference = reference[1:-1].strip()
    if count_of_words(reference) < SHORTEST_REFERENCE:
        return None
    places = find_quote(reference, text, None, LEAST_SIMILARITY)
    return stripped(text, *whole_words(text, *places[0])) if places else None
