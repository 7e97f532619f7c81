"""McNemar's exact test of shares that are measured on the same items."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ragsweep.statistics.comparison import holm
from ragsweep.statistics.intervals import Array, Indices


def mcnemar_p(only_first: npt.ArrayLike, only_second: npt.ArrayLike) -> Array:
    """McNemar's exact test (McNemar 1947): of two equal configurations, each is as often the only one with a 1.

    It is the paired randomisation test with all sign patterns.

    Args:
        only_first: On how many items only the first has a 1, any shape.
        only_second: On how many only the second, same shape.

    Returns:
        Two-sided p-values, same shape.
    """
    from scipy.special import bdtr

    first, second = np.asarray(only_first), np.asarray(only_second)
    p: Array = np.minimum(1.0, 2 * bdtr(np.minimum(first, second), first + second, 0.5))
    return p


class Pairs(NamedTuple):
    """All pairs of configurations.

    Attributes:
        first: Position of the first, shape [pairs].
        second: Position of the second, shape [pairs].
        only_first: On how many items only the first has a 1, shape [pairs].
        only_second: On how many only the second, shape [pairs].
        p: Two-sided p-values of McNemar's exact test, shape [pairs].
        p_holm: The same with Holm's correction for the number of pairs, shape [pairs].
    """

    first: Indices
    second: Indices
    only_first: Indices
    only_second: Indices
    p: Array
    p_holm: Array


def mcnemar_of_pairs(values: Array) -> Pairs:
    """McNemar's exact test of every pair.

    Args:
        values: 0 or 1, shape [configurations, items].
    """
    first, second = np.triu_indices(len(values), 1)
    only = np.rint(values @ (1 - values).T).astype(np.int64)
    p = mcnemar_p(only[first, second], only[second, first])
    return Pairs(first, second, only[first, second], only[second, first], p, holm(p))
