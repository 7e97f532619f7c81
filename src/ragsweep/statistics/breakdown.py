"""How many judgments must be wrong for another configuration to have the better mean."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import EQUAL, Array, first_best

DRAWS = 1_000  # orders in which the judgments of items turn out to be wrong


class Breakdown(NamedTuple):
    """What a better mean can bear.

    Attributes:
        rival: Position of the configuration that needs the fewest wrong items to be better.
        worst: The smallest number of items that can make it better.
        at_random: The smallest number that makes it better with a probability of at least 1/2 if the items are drawn.
        items: How many items, or groups of items, there are.
    """

    rival: int
    worst: int
    at_random: int
    items: int


def breakdown(
    best: Array, others: Array, low: float, high: float, *, groups: Groups | None = None, seed: int = 0
) -> Breakdown | None:
    """The number of items whose judgments must be wrong for another configuration to have the better mean.

    An item is wrong in the worst way if the best configuration should have the lowest possible value on it and the
    other one the highest. Fewer items than `worst` cannot make any other configuration better, whatever is wrong with
    their judgments. It is the replacement breakdown point (Donoho and Huber 1983) of the sign of the mean difference,
    with values that stay within the bounds of the metric.

    Args:
        best: Values of the configuration with the best mean, shape [items]; higher is better.
        others: Values of the other configurations, shape [configurations, items].
        low: Lowest possible value of an item. If it is infinite, the lowest measured one.
        high: Highest possible value; if it is infinite, the highest measured one.
        groups: Those of the items: all judgments of a group are then wrong together, as they are where one was copied.
        seed: Of the draws of `at_random`.

    Returns:
        None if there is no other configuration or no item, or if all values must be equal.
    """
    if not others.size:
        return None
    low = low if np.isfinite(low) else float(min(best.min(), others.min()))
    high = high if np.isfinite(high) else float(max(best.max(), others.max()))
    if not high > low:
        return None
    groups = groups or Groups.none(len(best))
    differences = best - others
    lost = groups.totals(differences + (high - low))  # by a wrong item, of the sum of the differences
    sums = groups.totals(differences).sum(axis=1) + EQUAL * len(best)
    fewest = np.array([_reached(-np.sort(-row), total) for row, total in zip(lost, sums, strict=True)])
    rival = int(first_best(np.where(fewest == fewest.min(), -differences.mean(axis=1), -np.inf)))
    generator = np.random.default_rng(seed)
    drawn = [_reached(generator.permutation(lost[rival]), sums[rival]) for _ in range(DRAWS)]
    return Breakdown(rival, int(fewest[rival]), int(np.sort(drawn)[(DRAWS - 1) // 2]), groups.number)


def _reached(lost: Array, total: float) -> int:
    """After how many items the sum is more than the total; all of them if it never is."""
    return min(int(np.searchsorted(np.cumsum(lost), total, side="right")) + 1, len(lost))
