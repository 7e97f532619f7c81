"""Whole pages as passages."""

from __future__ import annotations

from dataclasses import dataclass

from ragsweep.datasets.model.chunking import Chunker
from ragsweep.text.tokens import Span, stripped


@dataclass(frozen=True)
class PageChunker(Chunker):
    """One passage per page."""

    def split(self, text: str) -> list[Span]:
        """The whole text without surrounding white space."""
        return [span for span in [stripped(text, 0, len(text))] if span[0] < span[1]]
