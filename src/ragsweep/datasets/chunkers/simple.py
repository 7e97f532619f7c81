"""Passages that are whole pages, whole sentences, or windows of a fixed size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from ragsweep.core.limits import Between
from ragsweep.datasets.chunkers.pieces import add, joined, pieces
from ragsweep.datasets.chunkers.rulers import Ruler
from ragsweep.datasets.chunkers.sized import SizedChunker
from ragsweep.datasets.model.chunking import Chunker
from ragsweep.text.sentences import LIBRARIES, sentences_of
from ragsweep.text.tokens import Span, stripped

WITHIN = ("\n", " ", "")  # where a sentence breaks that is longer than a passage may be


@dataclass(frozen=True)
class PageChunker(Chunker):
    """One passage per page."""

    def split(self, text: str) -> list[Span]:
        """The whole text without surrounding white space."""
        return [span for span in [stripped(text, 0, len(text))] if span[0] < span[1]]


@dataclass(frozen=True)
class SentenceChunker(SizedChunker):
    """As many whole sentences as `size` allows. A sentence that is longer breaks at lines, words or characters."""

    libraries: ClassVar[Sequence[str]] = LIBRARIES

    def _cut(self, text: str, ruler: Ruler) -> Sequence[Span]:
        parts = [part for sentence in sentences_of(text) for part in pieces(text, sentence, ruler, self.size, WITHIN)]
        return joined(text, parts, ruler, self.size, self.overlap)


@dataclass(frozen=True)
class FixedChunker(SizedChunker):
    """Windows of exactly `size` tokens or characters, each `size - overlap` after the one before; the last is shorter.

    As the fixed token windows of Chroma's evaluation of chunkers (https://research.trychroma.com/evaluating-chunking).
    A window can begin or end within a word, but not within a character: tokens that share one stay together.
    """

    size: Annotated[int, Between(1)] = 200
    unit: Literal["characters", "tokens"] = "tokens"

    def _cut(self, text: str, ruler: Ruler) -> Sequence[Span]:
        spans: list[Span] = []
        start = end = 0
        while end < len(text):
            end = ruler.end_of(start, self.size)
            add(spans, stripped(text, start, end))
            following = ruler.end_of(end, 1) if end < len(text) else end
            # a later start than the overlap asks for, where the next token, which cannot be cut, needs the room
            start = min(max(ruler.start_of(end, self.overlap), ruler.start_of(following, self.size)), end)
        return spans
