"""The hand-written loop that ragsweep replaces. It repeats all work for every query and configuration."""

from __future__ import annotations

import math
from typing import Any

import faiss
import numpy as np
from rank_bm25 import BM25Okapi


class ReferenceLoop:
    """Encodes, searches, scores, fuses and measures one query at a time. The indexes are built once.

    Args:
        model: A sentence-transformers model.
        passages: Texts of the passages.
        embeddings: Embeddings of the passages, shape [passages, dimensions].
        units: Unit of each passage, shape [passages].
    """

    def __init__(self, model: Any, passages: tuple[str, ...], embeddings: np.ndarray, units: list[int]) -> None:
        self.model = model
        self.index = faiss.IndexFlatIP(embeddings.shape[1])
        self.index.add(np.ascontiguousarray(embeddings))
        self.bm25 = BM25Okapi([text.lower().split() for text in passages])
        self.units = units

    def measure(self, query: str, relevant: set[int], alpha: float, k: int) -> dict[str, float]:
        """Seven metrics of one query with one configuration."""
        embedding = self.model.encode([query], normalize_embeddings=True)
        similarities, nearest = self.index.search(embedding, len(self.units))
        dense = [0.0] * len(self.units)
        for passage, similarity in zip(nearest[0].tolist(), similarities[0].tolist(), strict=True):
            dense[passage] = similarity
        dense, sparse = scaled(dense), scaled(self.bm25.get_scores(query.lower().split()).tolist())
        fused = [alpha * one + (1 - alpha) * other for one, other in zip(dense, sparse, strict=True)]
        best = sorted(range(len(fused)), key=lambda passage: -fused[passage])[:k]
        return measured([self.units[passage] in relevant for passage in best], len(relevant), k)


def scaled(scores: list[float]) -> list[float]:
    """Min-max normalisation."""
    low, high = min(scores), max(scores)
    return [(score - low) / (high - low or 1) for score in scores]


def measured(hits: list[bool], relevant: int, k: int) -> dict[str, float]:
    """The metrics of a ranking, given as hits and misses."""
    precision, recall = sum(hits) / k, sum(hits) / relevant
    return {
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / (precision + recall) if any(hits) else 0,
        "mrr": next((1 / rank for rank, hit in enumerate(hits, start=1) if hit), 0),
        "hit_rate": float(any(hits)),
        "ndcg": sum(1 / math.log2(rank + 1) for rank, hit in enumerate(hits, start=1) if hit)
        / sum(1 / math.log2(rank + 1) for rank in range(1, min(relevant, k) + 1)),
        "map": sum(sum(hits[:rank]) / rank for rank, hit in enumerate(hits, start=1) if hit) / relevant,
    }
