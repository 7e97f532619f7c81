"""The terms of a corpus with their weights in each passage, and the search for the best passages.

A term weighs as rank_bm25 has it, or as Lucene has it (Kamphuis et al., ECIR 2020). `df` is the number of passages with
a term, `tf` how often a passage has the term.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import log
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from rank_bm25 import BM25Okapi

from ragsweep.core.arrays import NOTHING, Indices, Scores
from ragsweep.core.progress import advance
from ragsweep.retrieval.ranking import Ranking
from ragsweep.retrieval.term_counts import TermCounts
from ragsweep.text.normalisation import without_variants

if TYPE_CHECKING:
    from scipy import sparse

SCORES_AT_ONCE = 1 << 17  # 1 MiB: what the cache of a core holds
POSTINGS_AT_ONCE = 1 << 20
NOT_RETRIEVED = -np.inf
Saturation = Callable[[npt.NDArray[np.int32], npt.NDArray[np.int64]], Scores]


@dataclass(frozen=True)
class Weighting:
    """What decides the weight of a term in a passage: `idf * saturation`.

    Attributes:
        idf: How telling each term is, shape [terms].
        saturation: What frequency and length of passage make of it, for arrays of postings.
    """

    idf: Scores
    saturation: Saturation


class _Counted(BM25Okapi):  # type: ignore[misc]  # comes without types
    """The library's class, which is told the counts instead of counting."""

    def __init__(self, containing: list[int], passages: int, epsilon: float) -> None:
        self.idf: dict[int, float] = {}
        self.epsilon, self.corpus_size = epsilon, passages
        self._calc_idf(dict(enumerate(containing)))


def rank_bm25_weighting(counts: TermCounts, k1: float, b: float, epsilon: float) -> Weighting:
    """`rank_bm25.BM25Okapi`: a term in more than half of the passages gets `epsilon` of the mean IDF."""
    idf = _Counted(np.diff(counts.start).tolist(), len(counts.length), epsilon).idf
    mean_length = counts.length.mean()

    def saturation(tf: npt.NDArray[np.int32], length: npt.NDArray[np.int64]) -> Scores:
        scores: Scores = tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean_length))
        return scores

    return Weighting(np.fromiter(idf.values(), np.float64), saturation)


def lucene_weighting(counts: TermCounts, k1: float, b: float) -> Weighting:
    """The variant `lucene` of bm25s."""
    containing, term = np.unique(np.diff(counts.start), return_inverse=True)
    passages, mean_length = len(counts.length), counts.length.mean()
    idf = np.array([log(1 + (passages - df + 0.5) / (df + 0.5)) for df in containing.tolist()])

    def saturation(tf: npt.NDArray[np.int32], length: npt.NDArray[np.int64]) -> Scores:
        scores: Scores = tf / (k1 * (1 - b + b * length / mean_length) + tf)
        return scores

    return Weighting(idf[term], saturation)


