"""Exact search for the largest inner products. A score depends only on its two vectors.

Single precision finds the candidates: BLAS multiplies blocks of the corpus with the queries, and a product is kept
only if it can still be among the best `depth`. Double precision then scores those candidates, always in the same order
of summation. So the block size, the BLAS library and the number of threads do not change a ranking.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache, cached_property, partial

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

from ragsweep.core.arrays import NOTHING, Indices, Scores
from ragsweep.core.hardware import cores
from ragsweep.core.progress import advance
from ragsweep.models.encoders.encoder import Embeddings
from ragsweep.retrieval.ranking import Ranking, ranked

QUERIES_AT_ONCE = 256  # searched at once
SCORED_AT_ONCE = 2048  # passages multiplied at once: they and their products stay in the cache of a core
CROWD = 4  # times the depth: if a query has more candidates left than that, most of them are copies of one passage

Products = npt.NDArray[np.float32]
Candidates = tuple[Indices, Products]  # passages of every query and their products, both [queries, most of a query]
Hits = tuple[Indices, Indices, Products]  # queries, passages of theirs and the products, all [hits]


@dataclass(frozen=True)
class ExactSearch:
    """Ranks the passages with the largest inner products.

    Attributes:
        passages: Embeddings of any length, shape [passages, dimensions]; may be mapped from a file.
        block: Passages that are multiplied at once.
        threads: Number of threads; each searches its share of the corpus.
    """

    passages: Embeddings
    block: int = SCORED_AT_ONCE
    threads: int = field(default_factory=cores)

    def __call__(self, queries: Embeddings, depth: int) -> Ranking:
        """Rank the passages for every query, at most `depth` of them; `queries` is [queries, dimensions]."""
        depth = min(depth, len(self.passages))
        with _blas().limit(limits=1, user_api="blas"), ThreadPoolExecutor(self.threads) as pool:
            batches = [
                self._batch(pool, queries[first : first + QUERIES_AT_ONCE], depth)
                for first in range(0, len(queries), QUERIES_AT_ONCE)
            ]
        return Ranking(np.vstack([batch.passages for batch in batches]), np.vstack([batch.scores for batch in batches]))

    def _batch(self, pool: ThreadPoolExecutor, queries: Embeddings, depth: int) -> Ranking:
        # A sum of n products in single precision, whatever its order, errs by at most (1 + o(1)) n u |q| |p|, where
        # u = eps / 2 (Higham 2002, Accuracy and Stability of Numerical Algorithms, 3.1). Twice that also covers the
        # other roundings here. One of the best passages has at least the depth-th largest product minus two errors.
        error = np.finfo(np.float32).eps * queries.shape[1] * self._longest * np.linalg.norm(queries, axis=1)
        search = _Search(queries, self.passages, depth, 2 * error[:, np.newaxis], self.block)
        share = max(self.block, -(-len(self.passages) // self.threads))
        parts = list(pool.map(partial(search.part, share), range(0, len(self.passages), share)))
        candidates, _ = search.best(np.hstack([part[0] for part in parts]), np.hstack([part[1] for part in parts]))
        rows = np.array_split(np.arange(len(queries)), self.threads)
        scores = pool.map(lambda part: canonical_scores(queries[part], self.passages, candidates[part]), rows)
        ranking = ranked(candidates, np.vstack(list(scores)), depth)
        advance(len(queries))
        return ranking

    @cached_property
    def _longest(self) -> float:
        return longest_of(self.passages)


def longest_of(embeddings: Embeddings) -> float:
    """The largest length of an embedding, a block at a time."""
    starts = range(0, len(embeddings), SCORED_AT_ONCE)
    return max(float(np.linalg.norm(embeddings[at : at + SCORED_AT_ONCE], axis=1).max()) for at in starts)


def canonical_scores(queries: Embeddings, passages: Embeddings, candidates: Indices) -> Scores:
    """Inner products in double precision. Each depends only on its two vectors.

    Products of single-precision numbers are exact in double precision; numpy adds up each row in the same order.

    Args:
        queries: Shape [queries, dimensions].
        passages: Shape [passages, dimensions].
        candidates: Positions in `passages`, shape [queries, candidates]; `NOTHING` where there is none.

    Returns:
        Shape [queries, candidates]; -inf where there is no passage.
    """
    scores = np.full(candidates.shape, -np.inf)
    for query, row, out in zip(queries, candidates, scores, strict=True):  # all at once would need too much memory
        is_passage = row != NOTHING
        out[is_passage] = (passages[row[is_passage]].astype(np.float64) * query).sum(axis=1)
    return scores


@dataclass(frozen=True)
class _Search:
    """The search for one batch of queries.

    Attributes:
        slack: How far the product of one of the best may be below the depth-th largest product, shape [queries, 1].
    """

    queries: Embeddings
    passages: Embeddings
    depth: int
    slack: Scores
    block: int

    def part(self, share: int, start: int) -> Candidates:
        """The candidates among `share` passages from `start` on."""
        candidates, products = np.empty((len(self.queries), 0), np.int64), np.empty((len(self.queries), 0), np.float32)
        floor: Scores | Products = np.full((len(self.queries), 1), -np.inf)
        hits: list[Hits] = []
        stop = min(start + share, len(self.passages))
        for first in range(start, stop, self.block):
            last = min(first + self.block, stop)
            block = self.queries @ self.passages[first:last].T
            query, column = np.divmod(np.flatnonzero(block >= floor.astype(np.float32)), last - first)
            hits.append((query, first + column, block[query, column]))
            if last == stop or sum(len(query) for query, _, _ in hits) > self.depth * len(self.queries):
                more = self._by_query(hits)
                candidates, products = self.best(np.hstack([candidates, more[0]]), np.hstack([products, more[1]]))
                floor, hits = self._floor(products), []
        return candidates, products

    def best(self, candidates: Indices, products: Products) -> Candidates:
        """The candidates that can be among the best `depth`, largest product first."""
        order = np.argsort(-products, axis=1)
        candidates = np.take_along_axis(candidates, order, axis=1)
        products = np.take_along_axis(products, order, axis=1)
        candidates = np.where(products >= self._floor(products), candidates, NOTHING)
        width = int((candidates != NOTHING).sum(axis=1).max())
        candidates, products = candidates[:, :width], products[:, :width]
        if width > CROWD * self.depth:
            ranking = ranked(candidates, canonical_scores(self.queries, self.passages, candidates), self.depth)
            candidates, products = ranking.passages, ranking.scores.astype(np.float32)
        return candidates, products

    def _floor(self, products: Products) -> Scores:
        """The lowest product that can be among the best; `products` are in descending order."""
        if products.shape[1] < self.depth:
            return np.full_like(self.slack, -np.inf)
        floor: Scores = products[:, [self.depth - 1]] - self.slack
        return floor

    def _by_query(self, hits: list[Hits]) -> Candidates:
        query, passage, product = (np.concatenate(part) for part in zip(*hits, strict=True))
        order = np.argsort(query, kind="stable")
        counts = np.bincount(query, minlength=len(self.queries))
        row, column = query[order], np.arange(len(query)) - np.repeat(np.cumsum(counts) - counts, counts)
        candidates = np.full((len(counts), counts.max()), NOTHING, np.int64)
        products = np.full(candidates.shape, -np.inf, np.float32)
        candidates[row, column], products[row, column] = passage[order], product[order]
        return candidates, products


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()
