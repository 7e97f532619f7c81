"""Charts of sweeps over three or more settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ragsweep.core.style import (
    BEST,
    BLUE,
    INTERVALS,
    LONGEST_WORD,
    MOST_AXES,
    dress,
    figure,
    is_number,
    positions,
    shown,
    ticks,
)
from ragsweep.statistics import confidence_intervals
from ragsweep.sweeps import Sweep

if TYPE_CHECKING:
    from matplotlib.figure import Figure


BEHIND = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.8}  # background of a label that lines cross


def parallel_coordinates(sweep: Sweep) -> Figure:
    """Which combinations of settings do well?"""
    from matplotlib import colormaps

    metric, table = sweep.decided_by, sweep.table
    names = list(sweep.axes)[:MOST_AXES]
    drawing = figure(
        1.5 + 1.9 * len(names) + 1.5,
        5.4,
        "Which combinations of settings do well?",
        f"One line per configuration, through its settings to its {sweep.metric_title}; dark is high. Orange: the best "
        "(thick), and those that\ncannot be told apart from it (p > 0.05)",
        left=0.9,
        right=0.9,
        top=1.25,
        bottom=0.5,
    )
    axes = drawing.subplots()
    means = table[metric].to_numpy(dtype=float)
    heights = [*(_heights(sweep.axes[name], table[name]) for name in names), _scaled(means, means.min(), means.max())]
    places = np.arange(len(heights))
    points = np.array(heights).T  # [configurations, axes]
    complete = ~np.isnan(points).any(axis=1)  # some configurations do not have every setting
    shade = colormaps["Blues"](0.15 + 0.8 * heights[-1])
    tied = sweep.decision.with_best.tied[table["outcome"]]
    for row in np.flatnonzero(complete)[::-1]:  # the best last, so that it is on top
        width = 2.8 if row == 0 else 1.2
        axes.plot(places, points[row], color=BEST if tied[row] else shade[row], linewidth=width, zorder=1 + tied[row])
    for place, name in enumerate(names):
        axes.axvline(place, color="#444444", linewidth=0.8)
        for height, label in zip(*_labels(sweep.axes[name]), strict=True):
            axes.text(place - 0.03, height, label, ha="right", va="center", fontsize=9, bbox=BEHIND, zorder=3)
    axes.axvline(places[-1], color="#444444", linewidth=0.8)
    for height in np.linspace(0, 1, 5):
        label = f"{means.min() + height * (means.max() - means.min()):.3f}"
        axes.text(places[-1] + 0.03, height, label, ha="left", va="center", fontsize=9)
    axes.set_xticks(places, [*(shown(sweep.short(name), LONGEST_WORD) for name in names), sweep.title(metric)])
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.set_yticks([])
    axes.set_xlim(-0.25, places[-1] + 0.25)
    axes.set_ylim(-0.05, 1.05)
    axes.spines[:].set_visible(False)
    return drawing


def main_effects(sweep: Sweep) -> Figure:
    """What does each setting do, averaged over all others?"""
    metric = sweep.decided_by
    scores = sweep.scores(metric)
    drawing = figure(
        1 + 2.6 * min(len(sweep.axes), MOST_AXES),
        4.2,
        "What does each setting do, averaged over all others?",
        f"Mean {sweep.title(metric)} of all configurations with that value; whiskers: {INTERVALS}",
    )
    shown_axes = list(sweep.axes.items())[:MOST_AXES]
    panels = drawing.subplots(1, len(shown_axes), sharey=True, squeeze=False, gridspec_kw={"wspace": 0.08})[0]
    for place, (axes, (name, values)) in enumerate(zip(panels, shown_axes, strict=True)):
        outcomes = [sweep.table[sweep.table[name] == value]["outcome"].to_numpy() for value in values]
        averaged = np.array([scores[rows].mean(axis=0) for rows in outcomes])  # [values, queries]
        means = averaged.mean(axis=1)
        low, high = confidence_intervals(averaged, resamples=sweep.resamples, seed=sweep.seed)
        axes.errorbar(
            positions(values), means, yerr=np.abs([means - low, high - means]), fmt="o-", color=BLUE, capsize=3
        )
        axes.set_xticks(*ticks(values, at=positions(values)))
        axes.set_xlabel(shown(sweep.short(name), LONGEST_WORD))
        axes.margins(x=0.12)
        if not all(map(is_number, values)):
            axes.tick_params(axis="x", labelsize=6, labelrotation=12)
        if place == 0:
            axes.set_ylabel(f"mean {sweep.title(metric)}")
        dress(axes)
    return drawing


def _heights(values: list[Any], column: Any) -> np.ndarray:
    """Height of each configuration on an axis, from 0 to 1. NaN if it does not have the setting."""
    at = dict(zip(values, positions(values), strict=True))
    return _scaled(np.array([at.get(value, np.nan) for value in column]), min(at.values()), max(at.values()))


def _labels(values: list[Any]) -> tuple[np.ndarray, list[str]]:
    at, labels = ticks(values, at=positions(values))
    return _scaled(np.array(at), min(positions(values)), max(positions(values))), labels


def _scaled(values: np.ndarray, low: float, high: float) -> np.ndarray:
    return (values - low) / (high - low) if high > low else np.full(len(values), 0.5)
