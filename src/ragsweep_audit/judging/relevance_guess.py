"""Guesses how often a pair is relevant, from how high it is ranked, and from what somebody guesses."""

from __future__ import annotations

import numpy as np

from ragsweep.statistics.intervals import Array

LEAST_SHARE = 0.02  # and 1 minus it is the largest
AT_FIRST = -2.2, 0.5, 0.5  # one in ten; more of what is ranked high, and of what is guessed
STEPS = 3  # of Newton's, from the last coefficients


class RelevanceGuess:
    """A logistic regression on what is judged, drawn towards what is expected at first.

    It only steers what is drawn, so that a wrong guess costs judgments, and makes no error more likely.
    """

    def __init__(self, weights: Array, judged: Array, guessed: Array | None) -> None:
        columns = [np.ones(len(judged)), _standardized(np.log(weights.mean(axis=0).clip(np.finfo(float).tiny)))]
        if guessed is not None:
            inside = np.nan_to_num(guessed, nan=0.5).clip(LEAST_SHARE, 1 - LEAST_SHARE)  # 0.5 says nothing
            columns.append(np.log(inside / (1 - inside)))
        self._features = np.array(columns)
        self._prior = np.array(AT_FIRST[: len(columns)])
        self._coefficients = self._prior
        self._pairs = np.flatnonzero(~np.isnan(judged)).tolist()
        self._grades = judged[self._pairs].tolist()

    def learn(self, pair: int, grade: float) -> None:
        """Take a judgment in."""
        self._pairs.append(pair)
        self._grades.append(grade)

    @property
    def shares(self) -> Array:
        """The guessed share of relevant ones among pairs like each, shape [pairs]."""
        known, grades = self._features[:, self._pairs], np.array(self._grades)
        for _ in range(STEPS):
            expected = _logistic(self._coefficients @ known)
            curvature = (known * expected * (1 - expected)) @ known.T + np.eye(len(known))
            slope = known @ (grades - expected) - (self._coefficients - self._prior)
            self._coefficients = self._coefficients + np.linalg.solve(curvature, slope)
        return _logistic(self._coefficients @ self._features).clip(LEAST_SHARE, 1 - LEAST_SHARE)


def _standardized(values: Array) -> Array:
    centred: Array = values - values.mean()
    return centred / (centred.std() or 1.0)


def _logistic(values: Array) -> Array:
    curve: Array = 1 / (1 + np.exp(-values.clip(-30, 30)))
    return curve
