"""The ranking metrics at a cutoff: each a pure function from a judged ranking to one value a query.

They equal trec_eval's P_k, recall_k, success_k, ndcg_cut_k and map_cut_k, and recip_rank of the list cut at k.
A metric of your own has the same form: `(judged, k)` to an array of shape [queries]; `metric` says what it means.
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
    """Share of the first k ranks that hold a relevant unit: hits / k, also where fewer than k came back.

    Args:
        judged: The judged rankings.
        k: Cutoff, at least 1.

    Returns:
        Values in [0, 1], shape [queries].
    """
    return _hits(judged, k) / k


@metric("Recall", low=0, high=1)
def recall(judged: Judged, k: int) -> PerQuery:
    """Share of a query's relevant units that are within the first k: hits / R; 0 where R is 0.

    Args:
        judged: The judged rankings.
        k: Cutoff, at least 1.

    Returns:
        Values in [0, 1], shape [queries].
    """
    return _hits(judged, k) / np.maximum(judged.relevant, 1)


@metric("F1", low=0, high=1)
def f1(judged: Judged, k: int) -> PerQuery:
    """Harmonic mean of precision and recall, per query (not of their means); 0 without a hit.

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
    """Reciprocal rank of the first relevant unit within the first k, 0 without one; its mean is the MRR.

    trec_eval's recip_rank looks at the whole list; this is its value on the list cut at k.

    Args:
        judged: The judged rankings.
        k: Cutoff, at least 1.

    Returns:
        Values in [0, 1], shape [queries].
    """
    hits = judged.hits[:, :k]
    reciprocal: PerQuery = hits.any(axis=1) / (hits.argmax(axis=1) + 1)
    return reciprocal


@metric("Hit rate", low=0, high=1)
def hit_rate(judged: Judged, k: int) -> PerQuery:
    """Whether at least one relevant unit is within the first k.

    Also called Success@k; some papers call it Recall@k, which here is `recall`.

    Args:
        judged: The judged rankings.
        k: Cutoff, at least 1.

    Returns:
        0.0 or 1.0, shape [queries].
    """
    return judged.hits[:, :k].any(axis=1).astype(float)


@metric("NDCG", low=0, high=1)
def ndcg(judged: Judged, k: int, *, gain: Gain = "linear") -> PerQuery:
    """Normalised discounted cumulative gain (Järvelin and Kekäläinen 2002), discount log2(rank + 1).

    The ideal ranking is made of all judged units of the query, cut at k, not of those that were retrieved.

    Args:
        judged: The judged rankings.
        k: Cutoff, at least 1.
        gain: `linear` is the grade (trec_eval); `exponential` is 2^grade - 1 (Burges et al. 2005).

    Returns:
        Values in [0, 1], shape [queries]; 0 where no unit of the query has a grade above 0.
    """
    highest = judged.ideal[:, :1]
    dcg, ideal = (_dcg(grades, highest, gain) for grades in (_cut(judged.gains, k), judged.ideal[:, :k]))
    ratio = np.divide(dcg, ideal, out=np.zeros_like(dcg), where=ideal > 0)
    return np.minimum(ratio, 1)  # the two sums may round differently


@metric("MAP", low=0, high=1)
def average_precision(judged: Judged, k: int) -> PerQuery:
    """Sum of the precision at the rank of each hit within k, over R; its mean is the MAP.

    R counts all relevant units, also where it exceeds k: twenty relevant and five hits in five ranks give .25.

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
    """The first k columns, with zeros for those that are not there: numpy adds up wider rows in another order."""
    return np.pad(values[:, :k], ((0, 0), (0, max(0, k - values.shape[1]))))


def _hits(judged: Judged, k: int) -> PerQuery:
    hits: PerQuery = judged.hits[:, :k].sum(axis=1, dtype=np.float64)
    return hits


def _dcg(grades: Gains, highest: Gains, gain: Gain) -> PerQuery:
    """The sum; exponential gains are divided by 2^highest, so that no grade is too high for them."""
    values = grades if gain == "linear" else np.exp2(grades - highest) - np.exp2(-highest)
    discounted: PerQuery = (values / np.log2(np.arange(grades.shape[1]) + 2)).sum(axis=1)
    return discounted
