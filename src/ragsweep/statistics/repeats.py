"""Configurations that are measured several times, as their answers vary: where the variance lies.

A value is a mean, plus an effect of the question, plus an effect of the repeat on all of its questions, plus what is
left (two-way random effects, one value a cell; Searle, Casella and McCulloch 1992, chapter 4). Everything else works on
the mean of each question over the repeats, whose spread lacks the effect of the repeats.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ragsweep.core.arrays import Mask
from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import Array, confidence_intervals, effective_queries, wilson


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
    def of_mean(self) -> float:
        """The variance of the mean over other questions and other repeats."""
        n, r = self.questions, self.repeats
        return self.question / n + self.repeat / r + self.residual / (n * r)

    @property
    def asked_once(self) -> float | None:
        """How many questions, asked once, have a mean with the same variance; None if no number has."""
        left = self.of_mean - self.repeat
        return (self.question + self.residual) / left if left > 0 else None


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


def mean_intervals(
    values: Array, shares: Mask, *, groups: Groups, resamples: int, seed: int, repeats: int = 1
) -> tuple[Array, Array]:
    """95 % intervals of means: by bootstrap, or Wilson's for shares. With repeats, of the means over these.

    Args:
        values: Shape [metrics, queries]; with repeats, the mean of each query over these.
        shares: For which metrics the interval is Wilson's, shape [metrics].
        groups: Those of the queries.
        resamples: Number of bootstrap resamples.
        seed: Seed of the bootstrap.
        repeats: Their number.
    """
    low, high = confidence_intervals(values, groups=groups, resamples=resamples, seed=seed)
    if shares.any():
        queries = effective_queries(values[shares], groups)
        if repeats > 1:
            queries = _as_shares(values[shares], queries).clip(max=repeats * queries)
        low[shares], high[shares] = wilson(values[shares].sum(axis=1) * (queries / values.shape[1]), queries)
    return low, high


def _as_shares(values: Array, queries: Array) -> Array:
    """How many queries, asked once, have a share with the variance of the mean of these values.

    As many as there are where the values do not vary, and no more than there would be if each repeat had other queries.
    """
    share = values.mean(axis=1)
    variance = values.var(axis=1, ddof=1 if values.shape[1] > 1 else 0) / queries
    one = share * (1 - share)
    varies = (one > 0) & (variance > 0)
    return np.where(varies, one / np.where(varies, variance, 1.0), queries)
