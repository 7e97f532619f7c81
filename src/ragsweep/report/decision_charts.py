"""The charts of the report about the cutoff, costs, thresholds and queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ragsweep.core import style
from ragsweep.report.settings_charts import LEAST_SPAN, limits
from ragsweep.statistics.intervals import EQUAL
from ragsweep.sweeps import CostFront, Decision, Outcome, Sweep, at_each_cutoff

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

MOST_CURVES = 5
MOST_NAMED = 6  # configurations of a front
MOST_MARKERS = 12  # on a line
OFF_FRONT = "#b5b5b5"


def draw_differences(level: Sweep, axes: Axes) -> None:
    """Draw the best minus the baseline or the runner-up for each query, from the greatest gain to the greatest loss."""
    scores = level.sign(level.decided_by) * level.scores(level.decided_by)
    differences = np.sort(scores[level.best] - scores[other_than_best(level)])[::-1]
    edges = np.arange(len(differences) + 1)
    axes.stairs(differences.clip(min=0), edges, fill=True, color=style.BLUE)  # one shape is drawn sooner than many bars
    axes.stairs(differences.clip(max=0), edges, fill=True, color=style.OTHER_METRIC)
    axes.axhline(0, color="#444444", linewidth=0.8)
    axes.axhline(differences.mean(), color="#000000", linewidth=1.2, linestyle="--")
    equal = int((abs(differences) <= EQUAL).sum())
    axes.set_xlabel(f"queries, from gain to loss ({equal} of {len(differences)} equal)")
    axes.set_ylabel(f"difference in {level.metric_title}")
    axes.set_xlim(0, len(differences))
    axes.set_ylim(min(axes.get_ylim()[0], -LEAST_SPAN / 2), max(axes.get_ylim()[1], LEAST_SPAN / 2))
    style.dress(axes)


def other_than_best(level: Sweep) -> int:
    """Position of the baseline, or of the runner-up if there is none or the baseline is the best."""
    baseline = level.standings.baseline
    if baseline is not None and baseline.reference != level.best:
        return baseline.reference
    return next(int(place) for place in level.table["outcome"].tolist() if place != level.best)


def draw_by_cutoff(decision: Decision, metric: str, axes: Axes) -> None:
    """Draw a metric over the cutoff: over the first cost that depends on it, if any, with the cutoff above."""
    sweep, runs, cost = decision.sweep, compared_by_cutoff(decision), cost_of_cutoff(decision)
    labels = [sweep.label(run) for run in runs]
    colours, names = style.shades(labels), style.in_legend(*labels, longest=style.LONGEST_NAME)
    swept = {cutoff for cutoff in decision.choices if cutoff is not None}
    ends = []
    for index, run in enumerate(runs):
        facts, chosen = sweep.deepest(run).facts, run is decision.named
        curve = facts.at_k.get(metric, ())
        cutoffs: Sequence[int] = range(1, len(curve) + 1)
        if metric in facts.at_k and (sweep.budgeted or not curve):  # known at the measured cutoffs alone
            cutoffs, curve = at_each_cutoff(sweep, run, metric)
        costs = facts.at_k.get(cost or "", range(1, max(cutoffs, default=0) + 1))
        cutoffs = [cutoff for cutoff in cutoffs[: facts.ends_at] if cutoff <= len(costs)]
        places, curve = [costs[cutoff - 1] for cutoff in cutoffs], curve[: len(cutoffs)]
        looks = {"color": colours[labels[index]], "zorder": 3 if chosen else 2}
        if chosen and metric in facts.at_k_ci and not sweep.budgeted:
            low, high = (bound[: len(cutoffs)] for bound in facts.at_k_ci[metric])
            axes.fill_between(places, low, high, color=looks["color"], alpha=0.15, linewidth=0)
        marked = [place for place, cutoff in enumerate(cutoffs) if cutoff in swept]
        looks |= {"marker": style.MARKERS[index % len(style.MARKERS)], "markersize": 6, "markevery": marked}
        axes.plot(places, curve, linewidth=2.8 if chosen else 1.4, label=names[index], **looks)
        ends.append(max(cutoffs, default=1))
    axes.set_xlabel(sweep.title(cost) if cost else sweep.outcomes[0].facts.cutoff_unit or sweep.cutoff)
    axes.set_ylabel(sweep.title(metric))
    axes.set_ylim(limits(axes.get_ylim(), sweep, metric))
    if cost:
        _cutoffs_above(decision, sweep.deepest(decision.named).facts.at_k[cost][: max(ends)], axes)
    else:
        axes.set_xticks(sorted(swept) if sweep.budgeted else style.cutoff_ticks(max(ends)))
    style.dress(axes)


def _cutoffs_above(decision: Decision, costs: Sequence[float], axes: Axes) -> None:
    """Name cutoffs above what they cost the named configuration: first the swept ones, then others with room."""
    axes.set_xlim(0, None)
    axes.locator_params("x", nbins=6)
    room, shown_at = 0.06 * axes.get_xlim()[1], dict[int, float]()
    for cutoff in [*filter(None, decision.choices), *style.cutoff_ticks(len(costs))]:
        if cutoff <= len(costs) and all(abs(costs[cutoff - 1] - place) > room for place in shown_at.values()):
            shown_at[cutoff] = costs[cutoff - 1]
    above = axes.secondary_xaxis("top")
    above.set_xticks([*shown_at.values()], [*map(str, shown_at)])
    above.set_xlabel(f"{decision.sweep.cutoff} of the choice", fontsize=9, color="#555555")
    above.tick_params(length=3, labelsize=9, colors="#555555")
    above.spines["top"].set_visible(False)


def cost_of_cutoff(decision: Decision) -> str | None:
    """The first cost that depends on the cutoff, if every configuration that is compared has it."""
    sweep = decision.sweep
    curves = [sweep.deepest(run).facts.at_k for run in compared_by_cutoff(decision)]
    costs = sweep.settings.costs if not sweep.budgeted else ()
    return next((name for name in costs if all(curve.get(name) for curve in curves)), None)


def compared_by_cutoff(decision: Decision) -> list[Outcome]:
    """The configurations whose curves are drawn: the named one, and the best others at the cutoff of the headline."""
    level = decision.headline.allowed
    best = [level.outcomes[position] for position in level.table["outcome"]]
    drawn = [decision.named, *(run for run in best if run is not decision.named)][:MOST_CURVES]
    return [run for run in decision.sweep.outcomes if run in drawn]


def draw_front(decision: Decision, front: CostFront, axes: Axes) -> None:
    """Draw quality over a cost, with the front marked; its configurations have a mark and a name each, if few."""
    sweep, members = front.sweep, front.members

    def dots(outcomes: Sequence[Outcome], size: float, **looks: Any) -> None:
        costs, qualities = ([outcome.value(metric) for outcome in outcomes] for metric in (front.cost, front.quality))
        axes.scatter(np.array(costs, dtype=float), np.array(qualities, dtype=float), size, clip_on=False, **looks)

    dots([run for run in sweep.outcomes if run not in members], 22, color=OFF_FRONT, zorder=2)
    groups = [[run] for run in members] if len(members) <= MOST_NAMED else [members]
    labels = [run.name for run in members]
    names = style.in_legend(*labels, longest=style.LONGEST_NAME) if len(groups) == len(members) else ["may be worth it"]
    for group, name, marker in zip(groups, names, style.MARKERS, strict=False):
        dots(group, 34, color=style.BEST, marker=marker, zorder=3, label=name)
    chosen = [choice.named for choice in decision.choices.values() if choice.named in sweep.outcomes]
    dots(chosen, 130, facecolors="none", edgecolors="#222222", linewidths=1.3, zorder=4)
    metric, cost = sweep.metric_info[front.quality], sweep.metric_info[front.cost]
    unit = "" if not cost.unit or cost.unit.casefold() in cost.title.casefold() else f" ({cost.unit})"
    axes.set_xlabel(style.shown(f"{cost.title}{unit}"))
    axes.set_ylabel(style.shown(metric.title))
    axes.margins(0.12)
    axes.set_xlim(0, 1.08 * max(outcome.value(front.cost) or 0 for outcome in sweep.outcomes) or 1)
    axes.set_ylim(limits(axes.get_ylim(), sweep, front.quality))
    axes.locator_params(nbins=6)
    style.dress(axes, grid="both")


def draw_thresholds(decision: Decision, axes: Axes) -> None:
    """Draw the share of the questions of each kind that each threshold leaves, of the choice."""
    measured, promise = decision.named.facts.false_finds, decision.threshold
    assert measured is not None
    words = measured.words
    scores = {
        f"with an answer: {words.get}": measured.answerable,
        f"with an answer: {words.get_right}": measured.found,
        f"without an answer: {words.get}": measured.scores,
    }
    reached = {what: np.array([score for score in some if score is not None]) for what, some in scores.items()}
    thresholds = np.unique(np.concatenate([*reached.values()]))
    for place, (what, some) in enumerate(reached.items()):
        share = (some[:, np.newaxis] >= thresholds).sum(axis=0) / len(scores[what])
        looks = {"color": style.colour((0, 3, 1)[place]), "marker": style.MARKERS[place], "markersize": 4}
        axes.step(
            thresholds, share, where="pre", label=what, markevery=max(1, len(thresholds) // MOST_MARKERS), **looks
        )
    if promise and promise.threshold is not None:
        label = f"certified for at most {100 * promise.rate:g} %"
        axes.axvline(promise.threshold, color="#444444", linestyle=":", label=label)
    axes.set_xlabel(f"lowest {words.scale}")
    axes.set_ylabel("share of the questions")
    axes.set_ylim(0, 1.02)
    style.dress(axes)
