"""Tests of all pairs of configurations with corrections for their number, and McNemar's exact test of two shares."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import EQUAL, Array, Indices
from ragsweep.statistics.paired_tests import Paired, holm, paired, without_rounding

PairTest = Literal["randomisation", "t"]
Correction = Literal["holm", "benjamini_hochberg"]

SUMS_AT_ONCE = 4_000_000


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


def mcnemar_p(only_first: npt.ArrayLike, only_second: npt.ArrayLike) -> Array:
    """Two-sided p-values of McNemar's exact test (1947): the paired randomisation test with all sign patterns.

    Args:
        only_first: On how many items only the first has a 1, any shape.
        only_second: On how many only the second, same shape.
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
        p: Two-sided p-values of `paired_p`, shape [pairs].
        p_holm: The same with Holm's correction for the number of pairs, shape [pairs].
    """

    first: Indices
    second: Indices
    only_first: Indices
    only_second: Indices
    p: Array
    p_holm: Array


def flipped_p(differences: Indices) -> Array:
    """The exact test that flips the signs of whole numbers, with all sign patterns; of -1, 0 and 1 it is McNemar's.

    The characteristic function of their sum is a product of cosines, from which its distribution follows.

    Args:
        differences: Such as how many more items of a group only the first has a 1 of, shape [tests, groups].
    """
    sizes = np.abs(differences)
    largest = int(sizes.sum(axis=1).max(initial=0))
    angles = 2 * np.pi * np.arange(2 * largest + 1) / (2 * largest + 1)
    step = max(1, SUMS_AT_ONCE // len(angles))
    p = np.ones(len(sizes))
    for start in range(0, len(sizes), step):
        block = slice(start, start + step)
        transform = np.ones((len(sizes[block]), len(angles)))
        for size in np.unique(sizes[sizes > 0]).tolist():
            transform *= np.cos(size * angles) ** (sizes[block] == size).sum(axis=1)[:, None]
        share = np.fft.ifft(transform, axis=1).real[:, : largest + 1]  # of the patterns with the sums 0, 1, ...
        reached = np.arange(largest + 1) >= np.abs(differences[block].sum(axis=1))[:, None]
        p[block] = 2 * np.where(reached, share, 0).sum(axis=1)
    return np.clip(p, np.exp2(-(sizes > 0).sum(axis=1)), 1)


def paired_p(first: Array, second: Array, groups: Groups | None = None) -> Array:
    """Two-sided p-values of McNemar's exact test, or with groups of the test that flips the signs of whole groups.

    Args:
        first: 0 or 1, shape [pairs, items].
        second: The same of what it is compared with.
        groups: Those of the items.
    """
    if groups is None or not groups.in_use:
        return mcnemar_p((first > second).sum(axis=1), (first < second).sum(axis=1))
    ahead = groups.totals(first - second) * (groups.queries / groups.number)
    return flipped_p(np.rint(ahead).astype(np.int64))


def mcnemar_of_pairs(values: Array, groups: Groups | None = None) -> Pairs:
    """`paired_p` of every pair.

    Args:
        values: 0 or 1, shape [configurations, items].
        groups: Those of the items.
    """
    first, second = np.triu_indices(len(values), 1)
    only = np.rint(values @ (1 - values).T).astype(np.int64)
    p = paired_p(values[first], values[second], groups)
    return Pairs(first, second, only[first, second], only[second, first], p, holm(p))
