"""The settings that all chunkers with a size have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Annotated, Literal

from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between
from ragsweep.datasets.chunkers.rulers import Characters, Ruler, TokenOffsets, Tokens
from ragsweep.datasets.model.chunking import Chunker
from ragsweep.datasets.model.collection import readable
from ragsweep.text.tokens import Span

TEXTS_AT_ONCE = 256  # texts that are tokenized at once


@dataclass(frozen=True)
class SizedChunker(Chunker):
    """Cuts a text into passages of at most `size`; a subclass says where, in `_cut`.

    Attributes:
        size: Longest passage.
        overlap: Longest part of a passage that the next one repeats.
        unit: Of size and overlap: `characters`, or `tokens` of the tokenizer. The tokens are those of the whole text. A
            passage that begins or ends within a word can have other tokens by itself.
        across_pages: True cuts documents, so that a passage can have the end of one page and the beginning of the next.
            False cuts each page by itself.
        tokenizer: Counts the tokens.
    """

    size: Annotated[int, Between(1)] = 500
    overlap: Annotated[int, Between(0)] = 0
    unit: Literal["characters", "tokens"] = "characters"
    across_pages: bool = False
    tokenizer: TokenOffsets | None = None

    def __post_init__(self) -> None:
        if self.overlap >= self.longest:
            raise ConfigError(
                f"chunker.overlap: found {self.overlap}, expected less than chunker.size ({self.longest})"
            )
        if self.unit == "tokens" and self.tokenizer is None:
            raise ConfigError("chunker.tokenizer: found null, expected a tokenizer for chunker.unit=tokens")

    @property
    def longest(self) -> int:
        """Longest passage."""
        return self.size

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect."""
        return ("tokenizer",) if self.unit == "characters" else ()

    def split(self, text: str) -> Sequence[Span]:
        """Spans of the passages of a text, in order."""
        return next(iter(self.split_all([text])))

    def split_all(self, texts: Sequence[str]) -> Iterator[Sequence[Span]]:
        """Spans of the passages of each text."""
        return starmap(self._cut, self._measured(texts))

    def _cut(self, text: str, ruler: Ruler) -> Sequence[Span]:
        """Spans of the passages of a text, which the ruler measures."""
        raise NotImplementedError

    def _measured(self, texts: Sequence[str], unit: str | None = None) -> Iterator[tuple[str, Ruler]]:
        """Each text as `_in_lines`, with its ruler; `unit` replaces the unit of the settings."""
        for first in range(0, len(texts), TEXTS_AT_ONCE):
            batch = [self._in_lines(text) for text in texts[first : first + TEXTS_AT_ONCE]]
            if (unit or self.unit) == "characters" or self.tokenizer is None:
                yield from ((text, Characters(len(text))) for text in batch)
            else:
                for text, offsets in zip(batch, self.tokenizer.offsets(batch), strict=True):
                    yield text, Tokens.of(text, offsets)

    def _in_lines(self, text: str) -> str:
        """The text of a document with each page break as a line break; the text of a page as it is."""
        return readable(text) if self.across_pages else text
