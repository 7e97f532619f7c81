"""A test of the mean of bounded values that holds for every distribution, also where few of them carry the loss.

A gambler starts with 1 and bets on each value being above the mean that is tested. While the mean is not above it, the
capital is 1 on average at most, so it is 20 or more in at most 5 % of cases (Markov). As in Waudby-Smith and Ramdas
(2024, arXiv 2010.09686), but with bets that are fixed beforehand and averaged, so that the order does not matter.
"""

from __future__ import annotations

import numpy as np

from ragsweep.statistics.intervals import LEVEL, Array

BETS = np.array([1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05])  # shares of the largest possible bet
STAKES = np.array([0.3, *[0.7 / (len(BETS) - 1)] * (len(BETS) - 1)])  # the largest bet shows most where nothing differs
MOST_QUERIES = 10**9


def p_above(values: Array, margin: float, span: float) -> float:
    """P-value of the hypothesis that the mean of `values` is at most `-margin`.

    Args:
        values: Independent values in [-span, span], shape [queries].
        margin: Less than `span`, at least 0.
        span: The largest possible size of a value.
    """
    return float(np.exp(min(0.0, -_log_mean(_growth(values, margin, span)))))


def queries_like(values: Array, margin: float, span: float) -> int | None:
    """How many queries would reach p <= 0.05 if all were spread like `values`. None if no number does."""
    growth, few, many = _growth(values, margin, span) / len(values), 0, 1
    while _log_mean(many * growth) < -np.log(LEVEL):
        few, many = many, 2 * many
        if many > MOST_QUERIES:
            return None
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if _log_mean(middle * growth) >= -np.log(LEVEL) else (middle, many)
    return many


def _growth(values: Array, margin: float, span: float) -> Array:
    """Logarithm of the capital of each bet after all values."""
    gains = np.maximum((values + margin) / (span - margin), -1.0)
    with np.errstate(divide="ignore"):
        growth: Array = np.log1p(BETS[:, None] * gains).sum(axis=1)
    return growth


def _log_mean(growth: Array) -> float:
    return float(np.logaddexp.reduce(growth + np.log(STAKES)))
