"""Charts that show how certain the decision is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ragsweep.core.style import (
    BEST,
    BLUE,
    INTERVALS,
    MARKERS,
    dress,
    figure,
    in_legend,
    label,
    panels,
    shades,
    shown,
    ticks,
)
from ragsweep.statistics.intervals import EQUAL, first_best
from ragsweep.sweeps import Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_CELLS = 200  # of a heat map; in larger ones, ties are computed only for the deciding metric
MOST_NUMBERS = 60  # of cells; in larger heat maps, values are not printed in the cells
MOST_BARS = 15
MOST_CURVES = 6
GREY = "#b5b5b5"


def heat_map(sweep: Sweep, x: str, y: str) -> Figure:
    """Where is the plateau, and where does it end?"""
    rows = sweep.like_best(x, y).dropna(subset=[x, y])
    panel_ties = len(rows) <= MOST_CELLS
    framed = "the best of the panel, the dot" if panel_ties else f"the best {sweep.metric_title}"
    columns, lines = ([value for value in sweep.values_of(name) if value in set(rows[name])] for name in (x, y))
    fixed = sweep.fixed_settings(x, y)
    drawing = figure(
        12.5,
        6.6,
        f"Which {sweep.short(x)} and {sweep.short(y)} are as good as the best?",
        f"Mean over queries, dark is high; framed: cannot be told apart from {framed} (p > 0.05){fixed}\n"
        "The test measures how consistently queries differ, so a lower mean can be tied while a higher one is worse",
        left=0.9,
        top=1.25,
    )
    used, _ = panels(drawing, len(sweep.metrics), wspace=0.08, hspace=0.22)
    for axes, metric in zip(used, sweep.metrics, strict=True):
        values = np.full((len(lines), len(columns)), np.nan)
        tied = np.zeros(values.shape, dtype=bool)
        cells = [(lines.index(row[y]), columns.index(row[x])) for _, row in rows.iterrows()]
        for cell, value, alike in zip(cells, rows[metric], _tied(sweep, rows, metric), strict=True):
            values[cell], tied[cell] = value, alike
        axes.imshow(values, origin="lower", aspect="auto", cmap="Blues")
        low, high = np.nanmin(values), np.nanmax(values)
        if values.size <= MOST_NUMBERS:
            for (line, column), value in np.ndenumerate(values):
                if not np.isnan(value):
                    ink = "white" if value - low > 0.6 * (high - low) else "#222222"
                    number = f"{value:.2f}" if len(columns) < 8 else f"{value:.2f}".lstrip("0")
                    axes.text(column, line, number, ha="center", va="center", fontsize=7.5, color=ink)
        _outline(axes, tied)
        best = cells[int(first_best(sweep.sign(metric) * rows[metric].to_numpy()))]
        axes.plot(best[1] + 0.36, best[0] + 0.3, "o", color=BEST, markersize=5)
        axes.set_title(sweep.title(metric), fontsize=11)
        axes.set_xticks(*ticks(columns))
        axes.set_yticks(*ticks(lines))
        axes.tick_params(length=0, labelsize=8)
    label(used, sweep.short(x), sweep.short(y))
    return drawing


def _tied(sweep: Sweep, rows: pd.DataFrame, metric: str) -> Any:
    """Which rows cannot be told apart from the best by this metric."""
    positions = rows["outcome"].to_numpy()
    if metric == sweep.decided_by:
        return sweep.decision.with_best.tied[positions]
    if len(rows) > MOST_CELLS:
        return np.zeros(len(rows), dtype=bool)
    return sweep.compared_with_best(metric, positions).tied


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


def best_against_baseline(sweep: Sweep) -> Figure:
    """On which queries does the best win, and on which does it lose?"""
    decision, metric = sweep.decision, sweep.metric_title
    other = decision.baseline.reference if decision.baseline else sweep.table["outcome"].iloc[1]
    scores = sweep.scores(sweep.decided_by)
    differences = np.sort(sweep.sign(sweep.decided_by) * (scores[decision.best] - scores[other]))[::-1]
    wins, losses = int((differences > EQUAL).sum()), int((differences < -EQUAL).sum())
    role = "baseline" if decision.baseline else "runner-up"
    drawing = figure(
        10,
        4.8,
        f"On which queries does the best configuration beat the {role}?",
        f"{sweep.best['name']} minus {sweep.outcomes[other].name}\nOne bar per query: {wins} better, "
        f"{len(differences) - wins - losses} equal, {losses} worse; line: mean {differences.mean():+.3f}",
        top=1.1,
    )
    axes = drawing.subplots()
    colours = [BLUE if difference > 0 else BEST for difference in differences]
    axes.bar(np.arange(len(differences)), differences, width=1, color=colours, edgecolor="white", linewidth=0.2)
    axes.axhline(0, color="#444444", linewidth=0.8)
    axes.axhline(differences.mean(), color="#000000", linewidth=1.2, linestyle="--")
    axes.set_xlabel("queries, from the greatest gain to the greatest loss")
    axes.set_ylabel(f"difference in {metric}")
    axes.set_xlim(-1, len(differences))
    dress(axes)
    return drawing


def by_cutoff(sweep: Sweep, metric: str) -> Figure:
    """How does a metric grow with the cutoff?"""
    rows, label, free = _compared(sweep)
    shown = rows[rows.index.isin(rows.nlargest(MOST_CURVES, sweep.decided_by).index)]
    some = f"; the best {len(shown)} of {len(rows)}" if len(shown) < len(rows) else ""
    title = sweep.title(metric)
    drawing = figure(
        9,
        5,
        f"How does {title} grow with the cutoff?",
        f"Mean {title} over queries; bands: {INTERVALS}{some}{sweep.fixed_settings('k', *free)}",
        right=2.2,
    )
    axes = drawing.subplots()
    colours = shades(list(rows[label]))
    longest = 0
    for index, (_, row) in enumerate(shown.iterrows()):
        facts = sweep.outcomes[row["outcome"]].facts
        curve = facts.curves.get(metric, ())
        cutoffs = np.arange(1, len(curve) + 1)
        longest = max(longest, len(curve))
        if metric in facts.intervals:  # runs of version 0.1.0 have none
            band = {"color": colours[row[label]], "alpha": 0.13, "linewidth": 0}
            axes.fill_between(cutoffs, *facts.intervals[metric], **band)
        marker = MARKERS[index % len(MARKERS)]
        axes.plot(
            cutoffs,
            curve,
            color=colours[row[label]],
            marker=marker,
            markersize=4,
            label=in_legend(f"{'' if label == 'method' else sweep.short(label) + ' '}{row[label]}"),
        )
    measured = sweep.values_of("k")
    for k in measured:
        axes.axvline(k, color="#777777", linewidth=0.9, linestyle=":")
    if measured:
        axes.text(max(measured), 1.015, " measured at the dotted k", fontsize=8, color="#555555", ha="center")
    axes.set_xlabel("cutoff k (passages)")
    axes.set_ylabel(title)
    axes.set_xlim(0.5, longest + 0.5)
    axes.set_xticks([1, *range(5, longest + 1, 5 * max(1, longest // 50))])
    axes.set_ylim(0, 1)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    dress(axes)
    return drawing


def _compared(sweep: Sweep) -> tuple[pd.DataFrame, str, Sequence[str]]:
    """Rows to compare, the column that names them, and the settings that differ: methods, or values of a setting."""
    others = [name for name in sweep.axes if name != "k"]
    if len(sweep.methods) > 1 or not others:
        return sweep.methods, "method", sweep.method_settings
    rows = sweep.like_best(others[0]).dropna(subset=[others[0]]).drop_duplicates(others[0])
    return rows, others[0], others[:1]


def win_frequency(sweep: Sweep) -> Figure:
    """Which configuration is best when these queries are resampled?"""
    wins, tied = sweep.decision.wins, sweep.decision.with_best.tied
    order = np.argsort(-wins, kind="stable")[:MOST_BARS]
    order = order[wins[order] >= min(0.001, wins.max())]
    names = [shown(sweep.outcomes[position].name) for position in order]
    beside = 0.3 + 0.085 * max(map(len, names))
    left = len(wins) - len(order)
    others = f"; others: {abs(1 - wins[order].sum()):.1%}" if left else ""
    drawing = figure(
        max(beside + 6, 7.2),  # room for the question
        1.7 + 0.3 * len(order),
        "Which configuration is best when these queries are resampled?",
        f"Share of bootstrap resamples of the {len(sweep.queries)} queries with the {sweep.highest} "
        f"{sweep.metric_title}{others}\nDark: cannot be told apart from the best (p > 0.05). "
        "Favours the luckier of equal configurations",
        left=beside,
        top=1.0,
    )
    axes = drawing.subplots()
    colours = [BLUE if tied[position] else GREY for position in order]
    axes.barh(np.arange(len(order)), wins[order], color=colours, height=0.7)
    for place, position in enumerate(order):
        axes.text(wins[position] + 0.01, place, f"{wins[position]:.1%}", va="center", fontsize=9)
    axes.set_yticks(range(len(order)), names)
    axes.invert_yaxis()
    axes.set_xlim(0, max(wins[order]) * 1.15)
    axes.xaxis.set_major_formatter("{x:.0%}")
    axes.set_xlabel("share of resamples")
    dress(axes, grid="x")
    return drawing
