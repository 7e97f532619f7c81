"""Passages that break at the coarsest possible separator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from ragsweep.core.limits import Between
from ragsweep.datasets.chunkers.pieces import SEPARATORS, joined, pieces
from ragsweep.datasets.chunkers.rulers import Limited, Ruler
from ragsweep.datasets.chunkers.sized import SizedChunker
from ragsweep.text.tokens import Span

DEFAULT_SIZE = 500


@dataclass(frozen=True)
class RecursiveChunker(SizedChunker):
    """Passages of at most `size`, split at the coarsest possible separator.

    The text is first split into paragraphs. Paragraphs that are too long are split into lines, then into sentences,
    words and characters. The pieces are then joined in order into passages that are as long as `size` allows.

    Attributes:
        size: Longest passage. None is 500, and no passage has more tokens than the model of the tokenizer reads.
    """

    size: Annotated[int, Between(1)] | None = None  # type: ignore[assignment]
    overlap: Annotated[int, Between(0)] = 50
    _window: tuple[int, str] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.size is None and self.tokenizer is not None:
            object.__setattr__(self, "_window", self.tokenizer.window)
        if self.size is None and (self._window is None or self.unit == "characters"):  # what is used is what is logged
            object.__setattr__(self, "size", DEFAULT_SIZE)
        super().__post_init__()

    @property
    def longest(self) -> int:
        """Longest passage."""
        return self.size or DEFAULT_SIZE

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect."""
        return () if self._window else super().without_effect

    def split_all(self, texts: Sequence[str]) -> Iterator[Sequence[Span]]:
        """Spans of the passages of each text."""
        if self._window is None:
            yield from super().split_all(texts)
            return
        for (text, ruler), (_, tokens) in zip(self._measured(texts), self._measured(texts, "tokens"), strict=True):
            yield self._limited(text, ruler, tokens)

    def _cut(self, text: str, ruler: Ruler) -> Sequence[Span]:
        parts = list(pieces(text, (0, len(text)), ruler, self.longest, SEPARATORS))
        return joined(text, parts, ruler, self.longest, self.overlap)

    def _limited(self, text: str, ruler: Ruler, tokens: Ruler) -> Sequence[Span]:
        """Passages that the model reads to their end: one that begins within a word can have more tokens by itself."""
        assert self.tokenizer is not None
        allowed = most = self.tokenizer.passage_tokens
        while True:
            spans = self._cut(text, Limited(ruler, tokens, most))
            longest = max(map(len, self.tokenizer.offsets([text[start:end] for start, end in spans])), default=0)
            if longest <= allowed or most == 1:
                return spans
            most = max(most - (longest - allowed), 1)
