"""Calibration: whether answers with a confidence of 80 % are correct 80 % of the time.

Discrimination is whether correct answers have a higher confidence than wrong ones.

All functions take the questions whose answer has a confidence, at least one: `confidence` in [0, 1] and `correct`, 0 or
1, both of shape [questions]. `brier` and `gaps_by_bin` also take a confidence of NaN, which counts as the largest
error, 1: otherwise an answerer would gain by giving no answer.

A measure that is not a mean over questions comes as a function `..._of` that prepares a statistic. The statistic takes
the weight of each question, as a bootstrap draws it: at least 0, adding up to 1. A question of weight 0 counts as
absent, and one of twice the weight as two questions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from ragsweep.statistics.intervals import COVERAGE, Array, Indices, wilson

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# From weights of shape [questions], or [questions, resamples], to a value, or to values of shape [resamples].
Statistic = Callable[[Array], Array]

BINS = 10
EDGE = 1e-9  # rounding error of a confidence or of a sum of weights at the edge of a bin


def brier(confidence: Array, correct: Array) -> Array:
    """Squared error of the confidence, per question. Its mean is the Brier score (Brier 1950), 0 at best.

    Its value is half of the original one, which sums over the outcomes "correct" and "wrong". 1 where the confidence is
    NaN.
    """
    return np.where(np.isnan(confidence), 1.0, (confidence - correct) ** 2)


def brier_skill_of(confidence: Array, correct: Array) -> Statistic | None:
    """Brier skill score: 1 - Brier score / that of stating the share of correct answers as every confidence.

    1 is perfect, 0 is as good as the base rate, and below 0 is worse.

    Returns:
        The statistic. None if all answers are correct or all are wrong: the base rate then makes no error. A resample
        of that kind has the value 0.
    """
    if correct.min() == correct.max():
        return None
    rows = np.stack([brier(confidence, correct), correct, 1 - correct])

    def brier_skill(weight: Array) -> Array:
        error, right, wrong = rows @ weight
        spread = right * wrong
        share: Array = np.divide(error, spread, out=np.ones_like(error), where=spread > 0)
        return 1 - share

    return brier_skill


class BrierParts(NamedTuple):
    """The parts of the Brier score: reliability - resolution + uncertainty + within_bins.

    Attributes:
        reliability: Squared difference between confidence and accuracy of a bin, averaged over questions. 0 at best.
        resolution: Variance of the accuracy between bins. Higher is better.
        uncertainty: Variance of `correct`, which depends on the accuracy only.
        within_bins: What the bins hide: the variance of the confidence within them minus twice its covariance with
            `correct`. 0 if all answers of a bin have the same confidence.
    """

    reliability: float
    resolution: float
    uncertainty: float
    within_bins: float


def brier_parts(confidence: Array, correct: Array, *, bins: int = BINS) -> BrierParts:
    """Split the Brier score over bins of equal width (Murphy 1973).

    Murphy's three parts add up only if all answers of a bin have the same confidence. `within_bins` holds the two
    further parts of Stephenson, Coelho and Jolliffe (2008), so that the parts always add up.
    """
    number = bin_number(confidence, bins)
    questions = np.maximum(np.bincount(number), 1)
    mean_confidence = (np.bincount(number, confidence) / questions)[number]
    mean_correct = (np.bincount(number, correct) / questions)[number]
    accuracy, off = correct.mean(), confidence - mean_confidence
    return BrierParts(
        reliability=float(((mean_confidence - mean_correct) ** 2).mean()),
        resolution=float(((mean_correct - accuracy) ** 2).mean()),
        uncertainty=float(accuracy * (1 - accuracy)),
        within_bins=float((off**2 - 2 * off * (correct - mean_correct)).mean()),
    )


def gaps_by_bin(confidence: Array, correct: Array, *, bins: int = BINS) -> csr_array:
    """A matrix from the weights to confidence - accuracy of each bin, times the weight of the bin.

    The sum of the absolute values is the expected calibration error (Guo et al. 2017). It is never 0 for few questions,
    even if the confidence is right, and grows with the number of bins.

    Args:
        confidence: Shape [questions]. Questions with NaN are in a bin of their own, whose error is 1.
        correct: Shape [questions].
        bins: Number of bins of equal width. A confidence at an edge belongs to the bin above, and 1.0 to the last.

    Returns:
        Shape [bins + 1, questions]; the last row is for questions with a confidence of NaN.
    """
    missing = np.isnan(confidence)
    number = np.where(missing, bins, bin_number(np.where(missing, 0.0, confidence), bins))
    return sums_by(number, np.where(missing, 1.0, confidence - correct), bins + 1)


def mce(confidence: Array, correct: Array, *, bins: int = BINS) -> float:
    """Maximum calibration error: the largest |mean confidence - accuracy| of a bin (Guo et al. 2017).

    It is often that of a bin with very few questions.
    """
    equal = np.full(len(confidence), 1 / len(confidence))
    number, residual = bin_number(confidence, bins), confidence - correct
    mass, gap = np.bincount(number, equal), np.abs(np.bincount(number, equal * residual))
    return float((gap[mass > 0] / mass[mass > 0]).max())


def error_interval(error: float, resampled: Array, noise: Array) -> tuple[float, float]:
    """The 95 % interval of a calibration error that is a sum of absolute values. Each sum is linear in the weights.

    The lower percentile of the bootstrap is wrong here. Noise can only add to such an error, and resampling adds noise
    once more: the percentile interval of a perfectly calibrated answerer never contains 0. By the triangle inequality,
    however, the measured error is above the true one by at most the error of the noise alone, which the bootstrap
    imitates by the difference between resample and sample. The upper percentile is right, as such an error is a convex
    function of the weights.

    Args:
        error: The measured error.
        resampled: The error of each bootstrap resample, shape [resamples].
        noise: The error of the difference in weights between each resample and the sample, shape [resamples].
    """
    low = max(0.0, error - float(np.quantile(noise, (1 + COVERAGE) / 2)))
    return low, max(low, float(np.quantile(resampled, (1 + COVERAGE) / 2)))


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """Confidence and accuracy in bins of equal width. A bin without questions has the count 0, and otherwise NaN.

    Attributes:
        edges: Edges of the bins, shape [bins + 1].
        count: Number of questions, shape [bins].
        confidence: Mean confidence, shape [bins].
        accuracy: Share of correct answers, shape [bins].
        low: Lower bound of the 95 % Wilson interval of the accuracy, shape [bins].
        high: Upper bound, shape [bins].
    """

    edges: Array
    count: Indices
    confidence: Array
    accuracy: Array
    low: Array
    high: Array


def reliability_curve(confidence: Array, correct: Array, *, bins: int = BINS) -> ReliabilityCurve:
    """The accuracy at each level of confidence, in the bins of `gaps_by_bin`."""
    number = bin_number(confidence, bins)
    count, right, total = (np.bincount(number, weights, bins) for weights in (None, correct, confidence))
    per_question = np.divide(1, count, out=np.full(bins, np.nan), where=count > 0)
    low, high = wilson(right, np.where(count > 0, count, np.nan))
    edges = np.linspace(0, 1, bins + 1)
    return ReliabilityCurve(edges, count, total * per_question, right * per_question, low, high)


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
    by_level = [sums_by(level, outcome, len(levels)) for outcome in (correct, 1 - correct)]

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


def bin_number(share: Array, bins: int) -> Indices:
    """The bin of equal width that each share is in, from 0. A share at an edge belongs to the bin above, 1 to the last.

    A comparison with edges such as 3 / 10 would put 0.3 into the bin below, as neither is exact.
    """
    return np.minimum((share * bins + EDGE).astype(np.int64), bins - 1)


def sums_by(group: Indices, values: Array, groups: int) -> csr_array:
    """A matrix that adds up, for each group, the weights of its questions times their values.

    Args:
        group: Group of each question, shape [questions].
        values: Value of each question.
        groups: Number of groups.

    Returns:
        Shape [groups, questions].
    """
    from scipy.sparse import csr_array

    return csr_array((values, (group, np.arange(len(group)))), shape=(groups, len(group)))
