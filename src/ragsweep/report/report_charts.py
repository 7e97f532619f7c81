"""Which charts the report of a sweep gets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ragsweep.report.decision_charts import best_against_baseline, by_cutoff, cost_fronts
from ragsweep.report.settings_charts import heat_map, one_setting
from ragsweep.report.sweep_charts import by_use
from ragsweep.report.threshold_chart import left_by_thresholds
from ragsweep.sweeps import Decision

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BY_CUTOFF, FRONT, HEAT_MAP = "by_cutoff.svg", "cost_fronts.svg", "heat_map.svg"
ONE_SETTING, AGAINST = "one_setting.svg", "best_against_baseline.svg"
THRESHOLDS = "lowest_score.svg"


def report_charts(decision: Decision) -> Iterator[tuple[str, Figure]]:
    """The figures of the report with their file names: at most five."""
    sweep, level = decision.sweep, decision.headline.allowed
    over_cutoffs = len(decision.choices) > 1 if sweep.budgeted else bool(sweep.cutoff)  # a run has a curve over k
    if decision.gain and decision.gain in decision.named.facts.curves and over_cutoffs:
        yield BY_CUTOFF, by_cutoff(decision, decision.gain)
    axes = by_use(level) if len(level.table) > 1 else []
    if len(axes) > 1 and len(level.like(level.row(decision.named), *axes[:2])) > 1:
        yield HEAT_MAP, heat_map(decision, *axes[:2])
    elif len(axes) == 1:
        yield ONE_SETTING, one_setting(decision, axes[0])
    if decision.fronts:  # the tallest one: the others have room beside it
        yield FRONT, cost_fronts(decision)
    if (others := decision.named.facts.false_finds) and any(score is not None for score in others.scores):
        yield THRESHOLDS, left_by_thresholds(decision)
    if sweep.is_mean(sweep.decided_by) and len(level.table) > 1:
        yield AGAINST, best_against_baseline(decision)
