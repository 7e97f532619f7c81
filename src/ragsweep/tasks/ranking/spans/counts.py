"""Counts the tokens, characters or words, that retrieved passages share with the references of their query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import Indices
from ragsweep.datasets.model.overlaps import ranges
from ragsweep.datasets.model.word_positions import Words
from ragsweep.statistics.intervals import Array


class Counts(NamedTuple):
    """Tokens of the first passages of each query; column k of an array is for the first k passages.

    Attributes:
        shared: Tokens of the references that are in the passages, each once, shape [queries, cutoffs + 1].
        shared_repeated: The same, but a token that several references share counts for each of them.
        retrieved: Tokens of the passages, those that several passages share once, shape [queries, cutoffs + 1].
        retrieved_repeated: The same, but every passage counts in full.
        referenced: Tokens of the references, each once, shape [queries, 1].
        referenced_repeated: The same, but every reference counts in full.
    """

    shared: Array
    shared_repeated: Array
    retrieved: Array
    retrieved_repeated: Array
    referenced: Array
    referenced_repeated: Array


@dataclass(frozen=True, eq=False)
class Placed:
    """Passages at ranks of queries, in ascending order of queries and ranks.

    Attributes:
        row: The query of each, shape [placed].
        rank: Its rank, from 0, shape [placed].
        passage: Its position in the corpus, shape [placed].
        queries: Number of queries.
        depth: Number of ranks.
    """

    row: Indices
    rank: Indices
    passage: Indices
    queries: int
    depth: int

    def add_up(self, rows: Indices, ranks: Indices, values: npt.NDArray[np.generic]) -> Array:
        """Add up values, each at the rank of a query, over the first 0, 1, ... ranks, shape [queries, depth + 1]."""
        places = rows * (self.depth + 1) + ranks + 1
        sums = np.bincount(places, weights=values, minlength=self.queries * (self.depth + 1))
        return sums.reshape(self.queries, self.depth + 1).cumsum(axis=1)

    def add_up_all(self, rows: Indices, values: npt.NDArray[np.generic]) -> Array:
        """Add up values, each of a query, shape [queries, 1]."""
        total: Array = np.bincount(rows, weights=values, minlength=self.queries).astype(np.float64)
        return total[:, None]


def count_characters(placed: Placed, spans: Indices, rows: Indices, references: Indices) -> Counts:
    """Count characters by their offsets.

    The ends of the passages and references of a query cut the text into pieces. A piece is counted at the first rank
    whose passage has it.

    Args:
        placed: The retrieved passages.
        spans: Start and end of every passage of the corpus on one line, shape [passages, 2].
        rows: The query of each reference, shape [references].
        references: Start and end of each reference on the same line, shape [references, 2].
    """
    length = max(spans.max(initial=0), references.max(initial=0)) + 1
    retrieved, wanted = spans[placed.passage] + placed.row[:, None] * length, references + rows[:, None] * length
    edges = np.unique(np.concatenate([retrieved.ravel(), wanted.ravel()]))
    row, sizes = edges // length, np.diff(edges, append=edges[-1:])
    placement, piece = ranges(*np.searchsorted(edges, retrieved).T)
    first = np.full(len(edges), placed.depth)
    np.minimum.at(first, piece, placed.rank[placement])
    times = np.bincount(ranges(*np.searchsorted(edges, wanted).T)[1], minlength=len(edges))
    is_retrieved = first < placed.depth
    at = row[is_retrieved], first[is_retrieved]
    return Counts(
        shared=placed.add_up(*at, (sizes * (times > 0))[is_retrieved]),
        shared_repeated=placed.add_up(*at, (sizes * times)[is_retrieved]),
        retrieved=placed.add_up(*at, sizes[is_retrieved]),
        retrieved_repeated=placed.add_up(placed.row, placed.rank, np.diff(retrieved)[:, 0]),
        referenced=placed.add_up_all(row, sizes * (times > 0)),
        referenced_repeated=placed.add_up_all(row, sizes * times),
    )


def count_words(placed: Placed, passages: Words, rows: Indices, references: Words) -> Counts:
    """Count words as multisets: n occurrences of a word in the passages are matched with n occurrences in references.

    All references of a query are one multiset, so that it does not matter how many references have a word. Without
    offsets, it is not known which words are the same ones: both kinds of counts are equal.

    Args:
        placed: The retrieved passages.
        passages: Words of the passages of the corpus.
        rows: The query of each reference, shape [references].
        references: Words of the references, numbered together with those of the passages.
    """
    width = max(passages.words.max(initial=0), references.words.max(initial=0)) + 1
    of_reference, wanted = references.of(np.arange(len(rows)))
    referenced_keys, occurrences = np.unique(rows[of_reference] * width + wanted, return_counts=True)
    placement, word = passages.of(placed.passage)
    keys = placed.row[placement] * width + word
    place = np.searchsorted(referenced_keys, keys).clip(max=max(0, len(referenced_keys) - 1))
    matching = np.flatnonzero(referenced_keys[place] == keys) if len(referenced_keys) else np.zeros(0, dtype=np.int64)
    order = matching[np.argsort(keys[matching], kind="stable")]  # equal words of a query by their ranks
    begins = np.flatnonzero(np.diff(keys[order], prepend=-1))
    number = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
    matched = placement[order[number < occurrences[place[order]]]]
    shared = placed.add_up(placed.row[matched], placed.rank[matched], np.ones(len(matched)))
    retrieved = placed.add_up(placed.row, placed.rank, passages.counts[placed.passage])
    referenced = placed.add_up_all(rows, references.counts)
    return Counts(shared, shared, retrieved, retrieved, referenced, referenced)
