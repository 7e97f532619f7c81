"""Dense retrieval: the largest inner products of embeddings, found exactly or by an approximate index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import Indices, Scores
from ragsweep.core.digest import digest_texts
from ragsweep.core.errors import EncoderError, RetrieverError
from ragsweep.core.progress import progress
from ragsweep.core.timing import timed
from ragsweep.models.encoders.embeddings import embed, encoding_ms
from ragsweep.models.encoders.encoder import Encoder
from ragsweep.retrieval.indexes.exact import ExactSearch
from ragsweep.retrieval.indexes.index import ExactIndex, Index
from ragsweep.retrieval.kinds import Method, Thresholded
from ragsweep.retrieval.ranking import Ranking, Search, in_stage, searching
from ragsweep.retrieval.ranking_checks import check_encoder, checked_ranking
from ragsweep.store.code import kind_of
from ragsweep.store.component import expect_kind
from ragsweep.store.identity import identity
from ragsweep.store.stage_store import Arrays, Store


@dataclass(frozen=True)
class DenseRetriever(Thresholded):
    """Ranks passages by the cosine of their embedding and the query's, or by the inner product if the encoder says so.

    Attributes:
        encoder: Gives the embeddings.
        store: Keeps embeddings, indexes and rankings.
        index: Finds the passages.
    """

    role: ClassVar[str] = "dense"

    encoder: Encoder
    store: Store
    index: Index = field(default_factory=ExactIndex)

    def __post_init__(self) -> None:
        check_encoder(self.encoder)
        expect_kind(self.index, Index, "index")

    @property
    def chooses_by_depth(self) -> bool:
        """Whether codes choose what embeddings order."""
        return self.index.chooses_by_depth

    @property
    def method(self) -> Method:
        """For reports."""
        return Method("", f"pure {self.role} retrieval", stands_for={"alpha": 1}, vary="sweep the encoder instead")

    def check(self, search: Search) -> None:
        """Let an index say what is wrong with it before anything is recorded."""
        self.index.check()

    def rank(self, search: Search, depth: int) -> Ranking:
        """Rank the passages for every query, at most `depth` of them."""
        queries = embed(self.encoder, self.store, search.queries, "query")
        passages = embed(self.encoder, self.store, search.passages, "passage")
        if queries.shape[1] != passages.shape[1]:
            differ = f"queries in {queries.shape[1]} dimensions and passages in {passages.shape[1]}"
            raise EncoderError(f"{kind_of(self.encoder)}: embeds {differ}, expected the same")
        texts = [identity(self.encoder.for_role("passage")), digest_texts(search.passages)]
        index: dict[str, npt.NDArray[Any]] = {}

        def keep(settings: Sequence[Any], build: Callable[[], Arrays]) -> Arrays:
            index.update(self.store.get("index", [*texts, *settings], build))
            return index

        find = self.index.open(passages, keep)
        if not callable(find):
            expected = "expected a function of queries and depth"
            raise RetrieverError(f"index: {kind_of(self.index)} opened {type(find).__name__}, {expected}")
        with progress(searching(passages, queries), len(queries)):
            ranking = checked_ranking(find(queries, depth), search, depth, kind_of(self.index))
        searching_ms = timed(lambda row: find(queries[[row]], depth), len(queries))
        encoding = in_stage("encode", encoding_ms(self.encoder, self.store, search.queries))
        ranking = ranking.costing(encoding, in_stage("search", searching_ms))
        if not len(ranking.index_bytes):
            size = passages.nbytes + sum(array.nbytes for array in index.values())
            ranking = replace(ranking, index_bytes=np.array([size]))
        if isinstance(self.index, ExactIndex):
            return ranking

        def exactly() -> Arrays:
            with progress(searching(passages, queries), len(queries)):
                return {"passages": ExactSearch(passages)(queries, depth).passages}

        exact = self.store.get("exact", [*texts, identity(self.encoder), search.digest, depth], exactly)
        return replace(ranking, recall_of_exact=_recall(exact["passages"], ranking.passages, len(passages)))


def _recall(exact: Indices, ranked: Indices, passages: int) -> Scores:
    """The share of the exact ranking that was found, per query."""
    query = np.arange(len(exact))[:, np.newaxis] * (passages + 1)  # tells the queries' passages apart
    recall: Scores = np.isin(exact + query, ranked + query).mean(axis=1)
    return recall
