"""All pairs of configurations, with a correction for their number."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from ragsweep.statistics.comparison import Paired, holm, paired, without_rounding
from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import EQUAL, Array, Indices

PairTest = Literal["randomisation", "t"]
Correction = Literal["holm", "benjamini_hochberg"]


class AllPairs(NamedTuple):
    """Positions of the first and the second of every pair, the first minus the second, and the corrected p-values.

    Only these are corrected for the number of pairs, the intervals are not. Each array has shape [pairs].
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
        test: The paired randomisation test, or Student's paired t test.
        correction: Holm's (1979) keeps the probability of any false claim at the level. Benjamini and Hochberg (1995)
            keep the expected share of false claims at it.
        resamples: Number of sign patterns, and of bootstrap resamples of the intervals.
        seed: Seed of both.
    """
    from scipy.stats import false_discovery_control, ttest_1samp

    first, second = np.triu_indices(len(scores), 1)
    differences = scores[first] - scores[second]
    pairs = paired(differences, groups, resamples, seed)
    if test == "t":
        units = differences if groups is None else without_rounding(groups.totals(differences))
        p = (units.mean(axis=1) == 0).astype(float)  # where all differ by the same: 1 if that is nothing, else 0
        varied = np.ptp(units, axis=1) > EQUAL
        p[varied] = ttest_1samp(units[varied], 0, axis=1).pvalue
        pairs = replace(pairs, p=p if units.shape[1] > 1 else np.ones_like(p))
    corrected = holm(pairs.p) if correction == "holm" else false_discovery_control(pairs.p)
    return AllPairs(first, second, pairs, corrected)
