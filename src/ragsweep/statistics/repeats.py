"""Configurations that are measured several times, as their answers vary: where the variance lies, and what it adds.

The values of a metric are those of a question in a repeat: a mean, plus an effect of the question, plus an effect of
the repeat on all of its questions, plus what is left (two-way random effects, one value a cell; Searle, Casella and
McCulloch 1992, chapter 4). Everything else works on the mean of each question over the repeats. Their spread holds the
effect of the question and what is left; that of the repeats is missing in it. It is one number for each configuration,
`between_repeats`, which intervals and tests add to the variance of its mean.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragsweep.core.arrays import Mask
from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import (
    COVERAGE,
    LEVEL,
    Array,
    confidence_intervals,
    effective_queries,
    wilson,
)


@dataclass(frozen=True)
class Components:
    """The variance of one answer in three parts, in the squared unit of the metric. Negative estimates are 0.

    Attributes:
        question: Between questions; with groups, between the totals of groups (`Groups.totals`).
        repeat: Between repeats: what shifts all questions of a repeat.
        residual: What else differs when a question is asked again.
        questions: Their number; with groups, that of the groups.
        repeats: How often each was asked; at least 2.
    """

    question: float
    repeat: float
    residual: float
    questions: int
    repeats: int

    @property
    def total(self) -> float:
        """The variance of one answer."""
        return self.question + self.repeat + self.residual

    @property
    def of_mean(self) -> float:
        """The variance of the mean over other questions and other repeats."""
        n, r = self.questions, self.repeats
        return self.question / n + self.repeat / r + self.residual / (n * r)

    @property
    def asked_once(self) -> float | None:
        """How many questions, asked once, have a mean with the same variance; None if no number has."""
        left = self.of_mean - self.repeat
        return (self.question + self.residual) / left if left > 0 and self.total > 0 else None


def components(values: Array, groups: Groups | None = None) -> Components:
    """The parts of the variance, by the mean squares of a two-way layout.

    Args:
        values: Of each question in each repeat, shape [repeats, questions]; at least two of both.
        groups: Those of the questions.
    """
    values = values if groups is None else groups.totals(values)
    repeats, questions = values.shape
    of_repeat, of_question = values.mean(axis=1, keepdims=True), values.mean(axis=0, keepdims=True)
    left = values - of_repeat - of_question + values.mean()
    residual = float((left**2).sum()) / ((repeats - 1) * max(1, questions - 1))
    question = float(of_question.var(ddof=1)) - residual / repeats if questions > 1 else 0.0
    repeat = float(of_repeat.var(ddof=1)) - residual / questions
    return Components(max(0.0, question), max(0.0, repeat), residual, questions, repeats)


def between_repeats(repeat: float, repeats: int) -> float:
    """What the repeats add to the variance of the mean, for intervals and tests that take variances as known.

    A few repeats say little of their variance. So that 1.96 standard errors are enough, it is multiplied by the square
    of the quantile of Student's t over that of the normal distribution: by 2 for 5 repeats.

    Args:
        repeat: The variance between repeats.
        repeats: Their number, at least 2.
    """
    from scipy.special import stdtrit

    return repeat / repeats * float(stdtrit(repeats - 1, (1 + COVERAGE) / 2) / _normal((1 + COVERAGE) / 2)) ** 2


def between_aggregates(values: Array, resampled: Array) -> float:
    """The variance between repeats of a metric that is no mean over questions.

    The values of the repeats differ by their own effects, and by those of the questions on each of them. The latter
    is how their differences vary between resamples of the questions.

    Args:
        values: Of each repeat, shape [repeats].
        resampled: The same in each resample of the questions, shape [repeats, resamples].
    """
    apart = resampled - resampled.mean(axis=0)
    by_questions = float(apart.var(axis=1).mean()) * len(values) / (len(values) - 1)
    return max(0.0, float(values.var(ddof=1)) - by_questions)


def mean_intervals(
    values: Array,
    shares: Mask,
    *,
    groups: Groups,
    resamples: int,
    seed: int,
    between: Array | None = None,
    repeats: int = 1,
) -> tuple[Array, Array]:
    """95 % intervals of means: by bootstrap, or Wilson's for shares. With repeats, of the means over these.

    Args:
        values: Shape [metrics, queries]; with repeats, the mean of each query over these.
        shares: For which metrics the interval is Wilson's, shape [metrics].
        groups: Those of the queries.
        resamples: Number of bootstrap resamples.
        seed: Seed of the bootstrap.
        between: What the repeats add to the variance of each mean, shape [metrics]; None without repeats.
        repeats: Their number.
    """
    low, high = confidence_intervals(values, groups=groups, resamples=resamples, seed=seed)
    if between is not None:
        low, high = widened(values.mean(axis=1), low, high, between)
    if shares.any():
        queries = effective_queries(values[shares], groups)
        if between is not None:
            queries = _as_shares(values[shares], queries, between[shares]).clip(max=repeats * queries)
        low[shares], high[shares] = wilson(values[shares].sum(axis=1) * (queries / values.shape[1]), queries)
    return low, high


def widened(means: Array, low: Array, high: Array, between: Array) -> tuple[Array, Array]:
    """Intervals with the variance between repeats in them, too; unchanged where that is 0."""
    extra = _normal((1 + COVERAGE) / 2) ** 2 * between
    wider = means - np.hypot(means - low, np.sqrt(extra)), means + np.hypot(high - means, np.sqrt(extra))
    return np.where(between > 0, wider[0], low), np.where(between > 0, wider[1], high)


def of_differences(between: Array, other: int) -> Array:
    """What the repeats of both sides add to the variance of each difference from one of them; 0 for itself."""
    return np.where(np.arange(len(between)) == other, 0.0, between + between[other])


def with_repeats(values: Array, between: Array | None) -> Array:
    """The values of independent units, with further units whose signs a test flips or which a bootstrap draws, too.

    Each configuration with repeats has two of its own, one above and one below 0 by the same, in which all others have
    0. No mean changes. The variance of the mean of a difference grows by what the repeats of both sides add to it, in
    every test that takes it from the squares of the differences.

    Args:
        values: Shape [configurations, units].
        between: What the repeats add to the variance of each mean, shape [configurations]; None without repeats.
    """
    if between is None or not between.any():
        return values
    own = np.flatnonzero(between)
    units = values.shape[1] + 2 * len(own)
    further = np.zeros((len(values), 2 * len(own)))
    further[own, 2 * np.arange(len(own))] = units * np.sqrt(between[own] / 2)
    further[own, 2 * np.arange(len(own)) + 1] = -further[own, 2 * np.arange(len(own))]
    return np.hstack([values * (units / values.shape[1]), further])


def lowered(differences: Array, between: Array | float) -> Array:
    """Differences, less 1.64 standard errors of their repeats: for tests of bounded values, which know no variance.

    A mean that is shown to be above a bound after this is above it with both kinds of chance counted: their standard
    errors are added, as if they always came together.

    Args:
        differences: Shape [pairs, units] or [units].
        between: What the repeats of both sides add to the variance, shape [pairs] or a number; 0 changes nothing.
    """
    less: Array = np.asarray(_normal(1 - LEVEL) * np.sqrt(between))
    return differences - (less[:, None] if less.ndim else less)


def _as_shares(values: Array, queries: Array, between: Array) -> Array:
    """How many queries, asked once, have a share with the variance of the mean of these values.

    As many as there are where the values do not vary, and no more than there would be if each repeat had other queries.
    """
    share = values.mean(axis=1)
    variance = values.var(axis=1, ddof=1 if values.shape[1] > 1 else 0) / queries + between
    one = share * (1 - share)
    known = (one > 0) & (variance > 0)
    return np.where(known, one / np.where(known, variance, 1.0), queries)


def _normal(share: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(share))
