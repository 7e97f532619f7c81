"""Runs whose answers vary: those that were measured once, and where the variance of the others lies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ragsweep.statistics.repeats import components
from ragsweep.sweeps.choice import units
from ragsweep.sweeps.sweep import Sweep


class Split(NamedTuple):
    """The variance of one answer, in the squared unit of the deciding metric.

    Attributes:
        configuration: Between configurations.
        question: Between questions, the mean over the configurations; with groups, between their totals.
        repeat: Between repeats, the same.
        residual: What else differs when a question is asked again, the same.
    """

    configuration: float
    question: float
    repeat: float
    residual: float


def asked_once(sweep: Sweep) -> list[str]:
    """Names of the runs whose answers vary, and that were measured once."""
    return [run.name for run in sweep.outcomes if run.facts.varies and run.facts.repeats == 1]


def split(sweep: Sweep) -> Split | None:
    """Where the variance lies. None unless each of several runs was measured several times, and by a mean."""
    metric, runs = sweep.decided_by, sweep.outcomes
    known = [run.facts.repeated[metric] for run in runs if metric in run.facts.repeated]
    parts = [(each.question, each.repeat, each.residual) for each in known if each.repeat is not None]
    if len(parts) < len(runs) or len(runs) < 2 or sweep.groups.number < 2:
        return None
    question, repeat, residual = np.array(parts, dtype=float).mean(axis=0).tolist()
    by_repeats = float(np.mean([part[1] / len(each.means) for part, each in zip(parts, known, strict=True)]))
    return Split(max(0.0, components(units(sweep, metric)).repeat - by_repeats), question, repeat, residual)
