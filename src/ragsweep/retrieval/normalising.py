"""Makes the scores of different rankers comparable, for each query on its own.

The scores that a function returns have the shape [queries, depth], and are 0 where there is no passage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np

from ragsweep.core.arrays import NOTHING, Scores
from ragsweep.retrieval.ranking import Ranking

Norm = Literal["minmax", "zscore", "none"]


class Normalisation(NamedTuple):
    """A way to make scores comparable.

    Attributes:
        of: Returns the normalised scores of a ranking, shape [queries, depth].
        means: What they are, in words.
    """

    of: Callable[[Ranking], Scores]
    means: str


def minmax(ranking: Ranking) -> Scores:
    """Scores mapped to [0, 1] per query: the best passage gets 1, the last 0. If all scores are equal, all get 1."""
    retrieved = ranking.passages != NOTHING
    low = np.min(ranking.scores, axis=1, keepdims=True, where=retrieved, initial=np.inf)
    high = np.max(ranking.scores, axis=1, keepdims=True, where=retrieved, initial=-np.inf)
    shifted = np.where(retrieved, ranking.scores - low, 0.0)
    equal = retrieved & (high == low)
    return np.where(equal, 1.0, np.divide(shifted, high - low, out=np.zeros_like(shifted), where=retrieved & ~equal))


def zscore(ranking: Ranking) -> Scores:
    """Distance from the mean in standard deviations of the population: `zmuv` of ranx. If all are equal, all get 0."""
    retrieved = ranking.passages != NOTHING
    count = retrieved.sum(axis=1, keepdims=True)
    mean = _sum(np.where(retrieved, ranking.scores, 0.0)) / np.maximum(count, 1)
    away = np.where(retrieved, ranking.scores - mean, 0.0)
    deviation = np.sqrt(_sum(away**2) / np.maximum(count, 1))
    last = np.min(ranking.scores, axis=1, keepdims=True, where=retrieved, initial=np.inf)
    differ = retrieved & (ranking.scores[:, :1] > last) & (deviation > 0)
    scores: Scores = np.divide(away, deviation, out=np.zeros_like(away), where=differ)
    return scores


def unchanged(ranking: Ranking) -> Scores:
    """The scores as they are."""
    return np.where(ranking.passages != NOTHING, ranking.scores, 0.0)


NORMS: Mapping[Norm, Normalisation] = {
    "minmax": Normalisation(minmax, "the score of this part, from 0 for its last candidate to 1 for its first"),
    "zscore": Normalisation(zscore, "the score of this part, in standard deviations from the mean of its candidates"),
    "none": Normalisation(unchanged, "the score of this part"),
}


def _sum(values: Scores) -> Scores:
    """The sums of rows, shape [rows, 1], added up in order: `np.sum` rounds by the number of empty places as well."""
    return np.cumsum(values, axis=1)[:, -1:]
