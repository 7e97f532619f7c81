"""The smallest cutoff that keeps a promise: at least a given share of such queries succeeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragsweep.statistics.intervals import LEVEL
from ragsweep.statistics.power import fewest_queries

MOST_SUGGESTED_QUERIES = 1_000_000  # more are not suggested


@dataclass(frozen=True)
class Certificate:
    """What the queries show about a promise.

    Attributes:
        cutoff: The smallest cutoff that is shown to keep the promise. None if no measured cutoff is.
        level: The level of each test: 0.05, divided by the number of configurations among which one was chosen.
        lower_bounds: For each measured cutoff, the share that is shown at this level (exact binomial bound).
        needed: How many queries would show it at the largest cutoff if they succeed as often as these. None if these
            queries show it, or if too few of them succeed.
    """

    cutoff: int | None
    level: float
    lower_bounds: tuple[float, ...]
    needed: int | None


def certify(successes: Sequence[int], queries: int, share: float, *, configurations: int = 1) -> Certificate:
    """Find the smallest cutoff at which at least `share` of such queries succeed, with 95 % confidence.

    Each cutoff is tested by the exact binomial test (Clopper and Pearson 1934). The tests start at the largest cutoff
    and stop at the first one that fails. Tests in an order that was fixed beforehand need no correction, so it costs
    nothing to look at all cutoffs (Maurer, Hothorn and Lehmacher 1995).

    If the configuration was chosen among several on the same queries, it was chosen for its luck as well. Each of the
    candidates is therefore tested at the level 0.05 / `configurations` (Bonferroni), so that the promise holds for
    whichever of them is chosen.

    Args:
        successes: Number of queries that succeed at the cutoffs 1, 2, ..., in ascending order.
        queries: Number of queries.
        share: The promised share, between 0 and 1.
        configurations: Number of configurations among which one was chosen on the same queries.
    """
    from scipy.special import bdtrc, betaincinv

    level = LEVEL / configurations
    bounds = [float(betaincinv(hits, queries - hits + 1, level)) if hits else 0.0 for hits in successes]
    cutoff = None
    for number in range(len(successes), 0, -1):
        if bdtrc(successes[number - 1] - 1, queries, share) > level:  # P(as many successes or more | share)
            break
        cutoff = number
    needed = None if cutoff else _needed(successes[-1] / queries, share, level)
    return Certificate(cutoff, level, tuple(bounds), needed)


def _needed(rate: float, share: float, level: float) -> int | None:
    """The smallest number of queries from which on this success rate would show the share."""
    from scipy.special import bdtrc

    def shows(queries: int) -> bool:
        several = np.arange(queries, queries + 100)  # rounding makes single numbers lucky or unlucky
        return bool((bdtrc(np.round(rate * several) - 1, several, share) <= level).all())

    return fewest_queries(shows, MOST_SUGGESTED_QUERIES) if rate > share else None
