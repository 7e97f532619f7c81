"""The figure of the report that draws one number of each configuration against another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ragsweep.core.style import MARKERS, dress, figure, in_legend, is_number, shades, shown
from ragsweep.report.settings_charts import WIDE
from ragsweep.report.value_words import kind_of_interval
from ragsweep.statistics.intervals import Array
from ragsweep.sweeps import Decision, Outcome, Sweep
from ragsweep.tasks.metric import Metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZES = (22, 75)  # of the smallest and the largest marker
RING = 190
ROOM = 0.25  # on each side of the points, as a share of their range
EDGE = 0.2  # of the room beyond the highest possible value, so that points there are drawn whole
MOST_VALUES = 8  # of a setting that is told apart by colours or markers


def against(decision: Decision) -> Figure:
    """What does each configuration gain, and what does it give up?"""
    sweep, plots = decision.sweep, decision.plots
    whiskers_are = kind_of_interval(sweep, *(name for pair in plots for name in pair))
    lines = f"; lines: the same configuration at every other {sweep.cutoff}" if sweep.cutoff else ""
    drawing = figure(
        WIDE,
        1.1 + 3.5 * len(plots),
        "What does each configuration gain and give up?",
        f"One point per run, mean over queries; whiskers: {whiskers_are}\nRing: the choice{lines}",
        right=1.75,
        top=1.0,
    )
    panels = drawing.subplots(len(plots), 1, squeeze=False, gridspec_kw={"hspace": 0.3})[:, 0]
    for axes, (y, x) in zip(panels, plots, strict=True):
        draw_against(decision, y, x, axes)
    panels[0].legend(handles=_legend(sweep), loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=8.5)
    return drawing


def draw_against(decision: Decision, y: str, x: str, axes: Axes) -> None:
    """Draw a metric or measure of every run over another one."""
    sweep = decision.sweep
    known = {outcome: (outcome.value(x), outcome.value(y)) for outcome in sweep.outcomes}
    points = {outcome: (left, up) for outcome, (left, up) in known.items() if left is not None and up is not None}
    styles = _styles(sweep)
    drawn: set[str] = set()
    for outcome, place in points.items():
        colour, marker, size = (style.get(outcome.swept.get(name), first) for name, style, first in styles)
        ends = {"xerr": _whiskers(outcome, x), "yerr": _whiskers(outcome, y)}
        axes.errorbar(*place, **ends, color=colour, elinewidth=1, alpha=0.6, zorder=2)
        axes.scatter(*place, color=[colour], marker=marker, s=size, edgecolors="white", linewidths=0.6, zorder=3)
        curves, label = outcome.facts.curves, sweep.label(outcome)
        if label not in drawn and curves.get(x) and curves.get(y):
            drawn.add(label)
            axes.plot(curves[x], curves[y], color=colour, linewidth=0.8, alpha=0.6, zorder=1)
    for choice in decision.choices.values():
        if choice.named in points:
            axes.scatter(*points[choice.named], s=RING, facecolors="none", edgecolors="#222222", zorder=4)
    across, upwards = np.array([*points.values()]).T
    axes.set_xlim(*_limits(across, sweep.metric_info[x]))
    axes.set_ylim(*_limits(upwards, sweep.metric_info[y]))
    axes.set_xlabel(_named(sweep.metric_info[x]))
    axes.set_ylabel(_named(sweep.metric_info[y]))
    dress(axes, grid="both")


def _named(metric: Metric) -> str:
    unit = "" if not metric.unit or metric.unit.casefold() == metric.title.casefold() else f" ({metric.unit})"
    return shown(f"{metric.title}{unit}")


def _limits(values: Array, metric: Metric) -> tuple[float, float]:
    """Ends of an axis around the points, within the bounds of the metric; the lines may go further."""
    low, high = float(values.min()), float(values.max())
    room = ROOM * (high - low or abs(high) or 1)
    return max(low - room, metric.low), min(high + room, metric.high + EDGE * room)


def _whiskers(outcome: Outcome, name: str) -> Any:
    """How far the interval of a number reaches below and above it, shape [2, 1]; None if it has none."""
    ends, value = outcome.interval(name), outcome.value(name)
    return None if ends is None or value is None else np.array([[value - ends[0]], [ends[1] - value]]).clip(min=0)


def _styles(sweep: Sweep) -> list[tuple[str, Mapping[Any, Any], Any]]:
    """Colour, marker and size: the setting that each stands for, what it is for each value, and what it is otherwise.

    The setting with most values gets colours, if they are few enough to be told apart.
    """
    names = sorted((name for name in sweep.axes if name != sweep.cutoff), key=lambda name: -len(sweep.axes[name]))
    few = [name for name in names if len(sweep.axes[name]) <= MOST_VALUES]
    many = [name for name in names if name not in few and all(map(is_number, sweep.axes[name]))]
    coloured, marked = [*few, "", ""][:2]
    sized = next(iter([*few[2:], *many]), "")
    values = {name: sweep.axes.get(name, []) for name in (coloured, marked, sized)}
    steps = np.linspace(*SIZES, max(2, len(values[sized])))
    return [
        (coloured, shades(values[coloured]), shades([0])[0]),
        (marked, dict(zip(values[marked], MARKERS, strict=False)), "o"),
        (sized, dict(zip(values[sized], steps, strict=False)), float(np.mean(SIZES))),
    ]


def _legend(sweep: Sweep) -> list[Any]:
    """A mark for each value of the settings that are told apart."""
    from matplotlib.lines import Line2D

    (coloured, colours, _), (marked, markers, marker), (sized, sizes, size) = _styles(sweep)
    grey = "#777777"
    looks = [(coloured, value, each, "o", size) for value, each in colours.items()]
    looks += [(marked, value, grey, each, size) for value, each in markers.items()]
    looks += [(sized, value, grey, marker, each) for value, each in sizes.items()]
    labels = in_legend(*(f"{sweep.short(name)} {f'{own:g}' if is_number(own) else own}" for name, own, *_ in looks))
    return [
        Line2D(
            [],
            [],
            linestyle="",
            color=ink,
            marker=shape,
            markersize=np.sqrt(area),
            label=label,
        )
        for (_, _, ink, shape, area), label in zip(looks, labels, strict=True)
    ]
