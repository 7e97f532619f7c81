"""Passages of whole sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import ClassVar

from ragsweep.datasets.chunkers.pieces import joined, pieces
from ragsweep.datasets.chunkers.rulers import Ruler
from ragsweep.datasets.chunkers.sized import SizedChunker
from ragsweep.text.sentences import LIBRARIES, sentences_of
from ragsweep.text.tokens import Span

WITHIN = ("\n", " ", "")  # where a sentence breaks that is longer than a passage may be


@dataclass(frozen=True)
class SentenceChunker(SizedChunker):
    """As many whole sentences as `size` allows. A sentence that is longer breaks at lines, words or characters.

    Attributes:
        size, overlap, unit, across_pages, tokenizer: See `SizedChunker`. Whole sentences overlap.
    """

    libraries: ClassVar[Sequence[str]] = LIBRARIES

    def split_all(self, texts: Sequence[str]) -> Iterator[Sequence[Span]]:
        """Spans of the passages of each text."""
        return starmap(self._cut, self._measured(texts))

    def _cut(self, text: str, ruler: Ruler) -> Sequence[Span]:
        parts = [part for each in sentences_of(text) for part in pieces(text, each, ruler, self.size, WITHIN)]
        return joined(text, parts, ruler, self.size, self.overlap)
