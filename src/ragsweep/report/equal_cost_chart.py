"""The figure of the report about what a cost buys, where configurations are compared at equal cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ragsweep.core.style import LONGEST_NAME, MARKERS, dress, figure, in_legend, legend_below, shades, shown
from ragsweep.report.settings_charts import WIDE
from ragsweep.report.value_words import in_sentence, kind_of_interval
from ragsweep.sweeps import Decision, Outcome

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LINES = 7
STEPS = 100  # of a line


def over_cost(decision: Decision, metric: str) -> Figure:
    """What does a cost buy?"""
    sweep = decision.sweep
    title, cost = sweep.title(metric), in_sentence(sweep.title(sweep.budgeted or ""))
    dots = f"the measured {decision.measured.cutoff}{'' if decision.is_interpolated else 's'}"
    drawing = figure(
        WIDE,
        4.2,
        f"What do more {cost} buy?",
        f"Mean {title} over queries; bands: {kind_of_interval(decision.measured, metric)}\n"
        f"Dots: {dots}; dotted: where configurations are compared; ring: the choice",
        top=1.1,
    )
    axes = drawing.subplots()
    draw_over_cost(decision, metric, axes)
    legend_below(drawing, axes)
    return drawing


def draw_over_cost(decision: Decision, metric: str, axes: Axes) -> None:
    """Draw a metric over the cost at which configurations are compared, with the choice at each budget."""
    from matplotlib.ticker import LogLocator, NullLocator

    sweep, cost = decision.sweep, decision.sweep.budgeted or ""
    lines = _lines(decision)
    lines = {label: runs for label, runs in lines.items() if runs}
    colours, names = shades([*lines]), in_legend(*lines, longest=LONGEST_NAME)
    for index, (label, runs) in enumerate(lines.items()):
        x = [run.value(cost) or 0 for run in runs]
        y = [run.value(metric) or 0 for run in runs]
        bounds = [run.interval(metric) or (value, value) for run, value in zip(runs, y, strict=True)]
        steps = np.geomspace(x[0], x[-1], STEPS)  # straight lines are bent by the logarithmic axis
        low, high = (np.interp(steps, x, ends) for ends in np.transpose(bounds))
        axes.fill_between(steps, low, high, color=colours[label], alpha=0.13, linewidth=0)
        axes.plot(steps, np.interp(steps, x, y), color=colours[label])
        marker = MARKERS[index % len(MARKERS)]
        axes.plot(x, y, color=colours[label], linestyle="", marker=marker, markersize=4, label=names[index])
    for budget, choice in decision.choices.items():
        axes.axvline(budget or 0, color="#777777", linewidth=0.9, linestyle=":")
        spent, value = choice.named.value(cost) or 0, choice.named.value(metric) or 0
        axes.scatter(spent, value, s=110, facecolors="none", edgecolors="#222222", linewidths=1.3, zorder=4)
    about, bounds_of = sweep.metric_info[cost], sweep.metric_info[metric]
    unit = "" if about.unit.casefold() == about.title.casefold() else f" ({about.unit})"
    axes.set_xlabel(shown(f"{about.title}{unit}"))
    axes.set_ylabel(sweep.title(metric))
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.xaxis.set_minor_locator(NullLocator())
    if np.isfinite([bounds_of.low, bounds_of.high]).all():
        axes.set_ylim(bounds_of.low, bounds_of.high)
    dress(axes)


def _lines(decision: Decision) -> dict[str, list[Outcome]]:
    """The measured runs of some configurations by ascending cost: those that are chosen, then the best ones."""
    measured = decision.measured
    labels = [decision.sweep.label(choice.named) for choice in decision.choices.values()]
    ranked = [decision.headline.allowed.outcomes[row] for row in decision.headline.allowed.table["outcome"]]
    labels += [*map(decision.sweep.label, ranked), *map(measured.label, measured.outcomes)]
    cost = decision.sweep.budgeted or ""
    drawn = list(dict.fromkeys(labels))[:MOST_LINES]
    order = [label for label in dict.fromkeys(map(measured.label, measured.outcomes)) if label in drawn]
    return {
        label: sorted(
            (run for run in measured.outcomes if measured.label(run) == label and run.value(cost)),
            key=lambda run: run.value(cost) or 0,
        )
        for label in order
    }
