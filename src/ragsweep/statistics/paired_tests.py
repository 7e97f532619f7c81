"""Which differences between configurations are more than chance: paired tests over queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import (
    EQUAL,
    FEWEST_RESAMPLES,
    MANY_QUERIES,
    Array,
    affordable_resamples,
    confidence_intervals,
)

Counts = npt.NDArray[np.int64]

PATTERNS_AT_ONCE = 1_000
PATTERNS_PER_TEST = 100  # with fewer sign patterns, Holm's correction of many tests cannot find anything


@dataclass(frozen=True)
class Paired:
    """Differences on the same queries and what they show. Arrays have shape [comparisons].

    Attributes:
        difference: Mean over queries, in the metric's unit.
        low: Lower bound of the 95 % bootstrap interval of the difference.
        high: Upper bound.
        deviation: Standard deviation of the differences over queries (n - 1).
        effect_size: Cohen's d_z, difference / deviation (Cohen 1988, p. 48; Lakens 2013);
            0 if no query differs, infinite if all queries differ by the same amount.
        wins: Number of queries on which the first of the two scores higher.
        ties: Number of queries on which both score the same.
        losses: Number of queries on which the second scores higher.
        p: Two-sided p-values of the test, each in (0, 1].
    """

    difference: Array
    low: Array
    high: Array
    deviation: Array
    effect_size: Array
    wins: Counts
    ties: Counts
    losses: Counts
    p: Array


@dataclass(frozen=True)
class Comparison(Paired):
    """Every configuration minus a reference that was fixed beforehand. Arrays have shape [configurations].

    In the row of the reference itself, differences are 0 and p-values are 1.

    Attributes:
        reference: Position of the reference.
        p_holm: The p-values with Holm's correction for all comparisons with the reference.
    """

    reference: int
    p_holm: Array


def compare_with_reference(
    scores: Array, reference: int, *, groups: Groups | None = None, resamples: int = 10_000, seed: int = 0
) -> Comparison:
    """Compare every configuration with a reference, query by query.

    Holm's correction is valid only for a reference that was fixed beforehand, such as a baseline. The best by the same
    scores was chosen for its luck as well: at least one of 15 equal configurations would be called worse in 17 % of
    sweeps. Use `compare_with_best`.

    No p-value is below 1 / (1 + resamples). With more than resamples / 20 comparisons, Holm's correction therefore
    finds nothing at the 5 % level; use more resamples.

    Args:
        scores: One metric of every configuration, shape [configurations, queries]. All finite, at least one query.
        reference: Position of the configuration that the others are compared with.
        groups: Those of the queries; signs are then flipped by group, and intervals are those of groups.
        resamples: Number of sign patterns of the test, and of bootstrap resamples of the intervals.
        seed: Seed of both.

    Raises:
        IndexError: The reference does not exist.
    """
    differences = paired(scores - scores[reference], groups, resamples, seed)
    family = np.delete(np.arange(len(scores)), reference)
    p_holm = np.ones_like(differences.p)
    p_holm[family] = holm(differences.p[family])
    return Comparison(reference=reference, p_holm=p_holm, **vars(differences))


def paired(differences: Array, groups: Groups | None, resamples: int, seed: int) -> Paired:
    """Test differences of shape [comparisons, queries]. Rounding errors among them are set to 0, in place."""
    without_rounding(differences)
    queries, difference = differences.shape[1], differences.mean(axis=1)
    deviation = differences.std(axis=1) * np.sqrt(queries / max(queries - 1, 1))
    constant = np.where(difference == 0, 0.0, np.copysign(np.inf, difference))
    low, high = confidence_intervals(differences, groups=groups, resamples=resamples, seed=seed)
    by_group = differences if groups is None else without_rounding(groups.totals(differences))
    at_least = max(FEWEST_RESAMPLES, PATTERNS_PER_TEST * len(differences))
    return Paired(
        difference=difference,
        low=low,
        high=high,
        deviation=deviation,
        effect_size=np.divide(difference, deviation, out=constant, where=deviation > EQUAL),
        wins=(differences > 0).sum(axis=1),
        ties=(differences == 0).sum(axis=1),
        losses=(differences < 0).sum(axis=1),
        p=randomisation_test(by_group, resamples=resamples, seed=seed, at_least=at_least),
    )


def without_rounding(differences: Array) -> Array:
    """Set differences that are rounding errors to 0, in place."""
    differences[np.abs(differences) <= EQUAL] = 0
    return differences


def randomisation_test(
    differences: Array, *, resamples: int = 10_000, seed: int = 0, at_least: int = FEWEST_RESAMPLES
) -> Array:
    """Two-sided p-values of the paired randomisation test (Fisher 1935; Smucker, Allan and Carterette 2007).

    If two configurations are equal, the difference on each query is as likely to have the opposite sign. The p-value is
    the share of sign patterns in which the mean is at least as far from 0 as the measured mean. All patterns are tried
    if there are at most `resamples` of them. Otherwise `resamples` patterns are drawn, and the measured pattern is
    added to them so that p is never 0 (Phipson and Smyth 2010).

    The p-value of a row depends only on that row, and not on the order of the queries.

    Args:
        differences: Shape [comparisons, queries].
        resamples: Number of sign patterns to try.
        seed: Seed of the draws.
        at_least: How many of them to try of many queries, too.

    Returns:
        Values in (0, 1], shape [comparisons].
    """
    # All sign patterns are equally likely, so they can be applied to the absolute differences in descending order.
    # Queries without a difference come last and are dropped, and the order of the queries does not matter.
    sizes = -np.sort(-np.abs(differences), axis=1)
    observed = np.abs(differences.sum(axis=1)) - EQUAL * sizes.sum(axis=1)
    different = (sizes > 0).sum(axis=1)
    few = np.exp2(different) <= resamples
    p = np.empty(len(sizes))
    for rows in (few, ~few):
        queries = int(different[rows].max(initial=0))
        as_far, patterns = np.zeros(rows.sum()), 0
        for signs in sign_patterns(queries, resamples, seed, at_least):
            as_far += (np.abs(sizes[rows, :queries] @ signs) >= observed[rows, None]).sum(axis=1)
            patterns += signs.shape[1]
        p[rows] = as_far / patterns
    return p


def holm(p: Array) -> Array:
    """P-values with Holm's step-down correction for multiple tests (Holm 1979).

    The probability of rejecting any true hypothesis stays below the level, even if the tests depend on each other.

    Args:
        p: P-values of the tests, shape [tests].

    Returns:
        Values in [p, 1], shape [tests].
    """
    order = np.argsort(p)
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)).clip(max=1)
    return adjusted


def sign_patterns(queries: int, resamples: int, seed: int, at_least: int = FEWEST_RESAMPLES) -> Iterator[Array]:
    """Sign patterns, in blocks of shape [queries, patterns]. The very first pattern is all 1.

    If there are at most `resamples` patterns (2^queries), all of them. Otherwise the first and `resamples` random ones;
    of many queries fewer (`affordable_resamples`), with which the tests keep their level. P-values that are corrected
    for many tests can then be too large to find anything, which `at_least` patterns prevent.
    """
    resamples = affordable_resamples(resamples, queries, at_least)
    step = PATTERNS_AT_ONCE if queries <= MANY_QUERIES else max(1, PATTERNS_AT_ONCE * MANY_QUERIES // queries)
    if 2**queries <= resamples:
        flipped = np.arange(2**queries) >> np.arange(queries)[:, None] & 1
        yield np.where(flipped, -1.0, 1.0)
        return
    yield np.ones((queries, 1))
    for start in range(0, resamples, step):
        size = (queries, min(step, resamples - start))
        flipped = np.random.default_rng((seed, start)).integers(0, 2, size=size, dtype=np.int8)
        yield np.where(flipped, -1.0, 1.0)
