"""Chooses the sentences of a passage that say enough to be asked for."""

from __future__ import annotations

import numpy as np

from ragsweep.core.digest import digest
from ragsweep.text.content_words import content_words
from ragsweep.text.sentences import FULL_STOPS, sentences_and_items
from ragsweep.text.tokens import Span, count_of_words
from ragsweep_generate.drafts import Request

SHORTEST, LONGEST = 6, 40  # words of a sentence
LEAST_CONTENT = 4  # words of a sentence that are not function words


def telling(text: str) -> list[Span]:
    """The spans of the sentences that are long enough to be asked for, and short enough to be an answer.

    Pieces without a full stop, such as headings and the rows of tables, are among them only if there are no others.
    """
    long_enough = [
        (start, end)
        for start, end in sentences_and_items(text)
        if SHORTEST <= count_of_words(text[start:end]) <= LONGEST
        and len(content_words(text[start:end])) >= LEAST_CONTENT
    ]
    return [(start, end) for start, end in long_enough if text[end - 1] in FULL_STOPS] or long_enough


def chosen_sentence(request: Request, seed: int) -> str | None:
    """A sentence of the passage: another one for each attempt; None if none is left."""
    text = request.source.text
    spans = telling(text)
    if request.attempt >= len(spans):
        return None
    order = random_of(seed, request.source.document, request.source.start).permutation(len(spans))
    start, end = spans[order[request.attempt]]
    return text[start:end]


def random_of(seed: int, *what: object) -> np.random.Generator:
    """Random numbers that depend on the seed and on what they are for, not on what was drawn before."""
    return np.random.default_rng(int(digest([seed, *what])[:16], 16))
