"""Splits the text of a page into passages, given as character offsets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from ragsweep.core.constraints import Between
from ragsweep.core.errors import ConfigError
from ragsweep.datasets.spans import Span

SEPARATORS = ("\n\n", "\n", ". ", " ", "")


@dataclass(frozen=True)
class PageChunker:
    """One passage per page."""

    def split(self, text: str) -> list[Span]:
        """The whole text without surrounding white space."""
        return [span for span in [_stripped(text, 0, len(text))] if span[0] < span[1]]


@dataclass(frozen=True)
class RecursiveChunker:
    """Passages of at most `size` characters, split at the coarsest possible separator.

    The text is first split into paragraphs. Paragraphs that are too long are split into lines, then into sentences,
    words and characters. The pieces are then joined in order into passages that are as long as `size` allows.

    Attributes:
        size: Maximum length of a passage, in characters.
        overlap: Maximum number of characters at the end of a passage that the next one repeats.
    """

    size: Annotated[int, Between(1)] = 500
    overlap: Annotated[int, Between(0)] = 50

    def __post_init__(self) -> None:
        if self.overlap >= self.size:
            raise ConfigError(f"chunker.overlap: found {self.overlap}, expected less than chunker.size ({self.size})")

    def split(self, text: str) -> list[Span]:
        """Spans of the passages, in order."""
        pieces = list(_pieces(text, (0, len(text)), self.size, SEPARATORS))
        spans: list[Span] = []
        first = 0
        while first < len(pieces):
            last = first
            while last + 1 < len(pieces) and pieces[last + 1][1] - pieces[first][0] <= self.size:
                last += 1
            start, end = _stripped(text, pieces[first][0], pieces[last][1])
            if start < end and (not spans or end > spans[-1][1]):  # otherwise it only repeats the previous one
                spans.append((start, end))
            if last + 1 == len(pieces):
                break
            first = self._first_of_next(pieces, first, last)
        return spans

    def _first_of_next(self, pieces: list[Span], first: int, last: int) -> int:
        """Index of the first piece of the next passage: as early as `overlap` and `size` allow."""
        opening = last + 1
        while (
            opening - 1 > first
            and pieces[last][1] - pieces[opening - 1][0] <= self.overlap
            and pieces[last + 1][1] - pieces[opening - 1][0] <= self.size
        ):
            opening -= 1
        return opening


def _pieces(text: str, span: Span, size: int, separators: tuple[str, ...]) -> Iterator[Span]:
    """Split `span` into adjacent pieces of at most `size` characters. Each piece ends with its separator."""
    start, end = span
    if end - start <= size:
        yield span
        return
    separator, *finer = separators
    while start < end:
        found = text.find(separator, start, end) if separator else start + size - 1
        cut = min(found + max(len(separator), 1), end) if found >= 0 else end
        if cut - start > size:
            yield from _pieces(text, (start, cut), size, tuple(finer))
        else:
            yield (start, cut)
        start = cut


def _stripped(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end
