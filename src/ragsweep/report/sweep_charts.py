"""Charts that hold the configurations of a sweep side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ragsweep.report.style import BEST, MARKERS, dress, figure, shades, word
from ragsweep.report.sweep import ALPHA, METHOD_SETTINGS, Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INTERVALS = "95 % bootstrap interval over queries"
MOST_ROWS = 40
ROOM = {"wspace": 0.1, "hspace": 0.3}  # between panels
MOST_METHODS = 6


def draw(sweep: Sweep) -> Iterator[tuple[str, Figure]]:
    """Every chart that the sweep has the data for, with its file name."""
    methods = sweep.methods
    grid = sweep.like_best(ALPHA, "configuration", "k")
    if len(methods) > 1:
        yield "1_retrieval_methods_comparison.png", retrieval_methods(sweep, methods)
    if ALPHA in grid and grid[ALPHA].nunique() > 1:
        yield "2_alpha_sensitivity.png", sensitivity(sweep, grid, x=ALPHA, lines="k")
    if grid["k"].nunique() > 1:
        yield "3_topk_analysis.png", sensitivity(sweep, grid, x="k", lines=ALPHA)
    if len(sweep.table) > 1:
        yield "4_comprehensive_comparison.png", comparison(sweep)
    if len(methods) > 1:
        yield "5_radar_chart.png", radar(sweep, methods)


def retrieval_methods(sweep: Sweep, methods: pd.DataFrame) -> Figure:
    """Which retrieval method is best?"""
    drawing = figure(
        11,
        5,
        f"Which retrieval method is best? {_at_k(methods)}",
        f"Mean over queries; whiskers: {INTERVALS}{sweep.held('k', *METHOD_SETTINGS)}",
        right=2.2,
    )
    axes = drawing.subplots()
    colours = shades(list(methods["method"]))
    width = 0.8 / len(methods)
    position = np.arange(len(sweep.metrics))
    for index, (_, row) in enumerate(methods.iterrows()):
        means, whiskers = _means_and_whiskers(row, sweep.metrics)
        axes.bar(
            position + (index - (len(methods) - 1) / 2) * width,
            means,
            0.92 * width,
            yerr=whiskers,
            color=colours[row["method"]],
            ecolor="#444444",
            capsize=1.5,
            error_kw={"linewidth": 0.8},
            label=row["method"],
        )
    axes.set_xticks(position, [word(name) for name in sweep.metrics])
    axes.set_ylabel("mean over queries")
    axes.set_ylim(0, 1)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    dress(axes)
    return drawing


def sensitivity(sweep: Sweep, grid: pd.DataFrame, *, x: str, lines: str) -> Figure:
    """How does each metric follow one setting, for every value of another?"""
    names = {ALPHA: "alpha", "k": "k"}
    question = {ALPHA: "How much does alpha matter?", "k": "How many passages should be retrieved?"}[x]
    drawing = figure(
        12,
        6.4,
        question,
        f"Mean over queries; whiskers: {INTERVALS}{sweep.held(ALPHA, 'configuration', 'k')}",
        left=0.7,
        top=1.1,
    )
    columns = (len(sweep.metrics) + 2) // 2
    panels = drawing.subplots(2, columns, squeeze=False, sharex=True, sharey=True, gridspec_kw=ROOM).ravel()
    values = sorted(grid[lines].dropna().unique()) if lines in grid else []
    values = values or [None]
    colours = shades(values, "viridis" if lines == ALPHA else "plasma")
    step = (grid[x].max() - grid[x].min()) * 0.012  # beside each other, so that no whisker hides another
    for place, (axes, metric) in enumerate(zip(panels, sweep.metrics, strict=False)):
        for index, value in enumerate(values):
            rows = (grid if value is None else grid[grid[lines] == value]).sort_values(x)
            whiskers = [rows[metric] - rows[f"{metric}_low"], rows[f"{metric}_high"] - rows[metric]]
            axes.errorbar(
                rows[x] + step * (index - (len(values) - 1) / 2),
                rows[metric],
                yerr=whiskers,
                color=colours[value],
                marker=MARKERS[index % len(MARKERS)],
                markersize=5,
                elinewidth=0.9,
                label="all" if value is None else f"{names[lines]} = {value:g}",
            )
        axes.set_title(word(metric), fontsize=11)
        dress(axes)
        if place + columns >= len(sweep.metrics):  # nothing below
            axes.set_xlabel("alpha (0 sparse, 1 dense)" if x == ALPHA else "k (passages)")
            axes.tick_params(labelbottom=True)
        if place % columns == 0:
            axes.set_ylabel("mean over queries")
    if grid[x].nunique() <= 6:
        panels[0].set_xticks(sorted(grid[x].unique()))
    panels[0].set_ylim(0, None)
    handles, labels = panels[0].get_legend_handles_labels()
    for axes in panels[len(sweep.metrics) :]:
        axes.axis("off")
    if len(values) > 1:
        panels[-1].legend(handles, labels, loc="center", frameon=False)
    return drawing


def comparison(sweep: Sweep) -> Figure:
    """Which configuration is best, by every metric?"""
    rows = sweep.table.head(MOST_ROWS)
    left_out = f"; the best {MOST_ROWS} of {len(sweep.table)}" if len(sweep.table) > MOST_ROWS else ""
    beside = 0.3 + 0.085 * max(map(len, rows["configuration"]))
    drawing = figure(
        beside + 7,
        1.4 + 0.3 * len(rows),
        "Which configuration is best, by every metric?",
        f"Mean over queries, by F1{left_out}; dark is high within a column, framed is its best",
        left=beside,
        bottom=0.2,
        top=1.2,
    )
    axes = drawing.subplots()
    values = rows[list(sweep.metrics)].to_numpy()
    low, high = values.min(axis=0), values.max(axis=0)
    shade = np.divide(values - low, high - low, out=np.full_like(values, 0.5), where=high > low)
    axes.imshow(shade, aspect="auto", cmap="Blues", vmin=-0.05, vmax=1.1)
    for (y, x), value in np.ndenumerate(values):
        axes.text(
            x,
            y,
            f"{value:.3f}",
            ha="center",
            va="center",
            fontsize=9,
            color="white" if shade[y, x] > 0.6 else "#111111",
            fontweight="bold" if value == high[x] else None,
        )
        if value == high[x]:
            _frame(axes, x, y)
    axes.set_xticks(range(len(sweep.metrics)), [word(name) for name in sweep.metrics])
    axes.set_yticks(range(len(rows)), rows["configuration"])
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return drawing


def radar(sweep: Sweep, methods: pd.DataFrame) -> Figure:
    """Where is each retrieval method strong?"""
    some = f"; the best {MOST_METHODS} of {len(methods)}" if len(methods) > MOST_METHODS else ""
    drawing = figure(
        9,
        6.6,
        f"Where is each retrieval method strong? {_at_k(methods)}",
        f"Mean over queries, 0 at the centre{some}{sweep.held('k', *METHOD_SETTINGS)}",
        left=0.9,
        right=2.8,
        top=1.2,
    )
    axes = drawing.subplots(subplot_kw={"projection": "polar", "theta_offset": np.pi / 2})
    angles = np.linspace(0, 2 * np.pi, len(sweep.metrics), endpoint=False)
    colours = shades(list(methods["method"]))
    shown = set(methods.nlargest(MOST_METHODS, "f1").index)
    for index, (label, row) in enumerate(methods.iterrows()):
        if label not in shown:
            continue
        values = row[list(sweep.metrics)].to_numpy(dtype=float)
        axes.plot(
            np.append(angles, angles[0]),
            np.append(values, values[0]),
            color=colours[row["method"]],
            marker=MARKERS[index % len(MARKERS)],
            markersize=4,
            label=row["method"],
        )
    axes.set_xticks(angles, [word(name) for name in sweep.metrics])
    axes.tick_params(axis="x", pad=14)
    axes.set_ylim(0, 1)
    axes.set_yticks([0.2, 0.4, 0.6, 0.8], ["0.2", "0.4", "0.6", "0.8"], fontsize=8, color="#555555")
    axes.legend(loc="center left", bbox_to_anchor=(1.18, 0.5), frameon=False)
    return drawing


def _at_k(rows: pd.DataFrame) -> str:
    return f"At k = {rows['k'].iloc[0]}"


def _means_and_whiskers(row: pd.Series, metrics: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    means = np.array([row[name] for name in metrics])
    low = np.array([row[f"{name}_low"] for name in metrics])
    high = np.array([row[f"{name}_high"] for name in metrics])
    return means, np.array([means - low, high - means])


def _frame(axes: Axes, x: int, y: int) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, fill=False, edgecolor=BEST, linewidth=2))
