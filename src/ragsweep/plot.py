"""The figures of a report, each drawn into axes of your own.

    >>> import matplotlib.pyplot as plt
    >>> _, axes = plt.subplots()
    >>> ragsweep.plot.by_cutoff(ragsweep.decision("3f0c..."), axes)

Each takes a decision of `ragsweep.decision` or `ragsweep.sweep`. Charts of a single cutoff show that of
the headline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragsweep.core.errors import ConfigError
from ragsweep.report import report_charts, setting_charts
from ragsweep.report.notebook import SweepDecision

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["by_cutoff", "differences", "front", "heat_map", "one_setting"]


def by_cutoff(decision: SweepDecision, axes: Axes, metric: str | None = None) -> None:
    """What a larger cutoff buys: a metric over the cutoff, with bands where it has intervals.

    Args:
        decision: The decision.
        axes: Where to draw.
        metric: One that was measured at every cutoff; None for the first of `decision.gains`.
    """
    curves = decision.decision.named.facts.at_k
    drawn = metric or decision.decision.gain
    if drawn is None or drawn not in curves:
        raise ConfigError(f"metric: found {drawn!r}, expected one that has a curve: {', '.join(curves) or 'none has'}")
    report_charts.draw_by_cutoff(decision.decision, drawn, axes)
    axes.legend(frameon=False)


def front(decision: SweepDecision, axes: Axes, cost: str | None = None) -> None:
    """Quality over a cost, with the configurations marked that nothing else beats.

    Args:
        decision: The decision.
        axes: Where to draw.
        cost: One of `decision.costs`; None for the first.
    """
    fronts = {front.cost: front for front in decision.decision.fronts}
    chosen = cost or next(iter(fronts), "")
    if chosen not in fronts:
        raise ConfigError(f"cost: found {cost!r}, expected one with a front: {', '.join(fronts) or 'none has one'}")
    report_charts.draw_front(decision.decision, fronts[chosen], axes)
    axes.legend(frameon=False)


def one_setting(decision: SweepDecision, axes: Axes, setting: str) -> None:
    """The deciding metric over one swept setting, with intervals."""
    _check_settings(decision, setting)
    setting_charts.draw_one_setting(decision.decision, setting, axes)


def heat_map(decision: SweepDecision, axes: Axes, x: str, y: str) -> None:
    """The deciding metric over two swept settings; framed is what cannot be told apart from the best."""
    _check_settings(decision, x, y)
    setting_charts.draw_heat_map(decision.decision, x, y, axes)


def differences(decision: SweepDecision, axes: Axes) -> None:
    """The difference of each query between the best configuration and the baseline, or the runner-up."""
    level = decision.decision.headline.allowed
    if len(level.outcomes) < 2 or not level.is_mean(level.decided_by):
        raise ConfigError("expected two configurations and a metric that has a value for every query")
    report_charts.draw_differences(level, axes)


def _check_settings(decision: SweepDecision, *settings: str) -> None:
    axes = list(decision.decision.headline.allowed.axes)
    for name in settings:
        if name not in axes:
            raise ConfigError(f"found {name!r}, expected a setting that was swept: {', '.join(axes) or 'none was'}")
