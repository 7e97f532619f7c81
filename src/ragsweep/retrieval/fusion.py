"""Fusing rankings into one by their normalised scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragsweep.core.errors import ConfigError
from ragsweep.retrieval.ranking import NOTHING, Ranking, Scores, ranked


def minmax(ranking: Ranking) -> Scores:
    """Scores mapped to [0, 1] per query: the best passage gets 1, the last 0. If all scores are equal, all get 1.

    Returns:
        Shape [queries, depth]; 0 if there is no passage.
    """
    retrieved = ranking.passages != NOTHING
    low = np.min(ranking.scores, axis=1, keepdims=True, where=retrieved, initial=np.inf)
    high = np.max(ranking.scores, axis=1, keepdims=True, where=retrieved, initial=-np.inf)
    shifted = np.where(retrieved, ranking.scores - low, 0.0)
    equal = retrieved & (high == low)
    return np.where(equal, 1.0, np.divide(shifted, high - low, out=np.zeros_like(shifted), where=retrieved & ~equal))


@dataclass(frozen=True)
class WeightedSum:
    """Adds up normalised scores: `weights[0] * minmax(first) + weights[1] * minmax(second) + ...`.

    A passage that is absent from a ranking gets 0 from it.

    Attributes:
        weights: One for each ranking; None weighs all alike.
    """

    weights: Sequence[float] | None = None

    def fuse(self, rankings: Sequence[Ranking]) -> Ranking:
        """One ranking of all passages of the rankings, which may differ in depth."""
        weights = [1 / len(rankings)] * len(rankings) if self.weights is None else list(self.weights)
        if len(weights) != len(rankings):
            raise ConfigError(f"weights: found {len(weights)}, expected one for each of the {len(rankings)} rankings")
        passages = np.hstack([ranking.passages for ranking in rankings])
        scores = np.hstack([weight * minmax(ranking) for weight, ranking in zip(weights, rankings, strict=True)])
        order = np.argsort(passages, axis=1, kind="stable")
        passages = np.take_along_axis(passages, order, axis=1)
        scores = np.take_along_axis(scores, order, axis=1)
        first = np.ones(passages.shape, dtype=bool)  # entry of each passage; its other entries follow it
        first[:, 1:] = passages[:, 1:] != passages[:, :-1]
        total = scores.copy()
        for after in range(1, len(rankings)):
            same = passages[:, after:] == passages[:, :-after]
            total[:, :-after] += np.where(same, scores[:, after:], 0.0)
        return ranked(np.where(first, passages, NOTHING), total, passages.shape[1])
