"""Which configurations may be the best one: tests of all configurations at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragsweep.core.arrays import Mask
from ragsweep.statistics.bounded_mean import p_above
from ragsweep.statistics.intervals import (
    EQUAL,
    LEVEL,
    Array,
    Indices,
    affordable_resamples,
    first_best,
    resample_weights,
)
from ragsweep.statistics.pair_statistics import affordable, distances, inverse, step_down
from ragsweep.statistics.paired_tests import holm, sign_patterns

DECIMALS = 12  # of scores; what differs less has been rounded differently


@dataclass(frozen=True)
class ComparisonWithBest:
    """Every configuration compared with the best one, which was chosen by the same scores.

    Attributes:
        best: Position of the configuration with the highest mean. Of equal ones, the first.
        p: P-values of the hypothesis that a configuration is one of the best, corrected for testing it of every
            configuration, shape [configurations], each in (0, 1]. 1 for the best itself.
        tied: Whether a configuration cannot be told apart from the best, shape [configurations]. True for the best.
    """

    best: int
    p: Array
    tied: Mask


def compare_with_best(scores: Array, *, resamples: int = 10_000, seed: int = 0) -> ComparisonWithBest:
    """Compare every configuration with the best one. The test accounts for choosing the best by the same scores.

    The hypothesis that a configuration is one of the best is tested against every other configuration, by the largest
    paired t statistic in their favour. The clearest loser is tested first, then the clearest of those that are left,
    and so on (step-down; Westfall and Young 1993, Romano and Wolf 2005). Its statistic is compared with the largest one
    of all pairs that are left, under random signs of the differences: one sign per query, for all pairs.

    Signs cannot see a loss that few queries carry and the sample lacks. Each configuration is therefore tested once
    more, against the best measured one, as if the range of the scores were lost on one more query (`bounded_mean`, with
    Holm's correction), and the larger p-value counts. Any of the best configurations was then told apart in at most 6 %
    of samples of skewed real differences, where signs alone err in up to 50 %. What this assumes is that no query, of
    those that were not measured either, loses more than that range.

    Configurations with the same scores count once. With two configurations, p is that of `randomisation_test` where
    the second test has no larger one.

    Args:
        scores: One metric of every configuration, shape [configurations, queries]. All finite, at least one of each;
            not differences, whose range is smaller.
        resamples: Number of sign patterns to try; fewer with more than about 300 configurations (`affordable`).
        seed: Seed of the draws.
    """
    best = int(first_best(scores.mean(axis=1)))
    rows, place = _distinct(scores - scores[best])
    rows = rows[:, rows.any(axis=0)]  # queries without any difference have no sign to flip
    # The paired t statistic grows with sum / sqrt(sum of squares), and the sum of squares does not depend on signs.
    scale = inverse(distances(rows))
    sums = rows.sum(axis=1)
    observed = (sums - sums[:, None]) * scale
    resamples = affordable(resamples, len(rows))
    flipped = (rows @ signs for signs in sign_patterns(rows.shape[1], resamples, seed))
    as_far, patterns = step_down(observed, scale, flipped)
    p = np.maximum(as_far / patterns, _p_with_lost_query(rows, place[best], float(np.ptp(scores))))[place]
    return ComparisonWithBest(best, p, p > LEVEL)


def compare_aggregates_with_best(values: Array, resampled: Array) -> ComparisonWithBest:
    """Compare every configuration with the best one, by a metric that is not a mean over queries.

    Like `compare_with_best`, with resamples of the queries instead of signs: in each resample, the difference of two
    configurations deviates from the measured one by chance alone (paired bootstrap). Any of the best configurations was
    told apart in up to 6 % of simulations.

    Args:
        values: The metric of every configuration, shape [configurations]. Higher is better.
        resampled: The metric in each bootstrap resample, shape [configurations, resamples]. All configurations must
            use the same resamples. With more than about 300 configurations, the first ones are used (`affordable`).
    """
    best = int(first_best(values))
    resampled = resampled[:, : affordable(resampled.shape[1], len(values))]
    scale = inverse(np.array([(resampled - row).std(axis=1) for row in resampled]))  # of the difference of each pair
    as_far, resamples = step_down((values - values[:, None]) * scale, scale, [resampled - values[:, None]])
    p = (1 + as_far) / (1 + resamples)
    p[best] = 1.0
    return ComparisonWithBest(best, p, p > LEVEL)


def not_worse_than_best(scores: Array, margin: float, span: float) -> Array:
    """P-values of the hypothesis that a configuration is worse than the best one by `margin` or more.

    Whichever configuration is the best, the others are compared with it, and corrected for each other. As the best
    configuration is not known, each configuration gets its largest p-value over all candidates for it
    (intersection-union test, Berger 1982; multiple comparisons with the best, Hsu 1984). The probability that any
    configuration that is worse by `margin` or more gets a p-value of at most 0.05 is at most 0.05: also where few
    queries carry the loss (`bounded_mean`, with Holm's correction).

    Args:
        scores: One metric of every configuration, shape [configurations, queries]. Higher is better.
        margin: In the metric's unit, above 0.
        span: The range of the metric: the largest possible size of a difference.

    Returns:
        Values in [0, 1], shape [configurations]. 0 for a configuration without a different one.
    """
    rows, place = _distinct(scores)
    return _largest_bounded_p(rows, margin, span)[place]


def win_frequency(scores: Array, *, resamples: int = 10_000, seed: int = 0) -> Array:
    """How often each configuration is the best when the queries are resampled (bootstrap).

    Args:
        scores: One metric of every configuration, shape [configurations, queries].
        resamples: How many times the queries are drawn, with replacement.
        seed: Seed of the draws.

    Returns:
        Shares of the resamples, shape [configurations]. Equal configurations share a resample. The shares favour the
        configuration that is best on these queries: of two equal configurations, the luckier one wins more often.
    """
    shares = np.zeros(len(scores))
    for weights in resample_weights(scores.shape[1], resamples, seed):
        means = scores @ weights
        is_best = means >= means.max(axis=0) - EQUAL
        shares += (is_best / is_best.sum(axis=0)).sum(axis=1)
    return shares / affordable_resamples(resamples, scores.shape[1])


def _largest_bounded_p(rows: Array, margin: float, span: float) -> Array:
    """The largest p-value of each configuration over all candidates for the best.

    Only those that are not worse than the best measured one are compared with the others, too: p only grows by that.
    """
    best = int(first_best(rows.mean(axis=1)))
    if len(rows) == 1:
        return np.zeros(1)

    def against(candidate: int, tested: Indices) -> Array:
        p, tested = np.ones(len(rows)), tested[tested != candidate]
        if len(tested):
            p[tested] = p_above(rows[tested] - rows[candidate], margin, span)
        rivals = np.arange(len(rows)) != candidate
        p[rivals], p[candidate] = holm(p[rivals]), 0.0
        return p

    largest = against(best, np.arange(len(rows)))
    left = np.flatnonzero(largest <= LEVEL)
    for candidate in range(len(rows)):
        largest[left] = np.maximum(largest[left], against(candidate, left)[left])
    return largest


def _p_with_lost_query(rows: Array, best: int, span: float) -> Array:
    """P-values of every configuration against the best one by `p_above`, with Holm's correction; 1 for the best."""
    p, rivals = np.ones(len(rows)), np.arange(len(rows)) != best
    if rivals.any():
        p[rivals] = holm(p_above(rows[best] - rows[rivals], 0.0, span))
    return p


def _distinct(scores: Array) -> tuple[Array, Indices]:
    """The different rows, and for each row its position among them."""
    rounded = np.round(scores, DECIMALS) + 0.0  # + 0.0: -0 is 0
    _, first, place = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
    return scores[first], place.reshape(-1)  # as they are: sums of rounded scores may lose their ties
