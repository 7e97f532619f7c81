"""Fusing two rankings into one by their normalised scores."""

from __future__ import annotations

import numpy as np

from ragsweep.retrieval.ranking import NOTHING, Ranking, Scores, ranked


def minmax(ranking: Ranking) -> Scores:
    """Scores mapped to [0, 1] per query: its best passage gets 1, its last 0; where all are equal, all get 1.

    Returns:
        Shape [queries, depth]; 0 where there is no passage.
    """
    retrieved = ranking.passages != NOTHING
    low = np.min(ranking.scores, axis=1, keepdims=True, where=retrieved, initial=np.inf)
    high = np.max(ranking.scores, axis=1, keepdims=True, where=retrieved, initial=-np.inf)
    shifted = np.where(retrieved, ranking.scores - low, 0.0)
    equal = retrieved & (high == low)
    return np.where(equal, 1.0, np.divide(shifted, high - low, out=np.zeros_like(shifted), where=retrieved & ~equal))


def weighted_sum(dense: Ranking, sparse: Ranking, alpha: float, depth: int) -> Ranking:
    """`alpha * minmax(dense) + (1 - alpha) * minmax(sparse)`; a passage absent from a list gets 0 from it.

    The latency of the result is left to the caller, who knows how its parts were made.

    Args:
        dense: Candidates of the dense retriever, shape [queries, candidates].
        sparse: Candidates of the sparse one, shape [queries, candidates of its own].
        alpha: Weight of the dense scores, from 0 to 1.
        depth: Ranks to keep.
    """
    passages = np.hstack([dense.passages, sparse.passages])
    scores = np.hstack([alpha * minmax(dense), (1 - alpha) * minmax(sparse)])
    order = np.argsort(passages, axis=1, kind="stable")
    passages = np.take_along_axis(passages, order, axis=1)
    scores = np.take_along_axis(scores, order, axis=1)
    # A passage of both lists now stands twice in a row: the first takes the sum, the second goes.
    both = passages[:, 1:] == passages[:, :-1]
    scores[:, :-1] += np.where(both, scores[:, 1:], 0.0)
    passages[:, 1:][both] = NOTHING
    return ranked(passages, scores, depth)
