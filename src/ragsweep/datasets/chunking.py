"""Cutting a page's text into passages, by character offsets, so that every passage can be found again."""

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
    """One passage a page."""

    def split(self, text: str) -> list[Span]:
        """The whole text without the white space around it."""
        return [span for span in [_stripped(text, 0, len(text))] if span[0] < span[1]]


@dataclass(frozen=True)
class RecursiveChunker:
    """Passages of at most `size` characters that break at the coarsest separator that makes them fit.

    The text is first taken apart at paragraphs; a paragraph that is too long, at lines; then at sentences, words
    and characters. The parts are then joined again, in order, into passages as long as `size` allows.

    Attributes:
        size: Longest passage, in characters.
        overlap: How much of a passage's end the next one repeats, at most, in characters.
    """

    size: Annotated[int, Between(1)] = 500
    overlap: Annotated[int, Between(0)] = 50

    def __post_init__(self) -> None:
        if self.overlap >= self.size:
            raise ConfigError(f"chunker.overlap: found {self.overlap}, expected less than chunker.size ({self.size})")

    def split(self, text: str) -> list[Span]:
        """Spans of the passages, in order."""
        parts = list(_parts(text, (0, len(text)), self.size, SEPARATORS))
        spans: list[Span] = []
        first = 0
        while first < len(parts):
            last = first
            while last + 1 < len(parts) and parts[last + 1][1] - parts[first][0] <= self.size:
                last += 1
            start, end = _stripped(text, parts[first][0], parts[last][1])
            if start < end and (not spans or end > spans[-1][1]):  # else it would only repeat the one before
                spans.append((start, end))
            if last + 1 == len(parts):
                break
            first = self._overlapping(parts, first, last)
        return spans

    def _overlapping(self, parts: list[Span], first: int, last: int) -> int:
        """The part that opens the next passage: far enough back to overlap, yet so that the next part fits in."""
        opening = last + 1
        while (
            opening - 1 > first
            and parts[last][1] - parts[opening - 1][0] <= self.overlap
            and parts[last + 1][1] - parts[opening - 1][0] <= self.size
        ):
            opening -= 1
        return opening


def _parts(text: str, span: Span, size: int, separators: tuple[str, ...]) -> Iterator[Span]:
    """Take `span` apart into adjoining parts of at most `size` characters, each with its separator at its end."""
    start, end = span
    if end - start <= size:
        yield span
        return
    separator, *finer = separators
    while start < end:
        found = text.find(separator, start, end) if separator else start + size - 1
        cut = min(found + max(len(separator), 1), end) if found >= 0 else end
        if cut - start > size:
            yield from _parts(text, (start, cut), size, tuple(finer))
        else:
            yield (start, cut)
        start = cut


def _stripped(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end
