"""Promises that queries certify: the smallest cutoff at which enough succeed, the lowest threshold that few reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log, log1p

import numpy as np

from ragsweep.statistics.intervals import LEVEL, Array
from ragsweep.statistics.power import fewest_queries

MOST_SUGGESTED_QUERIES = 1_000_000  # more are not suggested
MOST_DIGITS = 17  # that tell any two numbers apart


@dataclass(frozen=True)
class Certificate:
    """The result of testing a promised share of successes.

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


@dataclass(frozen=True)
class CertifiedThreshold:
    """The result of testing a promised rate of false finds.

    Attributes:
        shown: Whether any threshold is shown to keep the promise.
        threshold: The lowest one that is; -inf if none is needed, inf if `shown` is false.
        false_finds: How many of these questions get something at it.
        upper: The rate of false finds that is shown not to be exceeded there (exact binomial bound).
        level: The level of the test: 0.05, divided by the number of configurations among which one was chosen.
        needed: How many such questions would show the promise if none of them got anything.
    """

    shown: bool
    threshold: float
    false_finds: int
    upper: float
    level: float
    needed: int


def certify_threshold(
    scores: Array, rate: float, *, answerable: Array | None = None, configurations: int = 1
) -> CertifiedThreshold:
    """Find the lowest threshold with at most this rate of false finds, with 95 % confidence.

    The rate at a threshold is tested by the exact binomial test (Clopper and Pearson 1934). The tests start at the
    highest threshold and stop at the first one that fails: the rate can only grow, so looking at all thresholds needs
    no correction (fixed-sequence testing; Angelopoulos et al. 2021, "Learn then Test"). Every threshold above the
    returned one is shown as well.

    If the configuration was chosen among several on the same questions, each is tested at the level 0.05 /
    `configurations` (Bonferroni), so that the promise holds for whichever of them is chosen.

    Args:
        scores: The score of the first passage for each question without an answer, shape [questions], at least one;
            -inf where nothing is returned at any threshold.
        rate: The promised rate, between 0 and 1.
        answerable: Scores of questions with an answer, any shape. The threshold is at most the next one of them, so it
            costs them no more than it must.
        configurations: Number of configurations among which one was chosen on the same questions.
    """
    from scipy.special import bdtr, betaincinv

    number, level = len(scores), LEVEL / configurations
    allowed = np.flatnonzero(bdtr(np.arange(number), number, rate) <= level)  # P(as few false finds or fewer | rate)
    needed = ceil(log(level) / log1p(-rate))
    if not len(allowed):
        return CertifiedThreshold(False, np.inf, 0, 1 - level ** (1 / number), level, needed)
    threshold = lowest_threshold(scores, len(allowed) - 1, answerable)
    finds = int((scores[scores > -np.inf] >= threshold).sum())
    upper = float(betaincinv(finds + 1, number - finds, 1 - level))
    return CertifiedThreshold(True, threshold, finds, upper, level, needed)


def lowest_threshold(scores: Array, allowed: int, answerable: Array | None = None) -> float:
    """A threshold that at most `allowed` of the scores reach, and no more of the answerable ones miss than must.

    Args:
        scores: Shape [questions]; -inf where nothing is returned.
        allowed: Less than their number.
        answerable: Scores of questions with an answer, any shape.

    Returns:
        -inf if no threshold is needed.
    """
    beyond = float(-np.sort(-scores)[allowed])  # the first one too many: the threshold lies above it
    if beyond == -np.inf:
        return beyond
    every = scores if answerable is None else np.concatenate([scores, answerable.ravel()])
    return _between(beyond, float(every[every > beyond].min(initial=np.inf)))


def _between(low: float, high: float) -> float:
    """The number with the fewest digits that is above `low` and at most `high`."""
    high = high if np.isfinite(high) else low + max(abs(low), 1.0)
    middle = low + (high - low) / 2
    rounded = (float(f"{middle:.{digits}g}") for digits in range(1, MOST_DIGITS + 1))
    return next((number for number in rounded if low < number <= high), high)
