"""Words of texts, for references that are found by their words because their offsets are not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import Indices
from ragsweep.datasets.model.overlaps import ranges
from ragsweep.text.tokens import plain_words

Shares = npt.NDArray[np.float64]

LEAST_HELD = 0.8  # share of a reference's words that a passage needs to hold it


@dataclass(frozen=True, eq=False)
class Words:
    """The words of several texts as numbers; equal words have equal numbers.

    Attributes:
        words: The words of all texts, one text after the other, shape [words].
        ends: Position after the last word of each text, shape [texts].
    """

    words: Indices
    ends: Indices

    @cached_property
    def counts(self) -> Indices:
        """Number of words of each text, shape [texts]."""
        return np.diff(self.ends, prepend=0)

    def of(self, texts: Indices) -> tuple[Indices, Indices]:
        """The words of some texts, one text after the other.

        Args:
            texts: Positions of the texts, shape [some]; one may occur several times.

        Returns:
            Position in `texts`, and the word, each of shape [words of these texts].
        """
        row, place = ranges(self.ends[texts] - self.counts[texts], self.ends[texts])
        return row, self.words[place]


def number_words(*groups: Sequence[str]) -> list[Words]:
    """The words of the texts of each group, as numbers that are the same in all groups."""
    numbers: dict[str, int] = {}
    numbers_of = [
        [[numbers.setdefault(word, len(numbers)) for word in plain_words(text)] for text in group] for group in groups
    ]
    return [
        Words(
            np.array([word for words in texts for word in words], dtype=np.int64),
            np.cumsum([len(words) for words in texts], dtype=np.int64),
        )
        for texts in numbers_of
    ]


def shares_of_words(passages: Words, references: Words, passage: Indices, reference: Indices) -> Shares:
    """The share of the words of a reference that occur in a passage, whatever their order.

    Args:
        passages: Words of the passages.
        references: Words of the references, numbered together with those of the passages.
        passage: Position of the passage of each pair, shape [pairs].
        reference: Position of the reference of each pair, shape [pairs].

    Returns:
        Values in [0, 1], shape [pairs]; 0 for a reference without words.
    """
    width = max(passages.words.max(initial=0), references.words.max(initial=0)) + 1
    used, place = np.unique(passage, return_inverse=True)
    row, word = passages.of(used)
    pairs_held = np.unique(row * width + word)
    pair, word = references.of(reference)
    wanted = place[pair] * width + word
    position = np.searchsorted(pairs_held, wanted).clip(max=max(0, len(pairs_held) - 1))
    is_held = pairs_held[position] == wanted if len(pairs_held) else np.zeros(len(wanted), dtype=bool)
    hits = np.bincount(pair, weights=is_held, minlength=len(reference))
    shares: Shares = hits / np.maximum(references.counts[reference], 1)
    return shares
