"""Splits a passage into sentences, and chooses those that say enough to be asked for."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np

from ragsweep.core.digest import digest
from ragsweep.generation.drafts import Request
from ragsweep.text.content_words import content_words
from ragsweep.text.sentences import sentences_of

SHORTEST, LONGEST = 6, 40  # words of a sentence
LEAST_CONTENT = 4  # words of a sentence that are not function words
HEADING = 50  # characters: a shorter line without a full stop, before a line with a capital, is a heading
ITEM = re.compile(r"\n(?=\s*(?:[-*•#|]|\d+[.)])\s)")  # the end of a line before an item of a list
OPENING = re.compile(r"\s*(?:[-*•#|]+\s+)?(?:\d+[.)]?\s+(?=[A-Z]))?")  # bullets and numbers of steps
LINE = re.compile(r"[^\n]+")

Span = tuple[int, int]


def sentences(text: str) -> list[Span]:
    """The spans of the sentences of a text, in order, without bullets and white space around them.

    Headings and items of lists, which have no full stop, are sentences of their own.
    """
    ends = (end for _, end in sentences_of(text))
    cuts = {0, len(text), *ends, *(item.end() for item in ITEM.finditer(text)), *_after_headings(text)}
    spans = []
    ordered = sorted(cuts)
    for start, end in pairwise(ordered):
        piece = text[start:end]
        left = start + OPENING.match(piece).end()  # type: ignore[union-attr]  # it always matches
        right = end - len(piece) + len(piece.rstrip())
        if left < right:
            spans.append((left, right))
    return spans


def _after_headings(text: str) -> list[int]:
    lines = [match for match in LINE.finditer(text) if match[0].strip()]
    return [
        after.start()
        for line, after in pairwise(lines)
        if len(line[0].strip()) < HEADING and line[0].rstrip()[-1].isalnum() and after[0].lstrip()[0].isupper()
    ]


def telling(text: str) -> list[Span]:
    """The spans of the sentences that are long enough to be asked for, and short enough to be an answer.

    Pieces without a full stop, such as headings and the rows of tables, are among them only if there are no others.
    """
    long_enough = [
        (start, end)
        for start, end in sentences(text)
        if SHORTEST <= len(text[start:end].split()) <= LONGEST and len(content_words(text[start:end])) >= LEAST_CONTENT
    ]
    return [(start, end) for start, end in long_enough if text[end - 1] in ".!?"] or long_enough


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
