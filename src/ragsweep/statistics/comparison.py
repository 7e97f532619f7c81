"""Which differences between configurations are more than chance: paired tests over the same queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from ragsweep.statistics.intervals import EQUAL, Array, confidence_intervals, first_best

Counts = npt.NDArray[np.int64]

STEP = 1_000  # sign patterns that are drawn at once, so that memory does not grow with their number


@dataclass(frozen=True)
class Comparison:
    """Every configuration against one that was fixed beforehand; each array has shape [configurations].

    The row of the reference itself has differences of 0 and p-values of 1.

    Attributes:
        reference: Position of the reference.
        difference: Mean over queries of configuration minus reference, in the metric's unit.
        low: Lower bound of the 95 % bootstrap interval of the difference.
        high: Upper bound.
        deviation: Standard deviation of the differences over queries, with n - 1.
        effect_size: Cohen's d_z, difference / deviation (Cohen 1988, p. 48; Lakens 2013);
            0 where no query differs, infinite where all differ by the same.
        wins: Queries at which the configuration scores higher.
        ties: Queries at which both score the same.
        losses: Queries at which the reference scores higher.
        p: Two-sided p-values of the randomisation test, each in (0, 1].
        p_holm: The same, corrected by Holm over all comparisons with the reference.
    """

    reference: int
    difference: Array
    low: Array
    high: Array
    deviation: Array
    effect_size: Array
    wins: Counts
    ties: Counts
    losses: Counts
    p: Array
    p_holm: Array


def compare(scores: Array, reference: int, *, resamples: int = 10_000, seed: int = 0) -> Comparison:
    """Compare every configuration with a reference, query by query.

    Holm's correction holds for a reference that was fixed beforehand, such as a baseline. The best by the same scores
    was chosen for its luck as well: were all equal, some of 15 configurations would be called worse than it in 17 % of
    sweeps, some of 55 in 30 %. For that there is `compare_with_best`.

    No p-value is below 1 / (1 + resamples). A family of more than resamples / 20 tests therefore needs more of them, or
    Holm's correction finds nothing at the level of 5 %.

    Args:
        scores: One metric of every configuration, shape [configurations, queries]; all finite, at least one query.
        reference: Position of the configuration that the others are compared with.
        resamples: Sign patterns of the test, and resamples of the intervals.
        seed: Of both.

    Raises:
        IndexError: There is no such configuration.
    """
    differences = _differences(scores, reference)
    difference, deviation = differences.mean(axis=1), _deviation(differences)
    low, high = confidence_intervals(differences, resamples=resamples, seed=seed)
    p = randomisation_test(differences, resamples=resamples, seed=seed)
    others = np.delete(np.arange(len(scores)), reference)
    p_holm = np.ones_like(p)
    p_holm[others] = holm(p[others])
    return Comparison(
        reference=reference,
        difference=difference,
        low=low,
        high=high,
        deviation=deviation,
        effect_size=_effect_size(difference, deviation),
        wins=(differences > 0).sum(axis=1),
        ties=(differences == 0).sum(axis=1),
        losses=(differences < 0).sum(axis=1),
        p=p,
        p_holm=p_holm,
    )


def randomisation_test(differences: Array, *, resamples: int = 10_000, seed: int = 0) -> Array:
    """Two-sided p-values of the paired randomisation test (Fisher 1935; Smucker, Allan and Carterette 2007).

    Were two configurations equal, each query's difference could as well have had the other sign. The p-value is the
    share of sign patterns whose mean is at least as far from 0 as the one that was measured. All patterns are tried
    where there are at most `resamples`; otherwise that many are drawn, and the one that was measured counts among
    them, so that p is never 0 (Phipson and Smyth 2010).

    The p-value of a row depends on that row alone, and not on the order of the queries.

    Args:
        differences: Shape [comparisons, queries].
        resamples: How many sign patterns are tried.
        seed: Of the draws.

    Returns:
        Values in (0, 1], shape [comparisons].
    """
    # A sign pattern is as likely as any other, so it may as well fall on the sizes in descending order. Thereby a
    # query without a difference, which has no sign, takes no part, and the order of the queries does not matter.
    sizes = -np.sort(-np.abs(differences), axis=1)
    observed = np.abs(differences.sum(axis=1)) - EQUAL * sizes.sum(axis=1)
    different = (sizes > 0).sum(axis=1)
    few = np.exp2(different) <= resamples
    p = np.empty(len(sizes))
    for rows in (few, ~few):
        queries = int(different[rows].max(initial=0))
        as_far, patterns = np.zeros(rows.sum()), 0
        for signs in _signs(queries, resamples, seed):
            as_far += (np.abs(sizes[rows, :queries] @ signs) >= observed[rows, None]).sum(axis=1)
            patterns += signs.shape[1]
        p[rows] = as_far / patterns
    return p


def holm(p: Array) -> Array:
    """P-values corrected for their number by Holm's step-down method (Holm 1979).

    The chance that any true hypothesis is rejected stays below the level, however the tests depend on each other.

    Args:
        p: P-values of one family of tests, shape [tests].

    Returns:
        Values in [p, 1], shape [tests].
    """
    order = np.argsort(p)
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)).clip(max=1)
    return adjusted


@dataclass(frozen=True)
class ComparisonWithBest:
    """Every configuration against the best, which was chosen by the same scores.

    Attributes:
        best: Position of the configuration with the highest mean, the first of equals.
        p: P-values of the difference from the best, shape [configurations], each in (0, 1]; 1 for the best.
        tied: Whether a configuration cannot be told from the best, shape [configurations]; true for the best.
    """

    best: int
    p: Array
    tied: npt.NDArray[np.bool_]


def compare_with_best(
    scores: Array, *, resamples: int = 10_000, seed: int = 0, level: float = 0.05
) -> ComparisonWithBest:
    """Compare every configuration with the best of them, knowing that it was chosen for its score.

    The randomisation test of all pairs at once: a query's differences turn their signs together, and the paired t
    statistic of a configuration and the best is held against the largest of any pair under such signs (max-T, Westfall
    and Young 1993; for retrieval, Boytsov, Belova and Westfall 2013). So the chance that any two equal configurations
    are told apart stays at the level, whichever is the best. With two configurations it is `randomisation_test`.

    The randomised Tukey HSD test (Carterette 2012) has the same purpose. It deals out the scores of a query anew among
    the configurations, as if all were equally alike. In a sweep they are not: neighbouring values of alpha are, sparse
    and dense retrieval are not. With fourteen that are much alike and one that is not, all with the same mean, it tells
    some of them apart in 16 % of sweeps, and this test in 3 to 5 %.

    Args:
        scores: One metric of every configuration, shape [configurations, queries]; all finite, at least one of each.
        resamples: How many sign patterns are tried. Time grows with resamples x configurations squared.
        seed: Of the draws.
        level: Chance that any two equal configurations are told apart.
    """
    means = scores.mean(axis=1)
    best = int(first_best(means))
    differences = _differences(scores, best)
    differences = differences[:, differences.any(axis=0)]  # the other queries have no sign to turn
    # The paired t statistic grows with the sum over the root of the sum of squares, and that root needs no signs.
    norms = cdist(differences, differences)
    scale = np.divide(1, norms, out=np.zeros_like(norms), where=norms > EQUAL)
    observed = -differences.sum(axis=1) * scale[best]
    as_far, patterns = np.zeros(len(scores)), 0
    for signs in _signs(differences.shape[1], resamples, seed):
        largest = _largest(differences @ signs, scale)
        as_far += (largest >= observed[:, None] - EQUAL).sum(axis=1)
        patterns += len(largest)
    p = as_far / patterns
    return ComparisonWithBest(best, p, p > level)


def compare_aggregates_with_best(values: Array, resampled: Array, *, level: float = 0.05) -> ComparisonWithBest:
    """Compare every configuration with the best, by a metric that is no mean over queries.

    The paired bootstrap of all pairs at once: in each resample of the queries, the difference of two configurations
    differs from the measured one by chance alone. In units of its standard error, the measured difference from the
    best is held against the largest such deviation of any pair (Romano and Wolf 2005, step one).

    Args:
        values: The metric of every configuration, higher is better, shape [configurations].
        resampled: The metric in each bootstrap resample, the same resamples for all, shape [configurations, resamples].
        level: Chance that any two equal configurations are told apart.
    """
    best = int(first_best(values))
    errors = np.array([(resampled - row).std(axis=1) for row in resampled])  # of each pair's difference
    scale = np.divide(1, errors, out=np.zeros_like(errors), where=errors > EQUAL)
    largest = _largest(resampled - values[:, None], scale)
    observed = (values[best] - values) * scale[best]
    as_far = (largest >= observed[:, None] - EQUAL).sum(axis=1)
    p = (1 + as_far) / (1 + len(largest))
    p[best] = 1.0
    return ComparisonWithBest(best, p, p > level)


def _largest(sums: Array, scale: Array) -> Array:
    """The largest scaled distance between any two sums, shape [patterns]; sums are [configurations, patterns]."""
    largest = np.zeros(sums.shape[1])
    for row in range(1, len(sums)):
        distances = sums[:row] - sums[row]
        np.abs(distances, out=distances)
        distances *= scale[row, :row, None]
        np.maximum(largest, distances.max(axis=0), out=largest)
    return largest


def _differences(scores: Array, reference: int) -> Array:
    """Every configuration minus the reference, 0 where only rounding tells them apart; shape as `scores`."""
    differences: Array = scores - scores[reference]
    differences[np.abs(differences) <= EQUAL] = 0
    return differences


def _effect_size(difference: Array, deviation: Array) -> Array:
    """Difference in units of its deviation; 0 where there is neither."""
    constant = np.where(difference == 0, 0.0, np.copysign(np.inf, difference))
    effect_size: Array = np.divide(difference, deviation, out=constant, where=deviation > EQUAL)
    return effect_size


def _deviation(differences: Array) -> Array:
    """Standard deviation with n - 1, and 0 for a single query."""
    queries = differences.shape[1]
    deviation: Array = differences.std(axis=1) * np.sqrt(queries / max(queries - 1, 1))
    return deviation


def _signs(queries: int, resamples: int, seed: int) -> Iterator[Array]:
    """Sign patterns, in pieces of shape [queries, patterns]; the first of all has no sign turned.

    All 2^queries where that is at most `resamples`, otherwise so many at random, and the first.
    """
    if 2**queries <= resamples:
        turned = np.arange(2**queries) >> np.arange(queries)[:, None] & 1
        yield np.where(turned, -1.0, 1.0)
        return
    yield np.ones((queries, 1))
    for start in range(0, resamples, STEP):
        size = (queries, min(STEP, resamples - start))
        turned = np.random.default_rng((seed, start)).integers(0, 2, size=size, dtype=np.int8)
        yield np.where(turned, -1.0, 1.0)
