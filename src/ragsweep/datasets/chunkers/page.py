"""Whole pages as passages."""

from __future__ import annotations

from dataclasses import dataclass

from ragsweep.text.tokens import Span, stripped


@dataclass(frozen=True)
class PageChunker:
    """One passage per page."""

    def split(self, text: str) -> list[Span]:
        """The whole text without surrounding white space."""
        return [span for span in [stripped(text, 0, len(text))] if span[0] < span[1]]
