"""Passages that break at the coarsest possible separator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Annotated

from ragsweep.core.limits import Between
from ragsweep.datasets.chunkers.pieces import SEPARATORS, joined, pieces
from ragsweep.datasets.chunkers.rulers import Ruler
from ragsweep.datasets.chunkers.sized import SizedChunker
from ragsweep.text.tokens import Span


@dataclass(frozen=True)
class RecursiveChunker(SizedChunker):
    """Passages of at most `size`, split at the coarsest possible separator.

    The text is first split into paragraphs. Paragraphs that are too long are split into lines, then into sentences,
    words and characters. The pieces are then joined in order into passages that are as long as `size` allows.

    Attributes:
        size, overlap, unit, across_pages, tokenizer: See `SizedChunker`.
    """

    overlap: Annotated[int, Between(0)] = 50

    def split_all(self, texts: Sequence[str]) -> Iterator[Sequence[Span]]:
        """Spans of the passages of each text."""
        return starmap(self._cut, self._measured(texts))

    def _cut(self, text: str, ruler: Ruler) -> Sequence[Span]:
        parts = list(pieces(text, (0, len(text)), ruler, self.size, SEPARATORS))
        return joined(text, parts, ruler, self.size, self.overlap)
