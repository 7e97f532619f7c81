"""Dense retrieval: exact search for the largest inner products of normalised embeddings, with FAISS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ragsweep.digest import digest_texts
from ragsweep.retrieval.encoder import Embeddings, Encoder
from ragsweep.retrieval.ranking import Milliseconds, Ranking, Task, kind_of, ranked, sample, timed
from ragsweep.store import Arrays, Store


@dataclass(frozen=True)
class DenseRetriever:
    """Ranks passages by the cosine of their embedding and the query's.

    Attributes:
        encoder: Gives the embeddings.
        store: Keeps embeddings and rankings.
    """

    encoder: Encoder
    store: Store

    def __post_init__(self) -> None:
        _ = self.encoder.fingerprint  # an encoder that is not there is better known now

    def retrieve(self, task: Task, depth: int) -> Ranking:
        """Rank the passages for every query, at most `depth` of them."""
        inputs = [kind_of(self), self.encoder.fingerprint, task.digest, depth]
        return Ranking(**self.store.get("dense-1", inputs, lambda: vars(self._search(task, depth))))

    def _search(self, task: Task, depth: int) -> Ranking:
        import faiss

        queries, encoding_ms = self._encoded_queries(task.queries)
        passages = self._encoded(task.passages)
        index = faiss.IndexFlatIP(passages.shape[1])
        index.add(passages)
        scores, found = _nearest(index, queries, depth)
        search_ms = timed(lambda row: _nearest(index, queries[[row]], depth), sample(len(queries)).tolist())
        return ranked(found, scores, depth, encoding_ms + search_ms)

    def _encoded(self, texts: Sequence[str]) -> Embeddings:
        def build() -> Arrays:
            return {"embeddings": self.encoder.encode(texts, "passage")}

        return self.store.get("embeddings-1", [self.encoder.fingerprint, digest_texts(texts)], build)["embeddings"]

    def _encoded_queries(self, texts: Sequence[str]) -> tuple[Embeddings, Milliseconds]:
        def build() -> Arrays:
            times = timed(lambda row: self.encoder.encode([texts[row]], "query"), sample(len(texts)).tolist())
            return {"embeddings": self.encoder.encode(texts, "query"), "latency_ms": times}

        kept = self.store.get("queries-1", [self.encoder.fingerprint, digest_texts(texts)], build)
        return kept["embeddings"], kept["latency_ms"]


def _nearest(index: Any, queries: Embeddings, depth: int) -> tuple[Embeddings, npt.NDArray[np.int64]]:
    """The best `depth` and whatever ties with the last of them, so that corpus order can decide who stays."""
    wanted = depth + 1
    while True:
        scores, found = index.search(np.ascontiguousarray(queries), min(wanted, index.ntotal))
        if wanted >= index.ntotal or (scores[:, depth - 1] > scores[:, -1]).all():
            return scores, found
        wanted *= 2
