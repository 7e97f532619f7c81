"""Ranking metrics at a cutoff. Each is a pure function from judged rankings to one value per query.

They equal P_k, recall_k, success_k, ndcg_cut_k and map_cut_k of trec_eval, and recip_rank of the list cut at k.
Your own metric has the same form: it takes `(judged, k)` and returns an array of shape [queries]. Describe it with the
decorator `metric`.
"""

from __future__ import annotations

from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt

from ragsweep.tasks.metric import metric
from ragsweep.tasks.ranking.judging import Gains, Hits, Judged

PerQuery = npt.NDArray[np.float64]
Values = TypeVar("Values", Gains, Hits)
Gain = Literal["linear", "exponential"]


@metric("Precision", low=0, high=1)
def precision(judged: Judged, k: int) -> PerQuery:
    """Share of the first k ranks with a relevant unit: hits / k, even if fewer than k passages were retrieved.

    Args:
        judged: The judged rankings.
        k: Cutoff, at least 1.

    Returns:
        Values in [0, 1], shape [queries].
    """
    return _hits(judged, k) / k


@metric("Recall", low=0, high=1)
def recall(judged: Judged, k: int) -> PerQuery:
    """Share of the relevant units of a query that are within the first k: hits / R, or 0 if R is 0.

    Args:
        judged: The judged rankings.
        k: Cutoff, at least 1.

    Returns:
        Values in [0, 1], shape [queries].
    """
    return _hits(judged, k) / np.maximum(judged.relevant, 1)


@metric("F1", low=0, high=1)
def f1(judged: Judged, k: int) -> PerQuery:
    """Harmonic mean of precision and recall, per query (not of their means). 0 without a hit.

    Equal to 2 hits / (k + R).

    Args:
        judged: The judged rankings.
        k: Cutoff, at least 1.

    Returns:
        Values in [0, 1], shape [queries].
    """
    return 2 * _hits(judged, k) / (k + judged.relevant)


@metric("MRR", low=0, high=1)
def mrr(judged: Judged, k: int) -> PerQuery:
    """Reciprocal rank of the first relevant unit within the first k, or 0 without one. Its mean is the MRR.

    recip_rank of trec_eval uses the whole list. This is its value on the list cut at k.

    Args:
        judged: The judged rankings.
        k: Cutoff, at least 1.

    Returns:
        Values in [0, 1], shape [queries].
    """
    hits = judged.hits[:, :k]
    reciprocal: PerQuery = hits.any(axis=1) / (hits.argmax(axis=1) + 1)
    return reciprocal


@metric("Hit rate", low=0, high=1, binary=True)
def hit_rate(judged: Judged, k: int) -> PerQuery:
    """Whether at least one relevant unit is within the first k.

    Also called Success@k. Some papers call it Recall@k; in ragsweep, that is `recall`.

    Args:
        judged: The judged rankings.
        k: Cutoff, at least 1.

    Returns:
        0.0 or 1.0, shape [queries].
    """
    return judged.hits[:, :k].any(axis=1).astype(float)


@metric("NDCG", low=0, high=1)
def ndcg(judged: Judged, k: int, *, gain: Gain = "linear") -> PerQuery:
    """Normalised discounted cumulative gain (Järvelin and Kekäläinen 2002) with discount log2(rank + 1).

    The ideal ranking consists of all judged units of the query, cut at k, not only of the retrieved ones.

    Args:
        judged: The judged rankings.
        k: Cutoff, at least 1.
        gain: `linear` is the grade (trec_eval). `exponential` is 2^grade - 1 (Burges et al. 2005).

    Returns:
        Values in [0, 1], shape [queries]. 0 if no unit of the query has a grade above 0.
    """
    highest = judged.ideal[:, :1]
    dcg, ideal = (_dcg(grades, highest, gain) for grades in (_cut(judged.gains, k), judged.ideal[:, :k]))
    ratio = np.divide(dcg, ideal, out=np.zeros_like(dcg), where=ideal > 0)
    return np.minimum(ratio, 1)  # the two sums can round differently


@metric("MAP", low=0, high=1)
def average_precision(judged: Judged, k: int) -> PerQuery:
    """Sum of the precision at the rank of each hit within k, divided by R. Its mean is the MAP.

    R counts all relevant units, even if it exceeds k: with 20 relevant units, five hits in five ranks give .25.

    Args:
        judged: The judged rankings.
        k: Cutoff, at least 1.

    Returns:
        Values in [0, 1], shape [queries].
    """
    hits = _cut(judged.hits, k)
    precision_at = hits.cumsum(axis=1) / np.arange(1, hits.shape[1] + 1)
    summed: PerQuery = (precision_at * hits).sum(axis=1)
    return summed / np.maximum(judged.relevant, 1)


def _cut(values: Values, k: int) -> Values:
    """The first k columns, padded with zeros to k columns, because numpy adds up wider rows in another order."""
    return np.pad(values[:, :k], ((0, 0), (0, max(0, k - values.shape[1]))))


def _hits(judged: Judged, k: int) -> PerQuery:
    hits: PerQuery = judged.hits[:, :k].sum(axis=1, dtype=np.float64)
    return hits


def _dcg(grades: Gains, highest: Gains, gain: Gain) -> PerQuery:
    """Discounted cumulative gain. Exponential gains are divided by 2^highest, so that high grades do not overflow."""
    values = grades if gain == "linear" else np.exp2(grades - highest) - np.exp2(-highest)
    discounted: PerQuery = (values / np.log2(np.arange(grades.shape[1]) + 2)).sum(axis=1)
    return discounted
