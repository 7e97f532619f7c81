"""Which spans of text share characters, computed for many spans at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Protocol

import numpy as np

from ragsweep.core.arrays import Indices

GAP = 2  # characters between two documents, so that spans of different documents do not even touch


class Located(Protocol):
    """A span of a document, such as a passage or a reference."""

    @property
    def source(self) -> str:
        """The document."""

    @property
    def start(self) -> int:
        """Offset of its first character."""

    @property
    def end(self) -> int:
        """Offset after its last character."""


def on_one_line(*groups: Sequence[Located]) -> list[Indices]:
    """Start and end of every span, with the characters of all documents counted through.

    Args:
        groups: Spans; equal documents in different groups are the same document.

    Returns:
        An array of shape [spans, 2] per group.
    """
    lengths: dict[str, int] = {}
    for span in chain(*groups):
        lengths[span.source] = max(lengths.get(span.source, 0), span.end)
    begins = dict(zip(lengths, accumulate((length + GAP for length in lengths.values()), initial=0), strict=False))
    return [
        np.array(
            [(begins[span.source] + span.start, begins[span.source] + span.end) for span in group], dtype=np.int64
        ).reshape(-1, 2)
        for group in groups
    ]


def overlapping(spans: Indices, targets: Indices) -> tuple[Indices, Indices]:
    """The pairs of spans that share at least one character.

    Args:
        spans: Start and end of each span, in any order, shape [spans, 2].
        targets: Start and end of each span that they may overlap, shape [targets, 2].

    Returns:
        Positions in `targets` and in `spans`, each of shape [pairs], in this order.
    """
    order = np.argsort(spans[:, 0], kind="stable")
    starts, ends = spans[order].T
    first = np.searchsorted(np.maximum.accumulate(ends), targets[:, 0], side="right")  # spans before it end earlier
    last = np.searchsorted(starts, targets[:, 1])
    other, place = ranges(first, np.maximum(first, last))
    shared = np.minimum(ends[place], targets[other, 1]) > np.maximum(starts[place], targets[other, 0])
    other, span = other[shared], order[place[shared]]
    sort = np.lexsort((span, other))
    return other[sort], span[sort]


def ranges(first: Indices, last: Indices) -> tuple[Indices, Indices]:
    """The numbers of several ranges, one range after the other.

    Args:
        first: First number of each range, shape [ranges].
        last: Number after its last one, not smaller than `first`, shape [ranges].

    Returns:
        Position of the range, and the number, each of shape [numbers].
    """
    counts = last - first
    row = np.repeat(np.arange(len(counts)), counts)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts - first, counts)
