"""All pairs of configurations, with a correction for their number."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from ragsweep.statistics.comparison import (
    Paired,
    holm,
    paired,
    without_rounding,
)
from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import EQUAL, Array, Indices

PairTest = Literal["randomisation", "t"]
Correction = Literal["holm", "benjamini_hochberg"]


class AllPairs(NamedTuple):
    """Every pair of configurations, each array of shape [pairs].

    Attributes:
        first: Position of the first.
        second: Position of the second, which comes later.
        paired: First minus second: the intervals are not corrected for the number of pairs, and `p` is that of the
            test that was asked for.
        corrected: The p-values, corrected for the number of pairs.
    """

    first: Indices
    second: Indices
    paired: Paired
    corrected: Array


def compare_all_pairs(
    scores: Array,
    *,
    groups: Groups | None = None,
    test: PairTest = "randomisation",
    correction: Correction = "holm",
    resamples: int = 10_000,
    seed: int = 0,
) -> AllPairs:
    """Compare every pair of configurations, query by query.

    Args:
        scores: One metric of every configuration, shape [configurations, queries]; at least two configurations.
        groups: Those of the queries; tests are then of the sums of groups, and intervals those of groups.
        test: The paired randomisation test, or Student's paired t test (`scipy.stats.ttest_rel`).
        correction: Holm's (1979) keeps the probability of any false claim at the level. Benjamini and Hochberg (1995)
            keep the expected share of false claims at it.
        resamples: Number of sign patterns, and of bootstrap resamples of the intervals.
        seed: Seed of both.
    """
    first, second = np.triu_indices(len(scores), 1)
    differences = scores[first] - scores[second]
    found = paired(differences, groups, resamples, seed)
    if test == "t":
        by_group = differences if groups is None else without_rounding(groups.totals(differences))
        found = replace(found, p=_t_test(by_group))
    if correction == "holm":
        corrected = holm(found.p)
    else:
        from scipy.stats import false_discovery_control

        corrected = false_discovery_control(found.p)
    return AllPairs(first, second, found, corrected)


def _t_test(differences: Array) -> Array:
    """P-values of Student's paired t test. Where all queries differ by the same: 0, or 1 if that is nothing."""
    from scipy.stats import ttest_1samp

    if differences.shape[1] < 2:
        return np.ones(len(differences))
    p: Array = (differences.mean(axis=1) == 0).astype(float)
    varied = np.ptp(differences, axis=1) > EQUAL
    p[varied] = ttest_1samp(differences[varied], 0, axis=1).pvalue
    return p
