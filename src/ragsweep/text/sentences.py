"""Finds the sentences of a text."""

from __future__ import annotations

import re

Span = tuple[int, int]

LIBRARIES = ("nupunkt",)

# What nupunkt, which is made for English, does not take for an end: a blank line, and the full stops of Chinese and
# Japanese, Hindi, Arabic and Urdu.
OTHER_ENDS = re.compile(r"\n[^\S\n]*\n\s*|[。！？｡।؟۔]+[」』”’）]*\s*")  # noqa: RUF001


def sentences_of(text: str) -> list[Span]:
    """Adjacent spans of the sentences. Each ends with the white space behind it, and is more than white space.

    A sentence ends where nupunkt's Punkt model says so (Kiss and Strunk, 2006, "Unsupervised Multilingual Sentence
    Boundary Detection"), at a blank line, and behind a full stop of some other scripts. A line break is no end, since
    lines of a PDF break anywhere.
    """
    import nupunkt

    ends = {end for _, end in nupunkt.sent_spans(text)} | {found.end() for found in OTHER_ENDS.finditer(text)}
    spans: list[Span] = []
    start = 0
    for end in sorted({*ends, len(text)}):
        if text[start:end].strip():
            spans.append((start, end))
            start = end
    if spans:
        spans[-1] = (spans[-1][0], len(text))
    return spans
