"""Measures a text in characters or in tokens."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ragsweep.store.component import Component

Offsets = npt.NDArray[np.int64]


class TokenOffsets(Component, ABC):
    """Finds the tokens of texts. To add one, write a subclass with `offsets`, and with `fingerprint` if files count."""

    @abstractmethod
    def offsets(self, texts: Sequence[str]) -> Sequence[Offsets]:
        """Where each token of each text starts and ends, in characters: an array [tokens, 2] per text, in order."""

    @property
    def window(self) -> tuple[int, str] | None:
        """The number of tokens that its model reads, special ones included, and its prompt; None without a limit."""
        return None

    @property
    def passage_tokens(self) -> int:
        """How many tokens of the window are left for the passage."""
        return 0


class Ruler(Protocol):
    """Measures parts of one text."""

    def length(self, start: int, end: int) -> int:
        """The length of the text between two places."""

    def end_of(self, start: int, size: int) -> int:
        """The last place at which something from `start` of at most `size` can end. It is always after `start`."""

    def start_of(self, end: int, size: int) -> int:
        """The first place at which something until `end` of at most `size` can start."""


@dataclass(frozen=True)
class Characters:
    """Measures in characters (Unicode code points).

    Attributes:
        total: Length of the text.
    """

    total: int

    def length(self, start: int, end: int) -> int:
        """See `Ruler`."""
        return end - start

    def end_of(self, start: int, size: int) -> int:
        """See `Ruler`."""
        return min(start + size, self.total)

    def start_of(self, end: int, size: int) -> int:
        """See `Ruler`."""
        return max(end - size, 0)


@dataclass(frozen=True)
class Tokens:
    """Measures in the tokens that a tokenizer finds in the whole text. A token counts where any of it is.

    Each token owns the text from its first character to the next token, so that nothing between tokens is lost: white
    space, and characters that the tokenizer drops. What is before the first token belongs to it. Tokens that share a
    character, such as the bytes of an emoji, stay together. So a group of them can be longer than a size.

    Attributes:
        total: Length of the text, in characters.
        starts: Where each group of tokens starts, shape [groups].
        ends: Where each group of tokens ends.
        counts: Tokens before each group, and then all tokens, shape [groups + 1].
    """

    total: int
    starts: Sequence[int]
    ends: Sequence[int]
    counts: Sequence[int]

    @classmethod
    def of(cls, text: str, offsets: Offsets) -> Tokens:
        """Group the tokens of a text.

        Args:
            text: The text.
            offsets: Where its tokens start and end, in order, shape [tokens, 2].
        """
        if not len(offsets):
            return cls(len(text), (), (), (0,))
        starts, ends = np.maximum.accumulate(offsets[:, 0]), np.maximum.accumulate(offsets.max(axis=1))
        opens = np.append(True, (starts[1:] >= ends[:-1]) & (starts[1:] > starts[:-1]))
        first = np.flatnonzero(opens)
        groups = zip(starts[first].tolist(), ends[np.append(first[1:], len(starts)) - 1].tolist(), strict=True)
        placed = [_without_space(text, start, end) for start, end in groups]  # byte-level tokens begin with a space
        counts = (*first.tolist(), len(starts))
        return cls(len(text), [start for start, _ in placed], [end for _, end in placed], counts)

    def length(self, start: int, end: int) -> int:
        """See `Ruler`."""
        return max(self.counts[bisect_left(self.starts, end)] - self.counts[bisect_right(self.ends, start)], 0)

    def end_of(self, start: int, size: int) -> int:
        """See `Ruler`."""
        first = bisect_right(self.ends, start)
        after = max(bisect_right(self.counts, self.counts[first] + size) - 1, first + 1)
        return self.starts[after] if after < len(self.starts) else self.total

    def start_of(self, end: int, size: int) -> int:
        """See `Ruler`."""
        after = bisect_left(self.starts, end)
        first = bisect_left(self.counts, self.counts[after] - size)
        return self.starts[first] if first < after else end


@dataclass(frozen=True)
class Limited:
    """Measures by a ruler, with a second one as a limit: what exceeds `most` by that one is longer than any size.

    Attributes:
        ruler: Measures the text.
        limit: The other one.
        most: The limit, in its unit.
    """

    ruler: Ruler
    limit: Ruler
    most: int

    def length(self, start: int, end: int) -> int:
        """See `Ruler`."""
        return self.ruler.length(start, end) if self.limit.length(start, end) <= self.most else sys.maxsize

    def end_of(self, start: int, size: int) -> int:
        """See `Ruler`."""
        return min(self.ruler.end_of(start, size), self.limit.end_of(start, self.most))

    def start_of(self, end: int, size: int) -> int:
        """See `Ruler`."""
        return max(self.ruler.start_of(end, size), self.limit.start_of(end, self.most))


def _without_space(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end - 1 and text[start].isspace():
        start += 1
    while start < end - 1 and text[end - 1].isspace():
        end -= 1
    return start, end
