"""Dense retrieval: the largest inner products of normalised embeddings, found exactly or by an approximate index."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ragsweep.digest import digest_texts, version
from ragsweep.retrieval.embeddings import embed, encoding_ms
from ragsweep.retrieval.encoder import Encoder
from ragsweep.retrieval.exact import ExactSearch
from ragsweep.retrieval.index import ExactIndex, Index
from ragsweep.retrieval.ranking import Indices, Ranking, Scores, Task, kind_of, sample, timed
from ragsweep.store import Store


@dataclass(frozen=True)
class DenseRetriever:
    """Ranks passages by the cosine of their embedding and the query's.

    Attributes:
        encoder: Gives the embeddings.
        store: Keeps embeddings, indexes and rankings.
        index: Finds the passages.
    """

    encoder: Encoder
    store: Store
    index: Index = field(default_factory=ExactIndex)

    def __post_init__(self) -> None:
        _ = self.encoder.fingerprint  # an encoder that is not there is better known now

    def retrieve(self, task: Task, depth: int) -> Ranking:
        """Rank the passages for every query, at most `depth` of them."""
        index = [kind_of(self.index), vars(self.index)]
        if not isinstance(self.index, ExactIndex):
            index.append(version("faiss-cpu"))
        inputs = [kind_of(self), self.encoder.fingerprint, index, task.digest, depth]
        return Ranking(**self.store.get("dense-2", inputs, lambda: vars(self._search(task, depth))))

    def _search(self, task: Task, depth: int) -> Ranking:
        queries = embed(self.encoder, self.store, task.queries, "query")
        passages = embed(self.encoder, self.store, task.passages, "passage")
        texts = [self.encoder.fingerprint, digest_texts(task.passages)]
        search = self.index.open(
            passages, lambda settings, build: self.store.get("index-1", [*texts, *settings], build)
        )
        found = search(queries, depth)
        search_ms = timed(lambda row: search(queries[[row]], depth), sample(len(queries)).tolist())
        latency_ms = encoding_ms(self.encoder, self.store, task.queries) + search_ms
        found = replace(found, latency_ms=latency_ms)
        if isinstance(self.index, ExactIndex):
            return found
        exact = self.store.get(
            "exact-1",
            [*texts, task.digest, depth],
            lambda: {"passages": ExactSearch(passages)(queries, depth).passages},
        )
        return replace(found, recall_of_exact=_recall(exact["passages"], found.passages, len(passages)))


def _recall(exact: Indices, found: Indices, passages: int) -> Scores:
    """The share of the exact ranking that was found, per query."""
    query = np.arange(len(exact))[:, np.newaxis] * (passages + 1)  # tells the queries' passages apart
    recall: Scores = np.isin(exact + query, found + query).mean(axis=1)
    return recall
