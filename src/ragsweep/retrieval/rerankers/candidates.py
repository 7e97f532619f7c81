"""The embeddings of the passages that are reranked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.core.errors import EncoderError
from ragsweep.models.encoders.embeddings import embed
from ragsweep.models.encoders.encoder import Embeddings, Encoder
from ragsweep.retrieval.ranking import Ranking, Search
from ragsweep.store.code import kind_of
from ragsweep.store.stage_store import Store


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
    texts = [search.passages[each] for each in different.tolist()]
    passages = embed(encoder, store, texts, "passage", corpus=False)
    if queries.shape[1] != passages.shape[1]:
        differ = f"queries in {queries.shape[1]} dimensions and passages in {passages.shape[1]}"
        raise EncoderError(f"{kind_of(encoder)}: embeds {differ}, expected the same")
    return Candidates(queries, passages, rows)
