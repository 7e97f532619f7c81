"""How well the confidence of the answers fits their accuracy: metrics, further numbers and their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from ragsweep.core.terminal import counted
from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import COVERAGE, Array, resample_weights
from ragsweep.tasks.metric import Metric, Unread
from ragsweep.tasks.scores import Measure, Score, mean_scores
from ragsweep_answers.measuring.measures import calibration
from ragsweep_answers.measuring.measures.calibration import BrierParts, ReliabilityCurve, gaps_by_bin

BRIER = Metric("brier", "Brier score", higher_is_better=False, low=0, high=1)
ECE = Metric("ece", "Calibration error", higher_is_better=False, low=0, high=1, is_mean=False)

KNOWN_BRIER = Metric(
    "confidence/brier_with_confidence", "Brier score of answers with a confidence", "", False, low=0, high=1
)
KNOWN_ECE = Metric(
    "confidence/ece_with_confidence", "Calibration error of answers with a confidence", "", False, low=0, high=1
)
SKILL = Metric("confidence/brier_skill", "Brier skill score", high=1)
MCE = Metric("confidence/mce", "Largest calibration error of a bin", higher_is_better=False, low=0, high=1)
AUROC = Metric("confidence/auroc", "AUROC of the confidence", low=0, high=1)
MEASURES = (KNOWN_BRIER, KNOWN_ECE, SKILL, MCE, AUROC)

LEAST_CONFIDENCES = 30  # of fewer, a calibration error says next to nothing
LEAST_SHARE = 0.1  # of the answers; with fewer, those with a confidence are an odd sample of them


def too_few(stated: int, answers: int, lost: int = 0) -> str:
    """Why calibration is not measured; empty if it is.

    Args:
        stated: Answers that have a confidence.
        answers: Answers that could be read.
        lost: Answers whose confidence could not be used, such as 85 for a number from 0 to 1, or is missing.
    """
    have = f"{stated} of {counted(answers, 'answer')} {'has' if stated == 1 else 'have'} a confidence"
    if stated < LEAST_CONFIDENCES:
        return f"{have}, and calibration needs {LEAST_CONFIDENCES}"
    if stated < LEAST_SHARE * answers:
        return f"{have}, and calibration needs a tenth of them"
    if lost > stated:
        return (
            f"{have}, and {lost} more have one that is out of range or missing, so the others may mean something else"
        )
    return ""


class Estimate(NamedTuple):
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class ConfidenceSummary:
    """What is known of the confidence, over the answers that have one.

    Attributes:
        answers: Number of answers with a confidence.
        confidence: Their mean confidence.
        accuracy: Share of them that is correct.
        estimates: The `MEASURES`, with bootstrap intervals over cases but for the largest error of a bin. There is
            neither skill nor AUROC if all answers are correct or all are wrong.
        parts: Decomposition of the Brier score.
        aurc: Area under the risk-coverage curve.
        of_correct: Mean confidence of the correct answers; None if there are none.
        of_wrong: Mean confidence of the wrong answers; None if there are none.
        curve: Confidence and accuracy in each bin.
    """

    answers: int
    confidence: float
    accuracy: float
    estimates: Mapping[Metric, Estimate]
    parts: BrierParts
    aurc: float
    of_correct: float | None
    of_wrong: float | None
    curve: ReliabilityCurve

    @property
    def measures(self) -> list[Measure]:
        """The single numbers."""
        return [Measure(metric, self.estimates[metric].value) for metric in MEASURES if metric in self.estimates]

    @property
    def facts(self) -> dict[str, Any]:
        """What `measures` leaves out, as a JSON-compatible value."""
        filled = self.curve.count > 0
        estimates = {
            metric.name.partition("/")[2]: value for metric, value in self.estimates.items() if metric is not MCE
        }
        return {
            "answers_with_confidence": self.answers,
            **{f"{name}_low": estimate.low for name, estimate in estimates.items()},
            **{f"{name}_high": estimate.high for name, estimate in estimates.items()},
            "brier_parts": self.parts._asdict(),
            "aurc": self.aurc,
            "confidence_by_correctness": {"correct": self.of_correct, "incorrect": self.of_wrong},
            "calibration_curve": {
                name: values[filled].tolist() for name, values in asdict(self.curve).items() if name != "edges"
            },
        }


def confidence_summary(
    confidence: Array, correct: Array, *, bins: int, groups: Groups | None = None, resamples: int, seed: int
) -> ConfidenceSummary | None:
    """What is known of the answers that have a confidence; None if none has. The arguments are as follows.

    Args:
        confidence: 0 to 1, shape [questions]; NaN if there is none.
        correct: 0 or 1, shape [questions].
        bins: Bins of the calibration error.
        groups: Those of the questions; None if each is alone.
        resamples: Number of bootstrap resamples.
        seed: Of the bootstrap.
    """
    stated = ~np.isnan(confidence)
    if not stated.any():
        return None
    answered = confidence[stated], correct[stated]
    answers, equal = len(answered[0]), np.full(stated.sum(), 1 / stated.sum())
    squared, gaps = calibration.brier(*answered), gaps_by_bin(*answered, bins=bins)
    statistics = {SKILL: calibration.brier_skill_of(*answered), AUROC: calibration.auroc_of(*answered)}
    defined = {metric: statistic for metric, statistic in statistics.items() if statistic}
    weights = _weights(stated, resample_weights(len(correct), resamples, seed, groups))
    with threadpool_limits(1, user_api="blas"):  # threads that wait for each other take longer, if others work, too
        blocks = [
            [squared @ weight, gaps @ weight, *(statistic(weight) for statistic in defined.values())]
            for weight in weights
        ]
    briers, resampled_gaps, *drawn = (np.concatenate(block, axis=-1) for block in zip(*blocks, strict=True))
    estimates = {
        KNOWN_BRIER: _estimate(squared.mean(), briers),
        KNOWN_ECE: _ece(gaps @ equal, resampled_gaps),
        MCE: Estimate(calibration.mce(*answered, bins=bins), np.nan, np.nan),
    }
    for (metric, statistic), values in zip(defined.items(), drawn, strict=True):
        estimates[metric] = _estimate(statistic(equal), values)
    right, wrong = (answered[0][answered[1] == value] for value in (1, 0))
    return ConfidenceSummary(
        answers=answers,
        confidence=float(answered[0].mean()),
        accuracy=float(answered[1].mean()),
        estimates=estimates,
        parts=calibration.brier_parts(*answered, bins=bins),
        aurc=calibration.accuracy_over_coverage(*answered, np.ones(answers, bool)).aurc,
        of_correct=float(right.mean()) if len(right) else None,
        of_wrong=float(wrong.mean()) if len(wrong) else None,
        curve=calibration.reliability_curve(*answered, bins=bins),
    )


def confidence_scores(
    confidence: Array,
    correct: Array,
    *,
    bins: int,
    groups: Groups | None = None,
    resamples: int,
    seed: int,
    unread: Unread | None = None,
) -> tuple[Score, Score]:
    """Brier score and calibration error over all questions, with their intervals.

    A question without a confidence, for example without an answer, counts as the largest error, 1. So an answerer never
    gains by saying nothing. Too few confidences are not measured at all; see `too_few`. The arguments are those of
    `confidence_summary`; `unread` says which measures tell of answers that could not be read.
    """
    squared = calibration.brier(confidence, correct)
    [score] = mean_scores([BRIER], squared[None], groups=groups, resamples=resamples, seed=seed)
    gaps = gaps_by_bin(confidence, correct, bins=bins)
    weights = resample_weights(len(correct), resamples, seed, groups)
    resampled = np.concatenate([gaps @ weight for weight in weights], axis=1)
    error = _ece(gaps.sum(axis=1) / len(correct), resampled)
    of_bins = Score(ECE, *error, resampled=np.abs(resampled).sum(axis=0), unread=unread)
    return replace(score, unread=unread), of_bins


def _weights(stated: Array, blocks: Iterator[Array]) -> Iterator[Array]:
    """The weights of some of the questions in each resample of all, in blocks of shape [answers, resamples].

    A resample without any of these answers is left out.
    """
    for block in blocks:
        if stated.all():
            yield block
        else:
            weight = block[stated]
            total = weight.sum(axis=0)
            yield weight[:, total > 0] / total[total > 0]


def _estimate(value: Array, resampled: Array) -> Estimate:
    """A value with its percentile bootstrap interval."""
    low, high = np.quantile(resampled, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
    return Estimate(float(value), float(low), float(high))


def _ece(measured: Array, resampled: Array) -> Estimate:
    """The calibration error with its interval.

    Args:
        measured: Gap of each bin, shape [bins + 1].
        resampled: The same in each resample, shape [bins + 1, resamples].
    """
    error = float(np.abs(measured).sum())
    noise = np.abs(resampled - measured[:, None]).sum(axis=0)
    return Estimate(error, *calibration.error_interval(error, np.abs(resampled).sum(axis=0), noise))
