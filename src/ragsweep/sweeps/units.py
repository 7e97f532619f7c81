"""The values that tests take as independent: those of the queries, or of their groups."""

from __future__ import annotations

from ragsweep.statistics.intervals import Array
from ragsweep.sweeps.sweep import Sweep


def units(sweep: Sweep, metric: str) -> Array:
    """One metric of every outcome, higher is better: by query, or the totals by group, shape [outcomes, units]."""
    return sweep.groups.totals(sweep.sign(metric) * sweep.scores(metric))


def span(sweep: Sweep, metric: str) -> float:
    """The largest possible difference between two of these values, perhaps infinite."""
    return sweep.groups.widest(sweep.metric_info[metric].span)
