"""Discrimination: whether correct answers have a higher confidence than wrong ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ragsweep.statistics.intervals import Array
from ragsweep_answers.measuring.measures.calibration import Statistic, sums_by


def auroc_of(confidence: Array, correct: Array) -> Statistic | None:
    """Area under the ROC curve: the probability that a correct answer has a higher confidence than a wrong one.

    Equal confidences count half (Mann and Whitney 1947; Hanley and McNeil 1982).

    Args:
        confidence: Shape [questions].
        correct: 0 or 1, shape [questions].

    Returns:
        The statistic, as `calibration` describes them. None if all answers are correct or all are wrong: there is
        nothing to tell apart. A resample of that kind has the value 0.5.
    """
    if correct.min() == correct.max():
        return None
    levels, level = np.unique(confidence, return_inverse=True)
    by_level = [sums_by(level, each, len(levels)) for each in (correct, 1 - correct)]

    def auroc(weight: Array) -> Array:
        right, wrong = (sums @ weight for sums in by_level)
        pairs = right.sum(axis=0) * wrong.sum(axis=0)
        in_order = (right * (wrong.cumsum(axis=0) - wrong / 2)).sum(axis=0)
        area: Array = np.divide(in_order, pairs, out=np.full_like(in_order, 0.5), where=pairs > 0)
        return area

    return auroc


class AccuracyOverCoverage(NamedTuple):
    """The accuracy if only the most confident answers are given. Arrays have shape [points].

    Attributes:
        coverage: Share of the questions that are answered, ascending up to 1.
        accuracy: Share of these answers that are correct.
    """

    coverage: Array
    accuracy: Array

    @property
    def aurc(self) -> float:
        """Area under the risk-coverage curve (AURC): the mean share of wrong answers over all coverages; 0 at best."""
        return float(np.diff(self.coverage, prepend=0) @ (1 - self.accuracy))


def accuracy_over_coverage(confidence: Array, correct: Array, answered: npt.NDArray[np.bool_]) -> AccuracyOverCoverage:
    """The accuracy when the least confident answers are withheld (El-Yaniv and Wiener 2010).

    Answers of the same confidence are withheld together. Questions without an answer are withheld first, and then the
    answers without a confidence. At full coverage, questions without an answer count as wrong.

    Args:
        confidence: 0 to 1, shape [questions]; NaN for an answer without one, anything where there is no answer.
        correct: 0 or 1, shape [questions].
        answered: Whether there is an answer, shape [questions].
    """
    doubt = np.select([~answered, np.isnan(confidence)], [2.0, 1.0], -confidence)
    level = np.unique(doubt, return_inverse=True)[1]
    given, right = np.bincount(level).cumsum(), np.bincount(level, correct * answered).cumsum()
    return AccuracyOverCoverage(given / len(confidence), right / given)
