"""Which charts the report of a sweep gets, and what the caption of each says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ragsweep.core.style import is_number
from ragsweep.report import decision_charts as charts
from ragsweep.report.settings_charts import heat_map, of_two_settings, one_setting
from ragsweep.report.sweep_charts import by_use
from ragsweep.sweeps import Decision

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BY_CUTOFF, FRONT, HEAT_MAP = "by_cutoff.svg", "cost_fronts.svg", "heat_map.svg"
ONE_SETTING, AGAINST, THRESHOLDS = "one_setting.svg", "best_against_baseline.svg", "lowest_score.svg"


class ReportChart(NamedTuple):
    """A chart of the report.

    Attributes:
        name: Its file.
        caption: What it shows, and how many configurations it leaves out.
        draw: Draws it.
    """

    name: str
    caption: str
    draw: Callable[[], Figure]


def report_charts(decision: Decision) -> Iterator[tuple[str, Figure]]:
    """The charts of the report with their file names: at most five."""
    return ((chart.name, chart.draw()) for chart in charts_of(decision))


def captions_of(decision: Decision) -> dict[str, str]:
    """The caption of each chart of the report, by file name."""
    return {chart.name: chart.caption for chart in charts_of(decision)}


def charts_of(decision: Decision) -> Iterator[ReportChart]:
    """The charts of the report, not yet drawn."""
    sweep, level = decision.sweep, decision.headline.allowed
    fronts = decision.fronts
    over_cutoffs = len(decision.choices) > 1 if sweep.budgeted else bool(sweep.cutoff)  # a run has a curve over k
    if decision.gain and decision.gain in decision.named.facts.at_k and over_cutoffs:
        drawn, every = len(charts.compared_by_cutoff(decision)), sweep.configurations
        band = (
            ", with its 95 % interval" if decision.gain in decision.named.facts.at_k_ci and not sweep.budgeted else ""
        )
        caption = f"Means over queries. Marked: the swept {sweep.cutoff}. Thick: the choice{band}."
        yield ReportChart(
            BY_CUTOFF, caption + _of(drawn, every, "the best "), partial(charts.by_cutoff, decision, decision.gain)
        )
        if drawn == every:  # it shows this front, too
            shown = (decision.gain, charts.cost_of_cutoff(decision))
            fronts = [front for front in fronts if (front.quality, front.cost) != shown]
    axes, every = by_use(level) if len(level.table) > 1 else [], len(level.table)
    if len(axes) > 1 and len(level.like(level.row(decision.named), *axes[:2])) > 1:
        caption = "Dark is better. Framed: cannot be told apart from the best, which has the dot."
        x, y = sorted(axes[:2], key=lambda name: not all(map(is_number, level.values_of(name))))  # names beside it
        drawn = len(of_two_settings(decision, x, y))
        yield ReportChart(HEAT_MAP, caption + _of(drawn, every), partial(heat_map, decision, x, y))
    elif len(axes) == 1:
        caption = "Means over queries with 95 % intervals. Orange: cannot be told apart from the best, query by query."
        drawn = len(level.table.dropna(subset=axes))
        yield ReportChart(ONE_SETTING, caption + _of(drawn, every), partial(one_setting, decision, axes[0]))
    if fronts:  # the tallest one: the others have room beside it
        caption = "Grey: another one is shown to be cheaper or better, and not worse in the other. Ring: the choice."
        yield ReportChart(FRONT, caption, partial(charts.cost_fronts, decision, fronts))
    if (measured := decision.named.facts.false_finds) and any(score is not None for score in measured.scores):
        caption = (
            f"What a lowest {measured.words.scale} leaves, of the choice: the share of the questions of each kind."
        )
        yield ReportChart(THRESHOLDS, caption, partial(charts.left_by_thresholds, decision))
    if sweep.is_mean(sweep.decided_by) and len(level.table) > 1:
        best, other = (level.outcomes[place].name for place in (level.best, charts.other_than_best(level)))
        caption = f"A bar per query: {best} minus {other}. Dashed: the mean."
        yield ReportChart(AGAINST, caption, partial(charts.best_against_baseline, decision))


def _of(drawn: int, every: int, which: str = "") -> str:
    return f" Drawn: {which}{drawn} of {every} configurations." if drawn < every else ""
