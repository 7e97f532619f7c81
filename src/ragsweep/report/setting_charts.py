"""Charts of the deciding metric over one setting, and over two, at the cutoff of the headline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ragsweep.core import style
from ragsweep.report.sweep_charts import draw_cells
from ragsweep.statistics.intervals import first_best
from ragsweep.sweeps import Decision, Sweep

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

ROOM = 45  # characters that fit along the axis
LEAST_SPAN = 0.02  # of an axis, so that a difference of nothing does not look like one
NONE = "(none)"  # where configurations do not have a setting
MOST_COLUMNS = 9  # of which the cells have room for numbers


def limits(drawn: tuple[float, float], sweep: Sweep, metric: str) -> tuple[float, float]:
    """The ends of a metric's axis: around what is drawn, and within the metric's range."""
    middle, half = sum(drawn) / 2, max(drawn[1] - drawn[0], LEAST_SPAN) / 2
    edge, range_ = 0.04 * half, sweep.metric_info[metric]  # the edge is for dots at the ends of the range
    return max(middle - half, range_.low - edge), min(middle + half, range_.high + edge)


def of_two_settings(decision: Decision, x: str, y: str) -> pd.DataFrame:
    """The configurations of a heat map: those with the other settings of the named one, the best of each cell."""
    level = decision.headline.allowed
    rows = level.like(level.row(decision.named), x, y)
    return rows.astype({x: object, y: object}).fillna({x: NONE, y: NONE}).drop_duplicates([x, y])


def draw_heat_map(decision: Decision, x: str, y: str, axes: Axes) -> None:
    """Draw the deciding metric over two settings."""
    level = decision.headline.allowed
    sign, metric, rows = level.sign(level.decided_by), level.decided_by, of_two_settings(decision, x, y)
    columns, lines = ([v for v in [*level.values_of(name), NONE] if v in set(rows[name])] for name in (x, y))
    cells = tuple(np.array([[lines.index(row[y]), columns.index(row[x])] for _, row in rows.iterrows()]).T)
    values = np.full((len(lines), len(columns)), np.nan)
    values[cells], tied = rows[metric], np.zeros(values.shape, dtype=bool)
    tied[cells] = level.standings.with_best.tied[rows["outcome"].to_numpy()]
    low, high = np.nanmin(sign * values), np.nanmax(sign * values)
    digits = 2 if len(columns) <= MOST_COLUMNS else None
    draw_cells(axes, values, (sign * values - low) / (high - low or 1), tied, digits)
    axes.invert_yaxis()
    line, column = (places[first_best(sign * rows[metric].to_numpy())] for places in cells)
    axes.plot(column + 0.38, line + 0.28, "o", color=style.BEST, markersize=5)
    names = shown_values(columns)
    axes.set_xticks(range(len(columns)), names, rotation=90 if are_long(names) else 0)
    axes.set_yticks(range(len(lines)), shown_values(lines))
    axes.set_xlabel(style.shown(level.short(x)))
    axes.set_ylabel(style.shown(level.short(y)))


def draw_one_setting(decision: Decision, x: str, axes: Axes) -> None:
    """Draw the deciding metric over a setting; a line for each value that is a name."""
    level = decision.headline.allowed
    rows, metric = level.table.dropna(subset=[x]), level.decided_by
    values = [value for value in level.values_of(x) if value in set(rows[x])]
    numeric, places = all(map(style.is_number, values)), style.positions(values)
    rows = rows.assign(place=rows[x].map(dict(zip(values, places, strict=True)))).sort_values("place")
    if numeric:
        axes.plot(rows["place"], rows[metric], color="#9a9a9a", linewidth=1, zorder=1)
    tied = level.standings.with_best.tied[rows["outcome"].to_numpy()]
    for group, ink in ((rows[tied], style.BEST), (rows[~tied], style.BLUE)):
        looks: dict[str, Any] = {"fmt": "o", "color": ink, "capsize": 3, "clip_on": False}
        if numeric and len(group):
            axes.errorbar(group["place"], group[metric], yerr=style.whiskers(group, metric), **looks)
        elif len(group):
            axes.errorbar(group[metric], group["place"], xerr=style.whiskers(group, metric), **looks)
    if numeric:
        axes.set_xticks(*style.ticks(values, at=places, room=ROOM))
        axes.margins(x=0.08)
        axes.set(xlabel=style.shown(level.short(x)), ylabel=level.metric_title)
        axes.set_ylim(limits(axes.get_ylim(), level, metric))
    else:
        axes.set_yticks(places, shown_values(values))
        axes.set_ylim(len(values) - 0.4, -0.6)
        axes.set_xlabel(level.metric_title)
        axes.set_xlim(limits(axes.get_xlim(), level, metric))
    style.dress(axes, grid="y" if numeric else "x")


def shown_values(values: Sequence[Any]) -> list[str]:
    """The values of a setting as the ends of lines show them."""
    return style.shown_apart(
        [f"{value:g}" if style.is_number(value) else value for value in values], style.LONGEST_IN_LEGEND
    )


def room_of(names: list[str]) -> float:
    """Room for names at the end of their lines, in inches."""
    return 0.45 + 0.085 * max(map(len, names))


def are_long(names: list[str]) -> bool:
    """Whether names have no room side by side below a chart."""
    return (max(map(len, names)) + 2) * len(names) > ROOM
