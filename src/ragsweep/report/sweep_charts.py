"""The charts of the reference."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ragsweep.core import style
from ragsweep.report.value_words import at, kind_of_interval
from ragsweep.statistics.intervals import Array
from ragsweep.sweeps import Decision, Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ROWS = 40
MOST_METHODS = 6
MOST_LINES = 7
MOST_IN_A_LINE = 8  # titles of metrics


KNOWN = {  # the settings of which the reference has charts: file and title of the chart, and label of its axis
    "retriever.alpha": ("2_alpha_sensitivity.png", "How much does alpha matter?", "alpha (0 sparse, 1 dense)"),
    "k": ("3_topk_analysis.png", "How many passages should be retrieved?", "k (passages)"),
}


def reference_charts(decision: Decision) -> Iterator[tuple[str, Figure]]:
    """The five charts of the reference, where the sweep has what they show, with their file names."""
    sweep = decision.sweep
    if len(sweep.table) == 1:
        return
    axes = by_use(sweep)
    for x in (name for name in axes if name in KNOWN):
        lines = next((other for other in axes if other != x), None)
        if decision.like_named(x, lines, like=decision.best_with(x))[x].nunique() > 1:
            yield KNOWN[x][0], sensitivity(decision, x, lines)
    if len(decision.methods) > 1:
        yield "1_retrieval_methods_comparison.png", retrieval_methods(decision)
        if len(_where_higher_is_better(sweep)) > 1:
            yield "5_radar_chart.png", radar(decision)
    if len(decision.headline.allowed.table) > 1:
        yield "4_comprehensive_comparison.png", all_metrics(decision)


def by_use(sweep: Sweep) -> list[str]:
    """The axes of the sweep: the known ones first, then those with the most values."""
    axes = sorted(sweep.axes, key=lambda name: -len(sweep.axes[name]))
    return [*(name for name in KNOWN if name in axes), *(name for name in axes if name not in KNOWN)]


def retrieval_methods(decision: Decision) -> Figure:
    """Which method is best?"""
    sweep, methods = decision.sweep, decision.methods
    subtitle = f"Mean over queries; whiskers: {kind_of_interval(sweep, *sweep.metrics)}"
    subtitle += decision.fixed_settings(sweep.cutoff, *sweep.method_settings)
    drawing = style.figure(11, 5, f"Which method is best{at(sweep, decision.headline)}?", subtitle, right=2.2)
    axes = drawing.subplots()
    colours, width = style.shades(list(methods["method"])), 0.8 / len(methods)
    position = np.arange(len(sweep.metrics))
    intervals = np.array([style.whiskers(methods, metric) for metric in sweep.metrics])  # [metrics, ends, methods]
    for index, (method, name) in enumerate(zip(methods["method"], style.in_legend(*methods["method"]), strict=True)):
        where, means = position + (index - (len(methods) - 1) / 2) * width, methods[list(sweep.metrics)].iloc[index]
        error: dict[str, Any] = {"yerr": intervals[:, :, index].T, "ecolor": "#8a8a8a", "capsize": 1.5}
        axes.bar(where, means, 0.92 * width, color=colours[method], label=name, error_kw={"linewidth": 1.4}, **error)
    higher = _where_higher_is_better(sweep)
    titles = [sweep.title(name) + ("" if name in higher else "\n(lower is better)") for name in sweep.metrics]
    axes.set_xticks(position, titles)
    axes.set_ylabel("value of the metric")
    axes.set_ylim(min(0, axes.get_ylim()[0]), max(1, axes.get_ylim()[1]))  # user metrics can have any range
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    style.dress(axes)
    return drawing


def sensitivity(decision: Decision, x: str, lines: str | None) -> Figure:
    """How does each metric depend on one setting, for some values of another?"""
    sweep, like = decision.sweep, decision.best_with(x)
    rows = decision.like_named(x, lines, like=like).drop_duplicates([x, *filter(None, [lines])])  # the best comes first
    of_lines = _values_drawn(decision, lines) if lines else []
    groups = [(value, rows[rows[lines] == value].dropna(subset=[x])) for value in of_lines]
    groups = [(value, group) for value, group in groups if len(group)] or [("", rows.dropna(subset=[x]))]
    subtitle = f"Mean over queries; whiskers: {kind_of_interval(sweep, *sweep.metrics)}"
    if lines and len(of_lines) < len(sweep.axes[lines]):
        subtitle += f"; {len(of_lines)} of {len(sweep.axes[lines])} values of {sweep.short(lines)}"
    subtitle += decision.fixed_settings(x, lines, like=like)
    _, question, axis = KNOWN[x]
    drawing = style.figure(12, 6.4, question, subtitle, left=0.7, top=1.1)
    used, spare = style.panels(drawing, len(sweep.metrics), wspace=0.1, hspace=0.3)
    values = sweep.axes[x]
    places, numeric = dict(zip(values, style.positions(values), strict=True)), all(map(style.is_number, values))
    names = style.in_legend(
        *(f"{sweep.short(lines or '')} = {own:g}" if style.is_number(own) else own for own, _ in groups)
    )
    colours = style.shades([value for value, _ in groups])
    step = (max(places.values()) - min(places.values())) * 0.012  # so that whiskers do not overlap
    for index, (value, group) in enumerate(groups):
        where = group[x].map(places).sort_values()
        ordered = group.loc[where.index]
        beside = where.to_numpy() + step * (index - (len(groups) - 1) / 2)
        looks = {
            "color": colours[value],
            "marker": style.MARKERS[index % len(style.MARKERS)],
            "markersize": 5,
            "elinewidth": 0.9,
        }
        looks |= {"linestyle": "-" if numeric else "none", "label": names[index]}
        for axes, metric in zip(used, sweep.metrics, strict=True):
            axes.errorbar(beside, ordered[metric].to_numpy(), yerr=style.whiskers(ordered, metric), **looks)
    for axes, metric in zip(used, sweep.metrics, strict=True):
        axes.set_title(sweep.title(metric), fontsize=11, y=1)  # otherwise, matplotlib measures all labels to place it
        style.dress(axes)
        if not numeric:
            axes.tick_params(axis="x", labelsize=8 if len(values) < 4 else 6)
            axes.set_xlim(-0.6, len(values) - 0.4)
    style.label(used, axis, "mean over queries")
    used[0].set_xticks(*style.ticks(values, at=style.positions(values), room=30))
    used[0].set_ylim(min(0, *(sweep.table[f"{metric}_low"].min() for metric in sweep.metrics)), None)
    if len(groups) > 1:
        (spare or used[-1:])[0].legend(*used[0].get_legend_handles_labels(), loc="center", frameon=False)
    return drawing


def _values_drawn(decision: Decision, name: str) -> list[Any]:
    """The values of an axis. If there are many, every n-th one, including that of the named configuration."""
    values, own = decision.sweep.axes[name], decision.best[name]
    step = -(-len(values) // MOST_LINES)
    first = values.index(own) % step if own in values else 0
    return values[first::step]


def all_metrics(decision: Decision) -> Figure:
    """Which configuration is best, by every metric?"""
    sweep = decision.headline.allowed
    rows = sweep.table.head(MOST_ROWS)
    names = style.shown_apart([*rows["name"]])
    beside, many = 0.3 + 0.092 * max(map(len, names)), len(sweep.metrics) > MOST_IN_A_LINE
    titles = [textwrap.fill(title, 11) if many else title for title in map(sweep.title, sweep.metrics)]
    subtitle = (
        f"Mean over queries, sorted by {sweep.metric_title}{_best_of(len(rows), len(sweep.table))}; dark is better "
        "within a column, framed is its best\nBold names: cannot be told apart from the best (p > 0.05)"
    )
    title = f"Which configuration is best, by every metric{at(decision.sweep, decision.headline)}?"
    wide, top = beside + max(7, 0.85 * len(sweep.metrics)), 1.35 if many else 1.2
    drawing = style.figure(wide, 1.4 + 0.3 * len(rows), title, subtitle, left=beside, bottom=0.2, top=top)
    axes = drawing.subplots()
    values = rows[list(sweep.metrics)].to_numpy()
    better = values * [sweep.sign(name) for name in sweep.metrics]
    low, high = better.min(axis=0), better.max(axis=0)
    shade = np.divide(better - low, high - low, out=np.full_like(values, 0.5), where=high > low)
    draw_cells(axes, values, shade, better == high, digits=3)
    axes.set_xticks(range(len(sweep.metrics)), titles)
    axes.set_yticks(range(len(rows)), names)
    for name, tied in zip(axes.get_yticklabels(), sweep.standings.with_best.tied[rows["outcome"]], strict=True):
        name.set_fontweight("bold" if tied else "normal")
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    return drawing


def draw_cells(axes: Axes, values: Array, shade: Array, framed: np.ndarray, digits: int | None) -> None:
    """Draw a table of numbers as a heat map.

    Args:
        axes: Where to draw.
        values: The numbers, NaN where there is none, shape [rows, columns].
        shade: 0 for the lightest cell, 1 for the darkest, same shape.
        framed: Which cells are framed, same shape.
        digits: Of each number, after the point; None leaves the numbers out.
    """
    from matplotlib.patches import Rectangle

    axes.imshow(shade, aspect="auto", cmap="Blues", vmin=-0.05, vmax=1.1)
    for (line, column), value in np.ndenumerate(values):
        if digits is not None and not np.isnan(value):
            ink = "white" if shade[line, column] > 0.6 else "#111111"
            axes.text(column, line, f"{value:.{digits}f}", ha="center", va="center", fontsize=9, color=ink)
    for line, column in zip(*np.nonzero(framed), strict=True):
        corner = column - 0.48, line - 0.46
        axes.add_patch(Rectangle(corner, 0.96, 0.92, fill=False, edgecolor=style.BEST, linewidth=2))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _where_higher_is_better(sweep: Sweep) -> list[str]:
    return [name for name in sweep.metrics if sweep.metric_info[name].higher_is_better]


def _best_of(drawn: int, every: int) -> str:
    return f"; the best {drawn} of {every}" if drawn < every else ""


def radar(decision: Decision) -> Figure:
    """Where is each method strong?"""
    sweep, methods = decision.sweep, decision.methods
    score = sweep.sign(sweep.decided_by) * methods[sweep.decided_by]
    drawn = methods[methods.index.isin(score.nlargest(MOST_METHODS).index)]
    metrics = _where_higher_is_better(sweep)
    rim = max(1, drawn[metrics].to_numpy().max())
    subtitle = f"Mean over queries, 0 at the centre, {rim:.4g} at the rim{_best_of(len(drawn), len(methods))}"
    subtitle += decision.fixed_settings(sweep.cutoff, *sweep.method_settings)
    title = f"Where is each method strong{at(sweep, decision.headline)}?"
    drawing = style.figure(9, 6.6, title, subtitle, left=0.9, right=2.8, top=1.2)
    axes = drawing.subplots(subplot_kw={"projection": "polar", "theta_offset": np.pi / 2})
    angles = np.linspace(0, 2 * np.pi, len(metrics), endpoint=False)
    colours, names = style.shades(list(methods["method"])), style.in_legend(*drawn["method"])
    for index, (_, row) in enumerate(drawn.iterrows()):
        looks = {"color": colours[row["method"]], "marker": style.MARKERS[index % len(style.MARKERS)], "markersize": 4}
        values = row[metrics].to_numpy(dtype=float)
        axes.plot(np.append(angles, angles[0]), np.append(values, values[0]), label=names[index], **looks)
    axes.set_xticks(angles, [sweep.title(name) for name in metrics])
    axes.tick_params(axis="x", pad=14)
    axes.set_ylim(0, rim)
    axes.set_yticks(rim * np.arange(0.2, 1, 0.2), [""] * 4)  # numbers would lie under the lines
    axes.legend(loc="center left", bbox_to_anchor=(1.18, 0.5), frameon=False)
    return drawing
