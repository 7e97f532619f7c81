"""The figures of the report that show swept settings, at the cutoff of the headline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ragsweep.core.style import (
    BEST,
    BLUE,
    LONGEST_IN_LEGEND,
    MOST_TICKS,
    dress,
    figure,
    is_number,
    positions,
    shown,
    shown_apart,
    ticks,
    whiskers,
)
from ragsweep.report.value_words import at, kind_of_interval
from ragsweep.statistics.intervals import first_best
from ragsweep.sweeps import Decision

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


WIDE = 6.6  # inches: what a phone can show without losing the labels
ROOM = 60  # characters that fit along the axis
NONE = "(none)"  # where configurations do not have a setting
MOST_NUMBERS = 60  # of cells; in larger heat maps, values are not printed in the cells
BEHIND = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.8}  # background of a label that lines cross


def heat_map(decision: Decision, x: str, y: str) -> Figure:
    """Where is the plateau, and where does it end?"""
    level = decision.headline.allowed
    lines = len(level.values_of(y))
    drawing = figure(
        WIDE,
        1.9 + 0.45 * lines,
        f"Which are as good as the best{at(decision.sweep, decision.headline)}?",
        f"Mean {level.metric_title} over queries, dark is better; the dot is the best\n"
        f"Framed: cannot be told apart from the best{decision.fixed_settings(x, y, level.cutoff)}",
        left=1.0,
        top=1.15,
        bottom=0.55,
    )
    draw_heat_map(decision, x, y, drawing.subplots())
    return drawing


def draw_heat_map(decision: Decision, x: str, y: str, axes: Axes) -> None:
    """Draw the deciding metric over two settings, at the cutoff of the headline."""
    level = decision.headline.allowed
    metric = level.decided_by
    rows = level.like(level.row(decision.named), x, y)
    rows = (
        rows.astype({x: object, y: object}).fillna({x: NONE, y: NONE}).drop_duplicates([x, y])
    )  # the best comes first
    columns, lines = (
        [value for value in [*level.values_of(name), NONE] if value in set(rows[name])] for name in (x, y)
    )
    values = np.full((len(lines), len(columns)), np.nan)
    tied = np.zeros(values.shape, dtype=bool)
    cells = [(lines.index(row[y]), columns.index(row[x])) for _, row in rows.iterrows()]
    for cell, value, alike in zip(
        cells, rows[metric], level.standings.with_best.tied[rows["outcome"].to_numpy()], strict=True
    ):
        values[cell], tied[cell] = value, alike
    sign = level.sign(metric)
    axes.imshow(sign * values, origin="lower", aspect="auto", cmap="Blues")
    low, high = np.nanmin(sign * values), np.nanmax(sign * values)
    if values.size <= MOST_NUMBERS:
        for (line, column), value in np.ndenumerate(values):
            if not np.isnan(value):
                ink = "white" if sign * value - low > 0.6 * (high - low) else "#222222"
                number = f"{value:.2f}" if len(columns) < 8 else f"{value:.2f}".lstrip("0")
                axes.text(column, line, number, ha="center", va="center", fontsize=8.5, color=ink)
    _outline(axes, tied)
    best = cells[int(first_best(sign * rows[metric].to_numpy()))]
    axes.plot(best[1] + 0.36, best[0] + 0.3, "o", color=BEST, markersize=5)
    axes.set_xticks(*ticks(columns))
    axes.set_yticks(*ticks(lines))
    axes.tick_params(length=0, labelsize=9)
    axes.set_xlabel(shown(level.short(x)))
    axes.set_ylabel(shown(level.short(y)))


def one_setting(decision: Decision, x: str) -> Figure:
    """How much does the only swept setting matter at one cutoff?"""
    level = decision.headline.allowed
    names = long_names(level.values_of(x))
    drawing = figure(
        WIDE,
        2.0 + 0.25 * len(names) if names else 3.8,
        f"How much does {level.short(x)} matter{at(decision.sweep, decision.headline)}?",
        f"Mean {level.metric_title} over queries; whiskers: {kind_of_interval(level, level.decided_by)}\n"
        "Orange: cannot be told apart from the best (p > 0.05). The test is paired, the intervals are not",
        top=1.1,
        **({"left": 0.45 + 0.085 * max(map(len, names))} if names else {}),
    )
    draw_one_setting(decision, x, drawing.subplots())
    return drawing


def long_names(values: Sequence[Any]) -> list[str]:
    """The values of a setting, if they are names that do not fit side by side below a chart; else nothing."""
    if all(map(is_number, values)):
        return []
    names = shown_apart(values, LONGEST_IN_LEGEND)
    return names if (max(map(len, names)) + 1) * len(names) > ROOM or len(names) > MOST_TICKS else []


def draw_one_setting(decision: Decision, x: str, axes: Axes) -> None:
    """Draw the deciding metric over a setting, at the cutoff of the headline."""
    level = decision.headline.allowed
    rows = level.table.dropna(subset=[x])
    values = [value for value in level.values_of(x) if value in set(rows[x])]
    places = dict(zip(values, positions(values), strict=True))
    names = long_names(values)
    metric = level.decided_by
    rows = rows.assign(place=rows[x].map(places)).sort_values("place")
    if all(map(is_number, values)):
        axes.plot(rows["place"], rows[metric], color="#9a9a9a", linewidth=1, zorder=1)
    tied = level.standings.with_best.tied[rows["outcome"].to_numpy()]
    for some, ink in ((tied, BEST), (~tied, BLUE)):
        if some.any():
            few = rows[some]
            if names:
                axes.errorbar(few[metric], few["place"], xerr=whiskers(few, metric), fmt="o", color=ink, capsize=3)
            else:
                axes.errorbar(few["place"], few[metric], yerr=whiskers(few, metric), fmt="o", color=ink, capsize=3)
    if names:
        axes.set_yticks(positions(values), names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.set_xlabel(level.metric_title)
        axes.set_ylabel(shown(level.short(x)))
    else:
        axes.set_xticks(*ticks(values, at=positions(values), room=ROOM))
        axes.set_xlabel(shown(level.short(x)))
        axes.set_ylabel(level.metric_title)
        axes.margins(x=0.08)
    dress(axes)


def _outline(axes: Axes, region: np.ndarray) -> None:
    """Draw a line around the cells of a region."""
    padded = np.pad(region, 1)
    for line, column in zip(*np.nonzero(padded), strict=True):
        x, y = column - 1.5, line - 1.5
        sides = {(0, -1): ((x, x), (y, y + 1)), (0, 1): ((x + 1, x + 1), (y, y + 1))}
        sides |= {(-1, 0): ((x, x + 1), (y, y)), (1, 0): ((x, x + 1), (y + 1, y + 1))}
        for (up, right), ends in sides.items():
            if not padded[line + up, column + right]:
                axes.plot(*ends, color=BEST, linewidth=2.2, solid_capstyle="projecting", clip_on=False)
