"""Reranking by another encoder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.core.errors import EncoderError
from ragsweep.core.limits import Between
from ragsweep.core.timing import timed
from ragsweep.models.encoders.embeddings import embed, encoding_ms
from ragsweep.models.encoders.encoder import Embeddings, Encoder
from ragsweep.retrieval.indexes.exact import canonical_scores
from ragsweep.retrieval.kinds import Reranker
from ragsweep.retrieval.ranking import Ranking, Search, ranked
from ragsweep.retrieval.ranking_checks import check_encoder
from ragsweep.store.code import kind_of
from ragsweep.store.stage_store import Store


@dataclass(frozen=True)
class EncoderReranker(Reranker):
    """Orders passages by the similarity of their embedding and the query's: dense retrieval among the candidates.

    Passages are embedded ahead, as for a dense retriever; a query costs its own embedding and the similarities.

    Attributes:
        encoder: Gives the embeddings; another one than the retriever's, or the order is the retriever's own.
        store: Keeps embeddings and rankings.
        candidates: How many passages of the first ranking are reranked; None reranks all.
    """

    at_least: ClassVar[Mapping[str, str]] = {"candidates": "k"}

    encoder: Encoder
    store: Store
    candidates: Annotated[int, Between(1)] | None = 100

    def __post_init__(self) -> None:
        check_encoder(self.encoder)

    @property
    def formula(self) -> str:
        """How the score is made."""
        similarity = "inner product" if self.encoder.similarity == "dot" else "cosine"
        return f"{similarity} of the query's and the passage's embeddings by the reranker's encoder"

    def rerank(self, search: Search, ranking: Ranking, depth: int) -> Ranking:
        """The passages of a ranking by similarity, at most `depth` of them."""
        queries, passages, rows = embed_candidates(self.encoder, self.store, search, ranking)
        scores = canonical_scores(queries, passages, rows)
        comparing_ms = timed(lambda row: canonical_scores(queries[[row]], passages, rows[[row]]), len(queries))
        latency_ms = encoding_ms(self.encoder, self.store, search.queries) + comparing_ms
        return ranked(ranking.passages, scores, depth, latency_ms)


class Candidates(NamedTuple):
    """Queries and the passages that are reranked for them, embedded.

    Attributes:
        queries: Shape [queries, dimensions].
        passages: Of every different candidate, shape [different, dimensions].
        rows: Where `passages` has each candidate, shape [queries, candidates]; `NOTHING` where there is none.
    """

    queries: Embeddings
    passages: Embeddings
    rows: Indices


def embed_candidates(encoder: Encoder, store: Store, search: Search, ranking: Ranking) -> Candidates:
    """Embed the queries and their candidates, but no other passage of the corpus.

    What the store has, for example of a corpus that a dense retriever has embedded whole, is taken from there.
    """
    queries = embed(encoder, store, search.queries, "query")
    different = np.unique(ranking.passages[ranking.passages != NOTHING])
    rows = np.where(ranking.passages == NOTHING, NOTHING, np.searchsorted(different, ranking.passages))
    if not len(different):
        return Candidates(queries, queries[:0], rows)
    texts = [search.passages[passage] for passage in different.tolist()]
    passages = embed(encoder, store, texts, "passage", corpus=False)
    if queries.shape[1] != passages.shape[1]:
        differ = f"queries in {queries.shape[1]} dimensions and passages in {passages.shape[1]}"
        raise EncoderError(f"{kind_of(encoder)}: embeds {differ}, expected the same")
    return Candidates(queries, passages, rows)
