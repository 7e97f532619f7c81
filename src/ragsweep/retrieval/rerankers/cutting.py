"""Dropping the last passages of rankings."""

from __future__ import annotations

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.retrieval.ranking import Ranking


def cut(ranking: Ranking, lengths: Indices, depth: int) -> Ranking:
    """The first passages of every query.

    Args:
        ranking: Is not changed.
        lengths: How many passages of each query are kept, shape [queries].
        depth: The most passages that are kept.
    """
    passages, scores = ranking.passages[:, :depth], ranking.scores[:, :depth]
    stays = np.arange(passages.shape[1]) < lengths[:, np.newaxis]
    return Ranking(np.where(stays, passages, NOTHING), np.where(stays, scores, -np.inf))
