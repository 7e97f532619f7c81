"""One configuration for several datasets: what it loses on each, and all datasets as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragsweep.core.arrays import Mask
from ragsweep.statistics.intervals import EQUAL, Array


def regrets(means: Array) -> Array:
    """What each configuration loses against the best measured one of each dataset (regret; Savage 1951).

    Args:
        means: Of each configuration on each dataset, higher is better, shape [datasets, configurations].
    """
    lost: Array = means.max(axis=1, keepdims=True) - means
    return lost


def least_regret(regret: Array, possible: Mask | None = None) -> int:
    """The configuration whose largest regret is the smallest (minimax regret); of equal ones, that with the least mean.

    Args:
        regret: Shape [datasets, configurations].
        possible: Which configurations may be chosen, shape [configurations]; all of them if none may.
    """
    possible = np.ones(regret.shape[1], dtype=bool) if possible is None or not possible.any() else possible
    largest = np.where(possible, regret.max(axis=0), np.inf)
    return int(np.where(largest <= largest.min() + EQUAL, regret.mean(axis=0), np.inf).argmin())


def in_one(scores: Sequence[Array]) -> Array:
    """The scores on all datasets side by side, scaled so that the mean over queries is the mean over datasets.

    Every dataset counts the same, however many queries it has. Signs can be flipped and queries be drawn as usual.

    Args:
        scores: One metric of every configuration on each dataset, each of shape [configurations, queries].

    Returns:
        Shape [configurations, queries of all datasets].
    """
    queries = sum(own.shape[1] for own in scores)
    return np.concatenate([own * (queries / (len(scores) * own.shape[1])) for own in scores], axis=1)
