"""Maximal marginal relevance: passages that are relevant, and unlike those before them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import NOTHING, Indices, Scores
from ragsweep.core.limits import Between
from ragsweep.core.timing import timed
from ragsweep.models.encoders.embeddings import encoding_ms
from ragsweep.models.encoders.encoder import Embeddings, Encoder
from ragsweep.retrieval.indexes.exact import canonical_scores
from ragsweep.retrieval.kinds import Reranker
from ragsweep.retrieval.normalising import minmax
from ragsweep.retrieval.ranking import Ranking, Search, TextsRead
from ragsweep.retrieval.ranking_checks import check_encoder
from ragsweep.retrieval.rerankers.encoder_reranker import embed_candidates
from ragsweep.store.stage_store import Store

LOWEST = -1.0  # of a cosine: the redundancy of the first passage


@dataclass(frozen=True)
class MmrReranker(Reranker):
    """Chooses one passage after the other by maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998).

    Each is the one with the largest `lambda * similarity to the query - (1 - lambda) * largest cosine to a passage that
    was chosen before`. This value is its score. The first has no passage before it and counts as unlike all, with a
    cosine of -1, so that scores descend.

    Attributes:
        encoder: Gives the embeddings for the cosines.
        store: Keeps embeddings and rankings.
        relevance: The paper's lambda: 1 orders by similarity to the query alone, 0 by being unlike the passages before.
        similarity: To the query: the scores that the `ranking` has, mapped to [0, 1], which keeps what BM25 or a fusion
            found; or the `cosine` of the embeddings, as most libraries have it, which forgets the first ranking.
        candidates: How many passages of the first ranking are chosen from; None takes all.
    """

    at_least: ClassVar[Mapping[str, str]] = {"candidates": "k"}

    encoder: Encoder
    store: Store
    relevance: Annotated[float, Between(0, 1)] = 0.5
    similarity: Literal["ranking", "cosine"] = "ranking"
    candidates: Annotated[int, Between(1)] | None = 100

    def __post_init__(self) -> None:
        check_encoder(self.encoder)

    @property
    def formula(self) -> str:
        """How the score is made."""
        similarity = "cosine to the query" if self.similarity == "cosine" else "min-max of the ranking's score"
        weights = f"{self.relevance:g} * {similarity} - {1 - self.relevance:g} *"
        return f"{weights} largest cosine to a passage before it (maximal marginal relevance)"

    def texts_of_parts(self, texts: TextsRead) -> Iterator[tuple[object, TextsRead]]:
        """The encoder gets the passages, and the queries only for their cosine."""
        yield self.encoder, texts if self.similarity == "cosine" else texts._replace(queries=texts.queries[:0])

    def rerank(self, search: Search, ranking: Ranking, depth: int) -> Ranking:
        """The passages of a ranking in the order in which they are chosen, at most `depth` of them."""
        queries, embeddings, rows = embed_candidates(self.encoder, self.store, search, ranking)
        queries, embeddings = self.encoder.of_length_1(queries), self.encoder.of_length_1(embeddings)
        in_corpus_order = np.argsort(ranking.passages, axis=1, kind="stable")  # of equal ones the first is chosen
        rows = np.take_along_axis(rows, in_corpus_order, axis=1)
        passages = np.take_along_axis(ranking.passages, in_corpus_order, axis=1)
        of_ranking = np.take_along_axis(minmax(ranking), in_corpus_order, axis=1)

        def chosen(query: int) -> tuple[Indices, Scores]:
            candidates = np.flatnonzero(rows[query] != NOTHING)
            theirs = rows[[query]][:, candidates]
            similarity = of_ranking[query, candidates]
            if self.similarity == "cosine":
                [similarity] = canonical_scores(queries[[query]], embeddings, theirs)
            order, scores = mmr(similarity, embeddings[theirs[0]], self.relevance, depth)
            return candidates[order], scores

        width = min(depth, ranking.passages.shape[1])
        reranked = Ranking(np.full((len(queries), width), NOTHING), np.full((len(queries), width), -np.inf))
        for query in range(len(queries)):
            order, scores = chosen(query)
            reranked.passages[query, : len(order)] = passages[query, order]
            reranked.scores[query, : len(order)] = scores
        choosing_ms = timed(chosen, len(queries))
        latency_ms = encoding_ms(self.encoder, self.store, search.queries) + choosing_ms
        return replace(reranked, latency_ms=latency_ms)


def mmr(similarity: Scores, embeddings: Embeddings, relevance: float, depth: int) -> tuple[Indices, Scores]:
    """Choose passages by maximal marginal relevance; of equal ones the first.

    Args:
        similarity: To the query, shape [passages].
        embeddings: Of length 1, shape [passages, dimensions].
        relevance: The weight of the similarity; the rest is that of the redundancy.
        depth: How many are chosen at most.

    Returns:
        The passages in the order in which they are chosen, and the value that each had when it was chosen, which
        descends: the redundancy of those that are left can only grow.
    """
    vectors: npt.NDArray[np.float64] = embeddings.astype(np.float64)
    redundancy = np.full(len(vectors), LOWEST)
    left = np.ones(len(vectors), dtype=bool)
    order, scores = [], []
    for _ in range(min(depth, len(vectors))):
        values = np.where(left, relevance * similarity - (1 - relevance) * redundancy, -np.inf)
        best = int(values.argmax())
        order.append(best)
        scores.append(values[best])
        left[best] = False
        redundancy = np.maximum(redundancy, (vectors * vectors[best]).sum(axis=1))  # BLAS would round by shape
    return np.array(order, dtype=np.int64), np.array(scores, dtype=np.float64)
