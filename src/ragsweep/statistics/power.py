"""Statistical power: the smallest difference that a set of queries detects, and the queries that a difference needs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ragsweep.statistics.intervals import LEVEL, Array

POWER = 0.8  # probability of detecting a difference
FEWEST_FLIPPED = 6  # queries of which a test that flips signs can have a p at the level


def detectable_difference(deviation: Array | float, queries: float, *, lost: float = 0.0) -> Array:
    """The smallest difference between two configurations that a two-sided paired test detects in 80 of 100 such sets.

    Normal approximation (Cohen 1988): (z of 1 - level/2 + z of power) x deviation / sqrt(queries). With `lost`,
    `p_above` detects it, too (`compare_with_best`): if nothing deviates, that takes a mean of
    lost x (level ** (-1 / queries) - 1).

    Args:
        deviation: Standard deviation of the paired differences over queries, any shape (`Comparison.deviation`).
        queries: Number of queries, at least 1.
        lost: In the metric's unit.

    Returns:
        Differences in the metric's unit, same shape as `deviation`.
    """
    from scipy.special import ndtri

    error = np.asarray(deviation) / np.sqrt(queries)
    share, least = lost / queries, lost * np.expm1(-np.log(LEVEL) / queries)
    one_sided = share + np.hypot(ndtri(1 - LEVEL) * error, least - share) + ndtri(POWER) * error
    detectable: Array = np.maximum((ndtri(1 - LEVEL / 2) + ndtri(POWER)) * error, one_sided)
    return detectable


def fewest_queries(shows: Callable[[int], bool], most: int) -> int | None:
    """The smallest number of queries that shows something, if all larger ones do; None if none up to `most` does."""
    few, many = 0, 1
    while not shows(many):
        few, many = many, 2 * many
        if many > most:
            return None
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if shows(middle) else (middle, many)
    return many