@dataclass(frozen=True)
class Bm25Index:
    """The corpus as a matrix, so that scoring is a product.

    Attributes:
        weights: What each term adds to each passage's score, shape [terms, passages].
        common: Dense rows of `weights`, of the terms that over a quarter of the passages have, shape [., passages].
        common_row: Row in `common` of each term, -1 where it is not common, shape [terms].
        vocabulary: Row of each term.
        variants: Row of each term that has ligatures or other variants of letters, by the same term without them, if
            that is no term itself.
        tokens: Takes a text apart into terms.
    """

    weights: sparse.csr_array
    common: Scores
    common_row: Indices
    vocabulary: Mapping[str, int]
    variants: Mapping[str, int]
    tokens: Callable[[str], list[str]]

    @classmethod
    def of(cls, counts: TermCounts, weighting: Weighting, tokens: Callable[[str], list[str]]) -> Bm25Index:
        """Weigh every term of every passage."""
        from scipy import sparse

        containing = np.diff(counts.start)
        weight = np.repeat(weighting.idf, containing)
        for first in range(0, len(weight), POSTINGS_AT_ONCE):
            part = slice(first, first + POSTINGS_AT_ONCE)
            saturation = weighting.saturation(counts.frequency[part], counts.length[counts.passage[part]])
            weight[part] *= saturation
        weights = sparse.csr_array((weight, counts.passage, counts.start), shape=(len(containing), len(counts.length)))
        # A dense row is added many times faster than a list of postings, and takes up to 8 / 3 of its room.
        common = containing > len(counts.length) / 4
        terms = counts.vocabulary.tobytes().decode().split("\n")
        vocabulary = {term: row for row, term in enumerate(terms)}
        plain = {without_variants(term): row for term, row in vocabulary.items() if not term.isascii()}
        return cls(
            weights,
            weights[common].toarray(),
            np.where(common, np.cumsum(common) - 1, -1),
            vocabulary,
            {term: row for term, row in plain.items() if term not in vocabulary},
            tokens,
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the matrices and of the vocabulary."""
        matrix = (self.weights.data, self.weights.indices, self.weights.indptr)
        arrays = (*matrix, self.common, self.common_row)
        return sum(array.nbytes for array in arrays) + sum(len(term.encode()) for term in self.vocabulary)

    def row_of(self, term: str) -> int:
        """The row of a term, or else of the same one but for variants of its letters; `NOTHING` if there is none."""
        row = self.vocabulary.get(term)
        if row is None and (self.variants or not term.isascii()):
            plain = without_variants(term)
            row = self.vocabulary.get(plain, self.variants.get(plain))
        return NOTHING if row is None else row

    def search(self, queries: Sequence[str], depth: int, at_once: int = SCORES_AT_ONCE) -> Ranking:
        """The best `depth` passages of each query; one whose score is 0 is not retrieved, and the others score 0.

        Args:
            queries: Texts.
            depth: Ranks to keep.
            at_once: How many scores are in memory at a time; at least those of one query.
        """
        passages = self.weights.shape[1]
        step, shape = max(1, at_once // passages), (len(queries), min(depth, passages))
        ranked, kept = np.full(shape, NOTHING), np.full(shape, NOT_RETRIEVED)
        for first in range(0, len(queries), step):
            best = _best(self.scores(queries[first : first + step]), depth)
            rows, columns = best.passages.shape
            ranked[first : first + rows, :columns] = best.passages
            kept[first : first + rows, :columns] = best.scores
            advance(rows)
        return Ranking(ranked, kept, floor=np.zeros(len(queries)))

    def _terms(self, queries: Sequence[str]) -> tuple[Indices, Indices]:
        """The terms of all queries that the corpus has: query and row of each."""
        terms = [*map(self.tokens, queries)]
        query = np.repeat(np.arange(len(terms)), [len(row) for row in terms])
        term = np.fromiter(map(self.row_of, chain.from_iterable(terms)), np.int64, len(query))
        is_known = term != NOTHING
        return query[is_known], term[is_known]

    def scores(self, queries: Sequence[str]) -> Scores:
        """BM25 of every query and passage; 0 where no term that they share has a weight. Shape [queries, passages]."""
        from scipy import sparse

        query, term = self._terms(queries)
        row = self.common_row[term]
        common, rare = row >= 0, row < 0

        # In both matrices a row may hold a column several times: scipy adds such entries up.
        starts = np.arange(len(queries) + 1)
        times = (np.ones(common.sum()), row[common], np.searchsorted(query[common], starts))
        scores: Scores = sparse.csr_array(times, shape=(len(queries), len(self.common))) @ self.common
        rows = self.weights[term[rare]]
        postings = (rows.data, rows.indices, rows.indptr[np.searchsorted(query[rare], starts)])
        scores += sparse.csr_array(postings, shape=scores.shape).toarray()
        return scores


def _best(scores: Scores, depth: int) -> Ranking:
    candidates = np.flatnonzero(scores >= _reached(scores, depth)[:, None])
    values = scores.ravel()[candidates]
    candidates, values = candidates[values != 0], values[values != 0]
    query, passage = np.divmod(candidates, scores.shape[1])
    count = np.bincount(query, minlength=len(scores))
    rank = np.arange(len(query)) - np.repeat(np.cumsum(count) - count, count)
    passages = np.full((len(scores), count.max()), NOTHING)
    padded = np.full(passages.shape, NOT_RETRIEVED)
    passages[query, rank], padded[query, rank] = passage, values
    best = np.argsort(-padded, axis=1, kind="stable")[:, :depth]  # they stand in corpus order
    return Ranking(np.take_along_axis(passages, best, axis=1), np.take_along_axis(padded, best, axis=1))


def _reached(scores: Scores, depth: int) -> Scores:
    """A score above 0 that `depth` passages reach, and few more do; -inf where there may be none. Shape [queries].

    The maxima of a few hundred groups of passages are found and partitioned far sooner than all scores are.
    """
    passages = scores.shape[1]
    if passages <= depth:
        return np.full(len(scores), NOT_RETRIEVED)
    size = max(1, passages // (4 * depth))
    groups = passages // size
    best = scores[:, : size * groups].reshape(len(scores), size, groups).max(axis=1)
    reached = np.partition(best, groups - depth, axis=1)[:, groups - depth]
    return np.where(reached > 0, reached, NOT_RETRIEVED)
