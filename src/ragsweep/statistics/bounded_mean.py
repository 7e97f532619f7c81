"""A test of the mean of bounded values that keeps its level also where few of them carry the loss.

What a sample lacks may still exist: of 100 queries, none may show a loss that 2 % of all queries have. The test
therefore adds one query with the worst possible value to those that were measured, gives all of them random weights
(flat Dirichlet) and asks how often their weighted mean is as low as the mean that is tested (Gaffke 2005;
Learned-Miller and Thomas 2019, arXiv 1905.06208). Of values with two sizes it is the exact binomial test of Clopper
and Pearson. That it keeps its level for every distribution is a conjecture without a known exception.
"""

from __future__ import annotations

import numpy as np

from ragsweep.statistics.intervals import LEVEL, Array
from ragsweep.statistics.power import fewest_queries

MOST_TESTED_QUERIES = 10**9
VALUES_AT_ONCE = 2_000_000
STEPS = 60  # of Newton's method; it takes 5 to 15
NEAR_MEAN = 1e-3  # standard errors; as near, the p-value is about one half


def p_above(values: Array, margin: float, span: float) -> Array:
    """P-values of the hypothesis that the mean of a row of values is at most `-margin`.

    1 where the mean, with one value of `-span` more, is not above `-margin`.

    Args:
        values: Independent values in [-span, span], shape [rows, queries].
        margin: Less than `span`, at least 0.
        span: The largest possible size of a value.
    """
    rows = max(1, VALUES_AT_ONCE // values.shape[1])
    return np.concatenate([_p(values[start : start + rows], margin, span) for start in range(0, len(values), rows)])


def least_queries(margin: float, span: float, level: float = LEVEL) -> int:
    """How many queries can show at this level that a mean is above `-margin`, if none of them differs.

    No test can do with fewer: a share `margin / span` of all queries may lose everything and be missing in these.
    """
    return int(np.ceil(np.log(level) / np.log1p(-margin / span) - 1e-9))


def least_margin(queries: int, span: float, level: float = LEVEL) -> float:
    """The smallest margin that so many queries can show: about 3 / queries of the span."""
    return float(-span * np.expm1(np.log(level) / queries))


def queries_like(values: Array, margin: float, span: float) -> int | None:
    """How many queries would reach p <= 0.05 if all were spread like `values`. None if no number does."""

    def shows(queries: int) -> bool:
        return bool(_p(values[None], margin, span, copies=queries / len(values))[0] <= LEVEL)

    return fewest_queries(shows, MOST_TESTED_QUERIES)


def _p(values: Array, margin: float, span: float, copies: float = 1.0) -> Array:
    """The probability that a sum with exponential weights is not above 0 (Lugannani and Rice 1980).

    Flat Dirichlet weights are exponential ones, divided by their sum. The saddlepoint is the bet of a gambler who
    knows all values: its capital alone would be a larger p-value (Waudby-Smith and Ramdas 2024). The relative error is
    below 2 %.
    """
    from scipy.special import ndtr

    largest = span - margin
    above = np.maximum(np.sort(values, axis=1) + margin, -largest)  # in this order, rounding errors are always the same
    bet = _saddlepoint(above, largest, copies)
    spread = 1 + bet[:, None] * above
    cumulant = -copies * np.log(spread).sum(axis=1) - np.log1p(-bet * largest)
    curvature = copies * ((above / spread) ** 2).sum(axis=1) + (largest / (1 - bet * largest)) ** 2
    w, u = np.sqrt(np.maximum(-2 * cumulant, 0)), bet * np.sqrt(curvature)
    beyond = w > NEAR_MEAN
    w, u = np.where(beyond, w, 1.0), np.where(beyond, u, 1.0)
    p: Array = np.where(beyond, ndtr(-w) + np.exp(-(w**2) / 2) / np.sqrt(2 * np.pi) * (1 / u - 1 / w), 1.0)
    return p.clip(0, 1)


def _saddlepoint(above: Array, largest: float, copies: float) -> Array:
    """Where the derivative of the cumulant is 0, from 0 (where it is not positive at first) to below 1 / largest."""
    low, high = np.zeros(len(above)), np.full(len(above), 1 / largest)
    bet = high / 2
    rising = copies * above.sum(axis=1) > largest
    for _ in range(STEPS):
        part, worst = above / (1 + bet[:, None] * above), largest / (1 - bet * largest)
        slope = copies * part.sum(axis=1) - worst
        low, high = np.where(slope > 0, bet, low), np.where(slope > 0, high, bet)
        step = bet + slope / (copies * (part**2).sum(axis=1) + worst**2)
        following = np.where((step > low) & (step < high), step, (low + high) / 2)
        done = np.abs(following - bet).max() * largest < 1e-9
        bet = following
        if done:
            break
    return np.where(rising, bet, 0.0)
