"""Whether one configuration is worse than another by a margin or more: tests of a single pair, fixed beforehand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragsweep.statistics.bounded_mean import least_queries, p_above, queries_like
from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import EQUAL, Array, confidence_intervals
from ragsweep.statistics.paired_tests import sign_patterns


@dataclass(frozen=True)
class AgainstBaseline:
    """A candidate compared with a baseline that was fixed beforehand.

    Attributes:
        difference: Candidate minus baseline, mean over queries, in the metric's unit; positive if it is better.
        low: Lower bound of the 95 % bootstrap interval.
        high: Upper bound.
        p_not_worse: P-value of the hypothesis that the candidate is worse by the margin or more.
        p_worse: P-value of the hypothesis that it is not worse at all.
        p_equivalent: P-value of the hypothesis that the two differ by the margin or more, in either direction.
        needed: How many queries would show that it is not worse by the margin if they were spread like these. None if
            no number would.
        least: How many queries it takes if none of them differs at all.
    """

    difference: float
    low: float
    high: float
    p_not_worse: float
    p_worse: float
    p_equivalent: float
    needed: int | None
    least: int


def against_baseline(
    differences: Array,
    margin: float,
    span: float,
    *,
    groups: Groups | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> AgainstBaseline:
    """Test one pair of configurations: non-inferiority, inferiority, and equivalence.

    "Not worse" and "equivalent" (two one-sided tests, Schuirmann 1987) hold also where few queries carry the loss: see
    `bounded_mean`. For `p_worse`, signs are flipped, which needs differences that are about symmetric.

    Args:
        differences: Candidate minus baseline for each query, shape [queries]; positive if the candidate is better.
        margin: How much worse still counts as not worse, in the metric's unit, above 0.
        span: The range of the metric: the largest possible size of a difference.
        groups: Those of the queries. "Not worse" then holds for groups that are no larger than these.
        resamples: Number of sign patterns and of bootstrap resamples.
        seed: Seed of both.
    """
    groups = groups or Groups.none(len(differences))
    units, widest = groups.totals(differences), groups.widest(span)
    difference = float(differences.mean())
    low, high = confidence_intervals(differences[None], groups=groups, resamples=resamples, seed=seed)
    not_worse, not_better = p_above(np.array([units, -units]), margin, widest).tolist()
    needed = queries_like(units, margin, widest) if difference > -margin else None
    return AgainstBaseline(
        difference=difference,
        low=float(low[0]),
        high=float(high[0]),
        p_not_worse=not_worse,
        p_worse=_p_above(-units, resamples, seed),
        p_equivalent=max(not_worse, not_better),
        needed=needed and groups.queries_in(needed),
        least=groups.queries_in(least_queries(margin, widest)),
    )


def _p_above(values: Array, resamples: int, seed: int) -> float:
    """P-value of the hypothesis that the mean is at most 0: the share of sign patterns with a sum as large."""
    sizes = -np.sort(-np.abs(values[values != 0]))  # in this order, p does not depend on that of the queries
    observed = values.sum() - EQUAL * max(1, len(sizes))
    as_large = patterns = 0
    for signs in sign_patterns(len(sizes), resamples, seed):
        as_large += int((sizes @ signs >= observed).sum())
        patterns += signs.shape[1]
    return as_large / patterns
