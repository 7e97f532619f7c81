"""A promise about questions that should find nothing: the lowest threshold that keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragsweep.statistics.certified_threshold import CertifiedThreshold, certify_threshold
from ragsweep.statistics.intervals import Array
from ragsweep.sweeps.outcome import Outcome
from ragsweep.sweeps.sweep import Sweep
from ragsweep.tasks.false_finds import ThresholdWords


@dataclass(frozen=True)
class ThresholdPromise:
    """A promised rate of false finds.

    Attributes:
        metric: Name of the rate.
        rate: The largest promised one.
        questions: Number of questions that should find nothing.
        certificate: What they show about it, for the configuration that was chosen.
        hits: Share of the other questions that get what is right without a threshold.
        kept: Share of those that still do with the certified one.
        words: How the task speaks of a threshold.
    """

    metric: str
    rate: float
    questions: int
    certificate: CertifiedThreshold
    hits: float
    kept: float
    words: ThresholdWords


def threshold_promise(sweep: Sweep, named: Outcome) -> ThresholdPromise | None:
    """What the questions that should find nothing show about their promise in `decision.target`; None without one.

    The configuration is chosen by other questions, which needs no correction, unless a metric of these takes part.
    """
    settings, measured = sweep.settings, named.facts.false_finds
    if measured is None or measured.metric not in (settings.target or {}):
        return None
    chosen_by = {sweep.decided_by, *(settings.require or ()), settings.prefer, *settings.costs}
    curves = {each.facts.false_finds.scores for each in sweep.outcomes if each.facts.false_finds}
    rate = (settings.target or {})[measured.metric]
    found = _scores(measured.found)
    certificate = certify_threshold(
        _scores(measured.scores),
        rate,
        others=found,
        configurations=1 if chosen_by.isdisjoint(measured.metrics) else len(curves),
    )
    reached = found[found > -np.inf]
    hits, kept = (float((reached >= threshold).sum() / len(found)) for threshold in (-np.inf, certificate.threshold))
    return ThresholdPromise(measured.metric, rate, len(measured.scores), certificate, hits, kept, measured.words)


def _scores(recorded: Sequence[float | None]) -> Array:
    return np.array([-np.inf if each is None else each for each in recorded])
