"""The figures of the report about queries, the cutoff and costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ragsweep.core.style import (
    BEST,
    BLUE,
    INTERVALS,
    LONGEST_NAME,
    MARKERS,
    cutoff_ticks,
    dress,
    figure,
    in_legend,
    legend_below,
    shades,
    shown,
)
from ragsweep.report.settings_charts import WIDE
from ragsweep.report.value_words import at, cutoffs_in_words, in_sentence
from ragsweep.statistics.intervals import EQUAL, Array
from ragsweep.sweeps import CostFront, Decision, Outcome, Sweep, at_each_cutoff

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_CURVES = 5
DOTS_NAMED = 6  # on a front; names of more would cover each other
OFF_FRONT = "#b5b5b5"


def best_against_baseline(decision: Decision) -> Figure:
    """On which queries does the best win, and on which does it lose?"""
    level = decision.headline.allowed
    best, other = level.outcomes[level.best], level.outcomes[other_than_best(level)]
    differences = differences_of(level)
    better, equal, worse = outcomes_of(differences)
    role = "runner-up" if _other_baseline(level) is None else "baseline"
    drawing = figure(
        WIDE,
        3.8,
        f"Where does the best beat the {role}{at(decision.sweep, decision.headline)}?",
        f"{best.name} minus {other.name}\nOne bar per query: {better} better, {equal} equal, {worse} worse; "
        f"line: mean {differences.mean():+.3f}",
        top=1.1,
    )
    draw_differences(level, differences, drawing.subplots())
    return drawing


def differences_of(level: Sweep) -> Array:
    """The best configuration against the baseline or the runner-up: the difference of each query, the largest first."""
    scores = level.sign(level.decided_by) * level.scores(level.decided_by)
    return np.sort(scores[level.best] - scores[other_than_best(level)])[::-1]


def outcomes_of(differences: Array) -> tuple[int, int, int]:
    """On how many queries the best is better, equal and worse."""
    better, worse = int((differences > EQUAL).sum()), int((differences < -EQUAL).sum())
    return better, len(differences) - better - worse, worse


def draw_differences(level: Sweep, differences: Array, axes: Axes) -> None:
    """Draw the difference of each query, from the greatest gain to the greatest loss."""
    edges = np.arange(len(differences) + 1) - 0.5
    axes.stairs(differences.clip(min=0), edges, fill=True, color=BLUE)  # one shape is drawn sooner than many bars
    axes.stairs(differences.clip(max=0), edges, fill=True, color=BEST)
    axes.axhline(0, color="#444444", linewidth=0.8)
    axes.axhline(differences.mean(), color="#000000", linewidth=1.2, linestyle="--")
    axes.set_xlabel("queries, from the greatest gain to the greatest loss")
    axes.set_ylabel(f"difference in {level.metric_title}")
    axes.set_xlim(-1, len(differences))
    dress(axes)


def _other_baseline(level: Sweep) -> int | None:
    """Position of the baseline; None if there is none, or if it is the best itself."""
    baseline = level.standings.baseline
    return None if baseline is None or baseline.reference == level.best else baseline.reference


def other_than_best(level: Sweep) -> int:
    """Position of the baseline, or of the runner-up if there is none or the baseline is the best."""
    baseline = _other_baseline(level)
    if baseline is not None:
        return baseline
    return next(int(place) for place in level.table["outcome"].tolist() if place != level.best)


def by_cutoff(decision: Decision, metric: str) -> Figure:
    """What does a larger cutoff buy?"""
    sweep = decision.sweep
    title = sweep.title(metric)
    cost = _cost_of_cutoff(decision)
    drawing = figure(
        WIDE,
        4.2,
        f"What does a larger {sweep.cutoff} buy?",
        f"Mean {title} over queries{'' if sweep.budgeted else f'; bands: {INTERVALS}'}\n"
        f"Dotted: the swept {sweep.cutoff}{'; above: ' + in_sentence(sweep.title(cost)) if cost else ''}",
        right=0.25,
        top=1.35 if cost else 1.0,
    )
    axes = drawing.subplots()
    draw_by_cutoff(decision, metric, axes)
    legend_below(drawing, axes)
    return drawing


def draw_by_cutoff(decision: Decision, metric: str, axes: Axes) -> None:
    """Draw a metric over the cutoff, with the first cost that depends on it above."""
    sweep, title = decision.sweep, decision.sweep.title(metric)
    rows = _compared(decision)
    labels = [sweep.label(sweep.outcomes[position]) for position in rows["outcome"]]
    cost = _cost_of_cutoff(decision)
    colours, names = shades(labels), in_legend(*labels, longest=LONGEST_NAME)
    longest = 0
    for index, (name, (_, row)) in enumerate(zip(labels, rows.iterrows(), strict=True)):
        run = sweep.outcomes[row["outcome"]]
        facts = sweep.deepest(run).facts
        curve = facts.curves.get(metric, ())
        cutoffs = [*range(1, len(curve) + 1)]
        if metric in facts.curves and (sweep.budgeted or not curve):  # known at the measured cutoffs alone
            cutoffs, curve = at_each_cutoff(sweep, run, metric)
        cutoffs, curve = cutoffs[: facts.ends_at], curve[: facts.ends_at]
        longest = max(longest, *cutoffs[-1:], 1)
        if metric in facts.intervals and not sweep.budgeted:
            low, high = (bound[: facts.ends_at] for bound in facts.intervals[metric])
            axes.fill_between(cutoffs, low, high, color=colours[name], alpha=0.13, linewidth=0)
        marker = MARKERS[index % len(MARKERS)]
        axes.plot(cutoffs, curve, color=colours[name], marker=marker, markersize=3.5, label=names[index])
    for cutoff in decision.choices:
        if cutoff is not None:
            axes.axvline(cutoff, color="#777777", linewidth=0.9, linestyle=":")
    places = cutoff_ticks(longest)
    if cost:
        above = axes.secondary_xaxis("top")
        tokens = sweep.deepest(decision.named).facts.curves[cost]
        above.set_xticks(places, [f"{tokens[place - 1]:,.0f}" if place <= len(tokens) else "" for place in places])
        above.tick_params(length=0, labelsize=8, colors="#555555")
        above.spines["top"].set_visible(False)
    axes.set_xlabel(sweep.outcomes[0].facts.cutoff_unit or sweep.cutoff)
    axes.set_ylabel(title)
    axes.set_xlim(0.5, longest + 0.5)
    axes.set_xticks(places)
    bounds = sweep.metric_info[metric]
    if np.isfinite([bounds.low, bounds.high]).all():
        axes.set_ylim(bounds.low, bounds.high)
    dress(axes)


def _cost_of_cutoff(decision: Decision) -> str | None:
    """The first cost that depends on the cutoff."""
    costs = decision.sweep.settings.costs if not decision.sweep.budgeted else ()
    return next((name for name in costs if name in decision.named.facts.curves), None)


def _compared(decision: Decision) -> pd.DataFrame:
    """The configurations whose curves are drawn: the named one, and the best others by method or by a setting."""
    sweep = decision.sweep
    others = [name for name in sweep.axes if name != sweep.cutoff]
    rows = decision.methods
    if len(rows) < 2 and others:
        rows = decision.like_named(others[0]).dropna(subset=[others[0]]).drop_duplicates(others[0])
    chosen = rows["outcome"] == sweep.outcomes.index(decision.named)
    score = sweep.sign(sweep.decided_by) * rows[sweep.decided_by]
    best = score.where(~chosen, np.inf).nlargest(MOST_CURVES).index
    return rows[rows.index.isin(best)]


def cost_fronts(decision: Decision) -> Figure:
    """Which configurations does nothing else beat in quality and cost?"""
    found = decision.fronts
    drawing = figure(
        WIDE,
        1.1 + 2.9 * len(found),
        "What is worth its cost?",
        "Grey: another one is shown to be better or cheaper, and not worse in the other (95 % confidence)\n"
        "Orange: nothing else is shown to be both cheaper and better; ring: the choice",
        top=1.1,
    )
    panels = drawing.subplots(len(found), 1, squeeze=False, gridspec_kw={"hspace": 0.35})[:, 0]
    for axes, front in zip(panels, found, strict=True):
        draw_front(decision, front, axes)
    return drawing


def draw_front(decision: Decision, front: CostFront, axes: Axes) -> None:
    """Draw quality over a cost, with the front marked."""
    sweep = front.sweep
    x = np.array([outcome.value(front.cost) for outcome in sweep.outcomes], dtype=float)
    y = np.array([outcome.value(front.quality) for outcome in sweep.outcomes], dtype=float)
    on_front = front.on_front
    axes.scatter(x[~on_front], y[~on_front], color=OFF_FRONT, s=22, zorder=2)
    axes.scatter(x[on_front], y[on_front], color=BEST, s=26, zorder=3)
    named = [position for position, each in enumerate(sweep.outcomes) if each in _named_at_each(decision)]
    axes.scatter(x[named], y[named], s=110, facecolors="none", edgecolors="#222222", linewidths=1.3, zorder=4)
    labelled = named if len(front.members) > DOTS_NAMED else [*{*named, *np.flatnonzero(on_front).tolist()}]
    for place, position in enumerate(labelled):
        beside = sum(_near(x, y, position, other) for other in labelled[:place])  # their texts would lie on each other
        outcome = sweep.outcomes[position]
        cutoff = "" if outcome.cutoff is None else cutoffs_in_words(sweep, outcome.cutoff)
        text = ", ".join(filter(None, [sweep.label(outcome) if len(labelled) > len(named) else "", cutoff]))
        left, rings = x[position] > x.max() / 2, len(labelled) == len(named)  # above a ring there is seldom a dot
        axes.annotate(
            shown(text),
            (x[position], y[position]),
            xytext=(-9 if left else 9, 7 if rings else -11 - 11 * beside),
            textcoords="offset points",
            fontsize=8,
            ha="right" if left else "left",
        )
    metric, cost = sweep.metric_info[front.quality], sweep.metric_info[front.cost]
    unit = "" if not cost.unit or cost.unit.casefold() == cost.title.casefold() else f" ({cost.unit})"
    axes.set_xlabel(shown(f"{cost.title}{unit}"))
    axes.set_ylabel(shown(metric.title))
    axes.margins(0.12)
    axes.set_xlim(0, 1.08 * x.max() or 1)
    dress(axes, grid="both")


def _near(x: Array, y: Array, one: int, other: int) -> bool:
    """Whether two dots are so close to each other that texts below them would overlap."""
    return bool(abs(x[one] - x[other]) <= 0.5 * x.max() and abs(y[one] - y[other]) <= 0.05 * np.ptp(y))


def _named_at_each(decision: Decision) -> list[Outcome]:
    return [choice.named for choice in decision.choices.values()]
