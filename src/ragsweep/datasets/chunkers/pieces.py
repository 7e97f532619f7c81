"""Cuts a text into small adjacent pieces, and joins them into passages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ragsweep.datasets.chunkers.rulers import Ruler
from ragsweep.text.sentences import OTHER_END
from ragsweep.text.tokens import Span, stripped

SEPARATORS = ("\n\n", "\n", rf"\. |{OTHER_END}", " ", "")  # patterns, from the coarsest to the finest


def pieces(text: str, span: Span, ruler: Ruler, size: int, separators: Sequence[str]) -> Iterator[Span]:
    """Split `span` into adjacent pieces of at most `size`. Each piece ends with its separator.

    Args:
        text: The text.
        span: What to split.
        ruler: Measures the text.
        size: Longest piece.
        separators: Patterns of where to split, the coarsest first. The empty one, which comes last, splits anywhere.
    """
    start, end = span
    if ruler.length(start, end) <= size:
        yield span
        return
    separator, *finer = separators
    pattern = re.compile(separator)
    while start < end:
        if not separator:
            cut = min(ruler.end_of(start, size), end)
            yield (start, cut)
        else:
            match = pattern.search(text, start, end)
            cut = match.end() if match else end
            yield from pieces(text, (start, cut), ruler, size, finer)
        start = cut


def joined(text: str, parts: Sequence[Span], ruler: Ruler, size: int, overlap: int) -> list[Span]:
    """Join adjacent pieces in order into passages that are as long as `size` allows.

    Args:
        text: The text.
        parts: The pieces.
        ruler: Measures the text.
        size: Longest passage. A single piece may be longer.
        overlap: Longest part of a passage that the next one repeats, in whole pieces.

    Returns:
        The passages without surrounding white space.
    """
    spans: list[Span] = []
    first = 0
    while first < len(parts):
        last = first
        while last + 1 < len(parts) and ruler.length(parts[first][0], parts[last + 1][1]) <= size:
            last += 1
        add(spans, stripped(text, parts[first][0], parts[last][1]))
        if last + 1 == len(parts):
            break
        opening = last + 1
        while (
            opening - 1 > first
            and ruler.length(parts[opening - 1][0], parts[last][1]) <= overlap
            and ruler.length(parts[opening - 1][0], parts[last + 1][1]) <= size
        ):
            opening -= 1
        first = opening
    return spans


def add(spans: list[Span], span: Span) -> None:
    """Append a span. Skips an empty one and one within the last span; replaces a last span that is within it."""
    start, end = span
    if start == end or (spans and end <= spans[-1][1]):
        return
    if spans and start == spans[-1][0]:  # only white space is between their beginnings
        spans.pop()
    spans.append(span)
