"""How well the confidence of the answers fits their accuracy: metrics, further numbers and their intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from ragsweep.core.terminal import counted
from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import COVERAGE, Array, Indices, resample_weights
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.task import Measure, Score, mean_scores
from ragsweep_answers.measuring.measures.calibration import (
    BrierParts,
    ReliabilityCurve,
    Statistic,
    brier,
    brier_parts,
    brier_skill_of,
    error_interval,
    gaps_by_bin,
    mce_of,
    reliability_curve,
)
from ragsweep_answers.measuring.measures.discrimination import (
    accuracy_over_coverage,
    auroc_of,
    confidence_by_correctness,
)

BRIER = Metric("brier", "Brier score", higher_is_better=False, low=0, high=1)
ECE = Metric("ece", "Calibration error", higher_is_better=False, low=0, high=1)

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
    """What is known of the confidence, over the answers that have one. Intervals are bootstrap intervals over cases.

    Attributes:
        answers: Number of answers with a confidence.
        confidence: Their mean confidence.
        accuracy: Share of them that is correct.
        brier: Brier score.
        ece: Calibration error in bins of equal width.
        mce: Largest calibration error of a bin of equal width.
        skill: Brier skill score; None if all answers are correct or all are wrong.
        auroc: AUROC of the confidence; None if all answers are correct or all are wrong.
        parts: Decomposition of the Brier score.
        aurc: Area under the risk-coverage curve.
        of_correct: Mean confidence of the correct answers; None if there are none.
        of_wrong: Mean confidence of the wrong answers; None if there are none.
        curve: Confidence and accuracy in each bin of equal width.
    """

    answers: int
    confidence: float
    accuracy: float
    brier: Estimate
    ece: Estimate
    mce: float
    skill: Estimate | None
    auroc: Estimate | None
    parts: BrierParts
    aurc: float
    of_correct: float | None
    of_wrong: float | None
    curve: ReliabilityCurve

    def measures(self) -> Iterator[Measure]:
        """The single numbers; those that are undefined are left out."""
        yield Measure(KNOWN_BRIER, self.brier.value)
        yield Measure(KNOWN_ECE, self.ece.value)
        if self.skill:
            yield Measure(SKILL, self.skill.value)
        yield Measure(MCE, self.mce)
        if self.auroc:
            yield Measure(AUROC, self.auroc.value)

    def facts(self) -> dict[str, Any]:
        """What `measures` leaves out, as a JSON-compatible value."""
        filled = self.curve.count > 0
        bounds = {
            "brier_with_confidence": self.brier,
            "ece_with_confidence": self.ece,
            "brier_skill": self.skill,
            "auroc": self.auroc,
        }
        return {
            "answers_with_confidence": self.answers,
            **{f"{name}_low": each.low for name, each in bounds.items() if each},
            **{f"{name}_high": each.high for name, each in bounds.items() if each},
            "brier_parts": self.parts._asdict(),
            "aurc": self.aurc,
            "confidence_by_correctness": {"correct": self.of_correct, "incorrect": self.of_wrong},
            "calibration_curve": {
                name: values[filled].tolist() for name, values in asdict(self.curve).items() if name != "edges"
            },
        }


@dataclass(frozen=True, eq=False)
class Confidence:
    """The answers that have a confidence, at least one.

    Attributes:
        rows: Their positions among the cases, shape [answers].
        cases: Number of all cases.
        confidence: Their confidence, shape [answers].
        correct: Whether they are correct, 0 or 1, shape [answers].
        bins: Bins of the calibration error.
        resamples: Number of bootstrap resamples.
        seed: Of the bootstrap.
        groups: The groups of all cases; None if each is alone.
    """

    rows: Indices
    cases: int
    confidence: Array
    correct: Array
    bins: int
    resamples: int
    seed: int
    groups: Groups | None = None

    @classmethod
    def of(
        cls, confidence: Array, correct: Array, *, bins: int, groups: Groups | None = None, resamples: int, seed: int
    ) -> Confidence | None:
        """The arguments are those of `confidence_scores`. None if no answer has a confidence."""
        rows = np.flatnonzero(~np.isnan(confidence))
        if not len(rows):
            return None
        return cls(rows, len(correct), confidence[rows], correct[rows], bins, resamples, seed, groups)

    @cached_property
    def summary(self) -> ConfidenceSummary:
        """Everything that is known of these answers."""
        known, equal = (self.confidence, self.correct), np.full(len(self.rows), 1 / len(self.rows))
        squared, gaps = brier(*known), gaps_by_bin(*known, bins=self.bins)
        skill, auroc = brier_skill_of(*known), auroc_of(*known)
        statistics: list[Statistic] = [lambda weight: squared @ weight, lambda weight: gaps @ weight]
        statistics += [each for each in (skill, auroc) if each]
        with threadpool_limits(1, user_api="blas"):  # threads that wait for each other take longer, if others work, too
            blocks = [[statistic(weight) for statistic in statistics] for weight in self._weights()]
        briers, resampled_gaps, *others = (np.concatenate(each, axis=-1) for each in zip(*blocks, strict=True))
        right, wrong = confidence_by_correctness(*known)
        return ConfidenceSummary(
            answers=len(self.rows),
            confidence=float(self.confidence.mean()),
            accuracy=float(self.correct.mean()),
            brier=_estimate(squared.mean(), briers),
            ece=_ece(gaps @ equal, resampled_gaps),
            mce=float(mce_of(*known, bins=self.bins)(equal)),
            skill=_estimate(skill(equal), others[0]) if skill else None,
            auroc=_estimate(auroc(equal), others[1]) if auroc else None,
            parts=brier_parts(*known, bins=self.bins),
            aurc=accuracy_over_coverage(*known, np.ones(len(self.rows), bool)).aurc,
            of_correct=right,
            of_wrong=wrong,
            curve=reliability_curve(*known, bins=self.bins),
        )

    def _weights(self) -> Iterator[Array]:
        """The weights of these answers in each resample of all cases, in blocks of shape [answers, resamples].

        A resample without any of these answers is left out.
        """
        for block in resample_weights(self.cases, self.resamples, self.seed, self.groups):
            if len(self.rows) == self.cases:
                yield block
            else:
                weight = block[self.rows]
                total = weight.sum(axis=0)
                if not total.all():
                    weight, total = weight[:, total > 0], total[total > 0]
                weight /= total
                yield weight


def confidence_scores(
    confidence: Array, correct: Array, *, bins: int, groups: Groups | None = None, resamples: int, seed: int
) -> tuple[Score, Score]:
    """Brier score and calibration error over all questions, with their intervals.

    A question without a confidence, for example without an answer, counts as the largest error, 1. So an answerer never
    gains by saying nothing. Too few confidences are not measured at all; see `too_few`.

    Args:
        confidence: 0 to 1, shape [questions]; NaN if there is none.
        correct: 0 or 1, shape [questions].
        bins: Bins of the calibration error.
        groups: Those of the questions.
        resamples: Number of bootstrap resamples.
        seed: Of the bootstrap.
    """
    [score] = mean_scores([BRIER], brier(confidence, correct)[None], groups=groups, resamples=resamples, seed=seed)
    gaps = gaps_by_bin(confidence, correct, bins=bins)
    weights = resample_weights(len(correct), resamples, seed, groups)
    resampled = np.concatenate([gaps @ weight for weight in weights], axis=1)
    found = _ece(gaps.sum(axis=1) / len(correct), resampled)
    return score, Score(ECE, *found, resampled=np.abs(resampled).sum(axis=0))


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
    return Estimate(error, *error_interval(error, np.abs(resampled).sum(axis=0), noise))
