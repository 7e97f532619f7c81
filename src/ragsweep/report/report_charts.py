"""The charts of the report: which a sweep gets, what the caption of each says, and how each is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ragsweep.core import style
from ragsweep.report.setting_charts import (
    LEAST_SPAN,
    are_long,
    draw_heat_map,
    draw_one_setting,
    limits,
    of_two_settings,
    room_of,
    shown_values,
)
from ragsweep.report.sweep_charts import by_use
from ragsweep.report.value_words import at
from ragsweep.statistics.intervals import EQUAL
from ragsweep.sweeps import CostFront, Decision, Outcome, Sweep, at_each_cutoff

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE = 5.2  # inches: on a phone, the smallest text has 8 pixels
HIGH = 2.1  # inches of a panel with a legend below it
MOST_CURVES = 5
MOST_RACERS = 30
MOST_NAMED = 6  # configurations of a front
MOST_MARKERS = 12  # on a line
OFF_FRONT = "#b5b5b5"
ReportChart = tuple[str, str, Callable[[], "Figure"]]  # its file; what it shows, and leaves out; draws it


def report_charts(decision: Decision) -> Iterator[tuple[str, Figure]]:
    """The charts of the report with their file names: at most five."""
    return ((name, draw()) for name, _, draw in charts_of(decision))


def captions_of(decision: Decision) -> dict[str, str]:
    """The caption of each chart of the report, by file name."""
    return {name: caption for name, caption, _ in charts_of(decision)}


def charts_of(decision: Decision) -> Iterator[ReportChart]:
    """The charts of the report, not yet drawn."""
    sweep, level, fronts = decision.sweep, decision.headline.allowed, decision.fronts
    over_cutoffs = len(decision.choices) > 1 if sweep.budgeted else bool(sweep.cutoff)  # a run has a curve over k
    if decision.gain and decision.gain in decision.named.facts.at_k and over_cutoffs:
        yield _of_cutoff(decision, decision.gain)
        if len(compared_by_cutoff(decision)) == sweep.configurations:  # it shows this front, too
            shown = decision.gain, cost_of_cutoff(decision)
            fronts = [front for front in fronts if (front.quality, front.cost) != shown]
    axes = by_use(level) if len(level.table) > 1 else []
    if len(axes) > 1 and len(level.like(level.row(decision.named), *axes[:2])) > 1:
        yield _of_two_settings(decision, *axes[:2])
    elif len(axes) == 1:
        yield _of_one_setting(decision, axes[0])
    if fronts:  # the tallest one: the others have room beside it
        yield _of_fronts(decision, fronts)
    if (measured := decision.named.facts.false_finds) and any(score is not None for score in measured.scores):
        words = measured.words
        caption = f"What a lowest {words.scale} leaves, of the choice: the share of the questions of each kind."
        question, draw = f"Below which {words.scale} to {words.hold_back}?", partial(draw_thresholds, decision)
        yield "lowest_score.svg", caption, lambda: _above_legends(question, 4, draw)
    if sweep.race and decision.headline.dropped:
        yield _of_race(decision)
    elif sweep.is_mean(sweep.decided_by) and len(level.table) > 1:
        yield _of_differences(decision)


def _of_cutoff(decision: Decision, gain: str) -> ReportChart:
    sweep, drawn = decision.sweep, len(compared_by_cutoff(decision))
    band = ", with its 95 % interval" if gain in decision.named.facts.at_k_ci and not sweep.budgeted else ""
    caption = f"Means over queries. Marked: the swept {sweep.cutoff}. Thick: the choice{band}."
    question, top = f"What does a larger {sweep.cutoff} buy?", 0.95 if cost_of_cutoff(decision) else 0.5
    draw, names = partial(draw_by_cutoff, decision, gain), drawn if drawn > 1 else 0
    caption += _drawn(drawn, sweep.configurations, "the best ")
    return "by_cutoff.svg", caption, lambda: _above_legends(question, names, draw, top=top)


def _of_two_settings(decision: Decision, *axes: str) -> ReportChart:
    level = decision.headline.allowed
    caption = "Dark is better. Framed: cannot be told apart from the best, which has the dot."
    x, y = sorted(axes, key=lambda name: not all(map(style.is_number, level.values_of(name))))  # names beside it
    below, beside = (shown_values(level.values_of(name)) for name in (x, y))
    bottom = room_of(below) if are_long(below) else 0.6
    size = {"height": 0.5 + 0.42 * len(beside) + bottom, "left": room_of(beside), "bottom": bottom}
    question = f"Which may be the best{at(decision.sweep, decision.headline)}?"
    draw = partial(draw_heat_map, decision, x, y)
    caption += _drawn(len(of_two_settings(decision, x, y)), len(level.table))
    return "heat_map.svg", caption, lambda: _framed(question, draw, **size)


def _of_one_setting(decision: Decision, x: str) -> ReportChart:
    level = decision.headline.allowed
    caption = "Means over queries with 95 % intervals. Orange: cannot be told apart from the best, query by query."
    values = level.values_of(x)
    names = [] if all(map(style.is_number, values)) else shown_values(values)
    size = {"height": 1.2 + 0.25 * len(names), "left": room_of(names)} if names else {}
    question = f"How much does {level.short(x)} matter{at(decision.sweep, decision.headline)}?"
    draw = partial(draw_one_setting, decision, x)
    caption += _drawn(len(level.table.dropna(subset=[x])), len(level.table))
    return "one_setting.svg", caption, lambda: _framed(question, draw, **size)


def _of_fronts(decision: Decision, fronts: Sequence[CostFront]) -> ReportChart:
    caption = "Grey: another one is shown to be cheaper or better, and not worse in the other. Ring: the choice."
    names = max(len(front.members) if len(front.members) <= MOST_NAMED else 1 for front in fronts)
    draws = [partial(draw_front, decision, front) for front in fronts]
    return "cost_fronts.svg", caption, lambda: _above_legends("What is worth its cost?", names, *draws)


def _of_race(decision: Decision) -> ReportChart:
    caption = "Blue: measured on all questions. Grey: dropped out, shown to be worse than the leader."
    names = [*racers(decision)]
    size = {"height": 1.2 + 0.25 * len(names), "left": room_of(names)}
    question = f"How long was each in the race{at(decision.sweep, decision.headline)}?"
    return "race.svg", caption, lambda: _framed(question, partial(draw_race, decision), **size)


def _of_differences(decision: Decision) -> ReportChart:
    level = decision.headline.allowed
    best, other = (level.outcomes[place].name for place in (level.best, other_than_best(level)))
    caption = f"A bar per query: {best} minus {other}. Dashed: the mean."
    question = f"Where does the best win{at(decision.sweep, decision.headline)}?"
    draw = partial(draw_differences, level)
    return "best_against_baseline.svg", caption, lambda: _framed(question, draw, left=0.85)


def _framed(question: str, draw: Callable[[Axes], None], height: float = 3.0, **margins: float) -> Figure:
    """A figure of one panel."""
    drawing = style.figure(WIDE, height, question, "", top=0.5, **margins)
    draw(drawing.subplots())
    return drawing


def _above_legends(question: str, names: int, *draws: Callable[[Axes], None], top: float = 0.5) -> Figure:
    """A figure of panels one below the other, each with room below it for a legend of so many names."""
    below = 0.7 + 0.19 * names
    drawing = style.figure(WIDE, top + (HIGH + below) * len(draws), question, "", top=top, bottom=below)
    panels = drawing.subplots(len(draws), 1, squeeze=False, gridspec_kw={"hspace": below / HIGH})[:, 0]
    for axes, draw in zip(panels, draws, strict=True):
        draw(axes)
        if names:
            place = {"loc": "upper left", "bbox_to_anchor": (0, -0.52 / HIGH), "borderaxespad": 0}
            axes.legend(**place, frameon=False, fontsize=9)
    return drawing


def _drawn(number: int, every: int, kind: str = "") -> str:
    return f" Drawn: {kind}{number} of {every} configurations." if number < every else ""


# How each is drawn


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


def racers(decision: Decision) -> dict[str, int]:
    """How many questions each configuration was measured on, at the cutoff of the headline; the longest first."""
    race, choice = decision.sweep.race, decision.headline
    assert race
    longest = {run.name: race.questions for run in choice.allowed.outcomes}
    dropped = {racer.name: racer.questions for racer in race.dropped if racer.cutoff == choice.cutoff}
    every = sorted((longest | dropped).items(), key=lambda racer: -racer[1])[:MOST_RACERS]
    return {style.shown(name): questions for name, questions in every}


def draw_race(decision: Decision, axes: Axes) -> None:
    """Draw how many questions each configuration was measured on."""
    race, every = decision.sweep.race, racers(decision)
    assert race
    colours = [style.BLUE if questions == race.questions else OFF_FRONT for questions in every.values()]
    axes.barh([*every], [*every.values()], color=colours)
    axes.invert_yaxis()
    axes.set_xlabel("questions")
    axes.set_xlim(0, race.questions)
    style.dress(axes)


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
    reached = {kind: np.array([score for score in own if score is not None]) for kind, own in scores.items()}
    thresholds = np.unique(np.concatenate([*reached.values()]))
    looks: dict[str, Any] = {"where": "pre", "markersize": 4, "markevery": max(1, len(thresholds) // MOST_MARKERS)}
    for kind, ink, marker in zip(scores, (0, 3, 1), style.MARKERS, strict=False):
        share = (reached[kind][:, np.newaxis] >= thresholds).sum(axis=0) / len(scores[kind])
        axes.step(thresholds, share, label=kind, color=style.colour(ink), marker=marker, **looks)
    if promise and promise.threshold is not None:
        label = f"certified for at most {100 * promise.rate:g} %"
        axes.axvline(promise.threshold, color="#444444", linestyle=":", label=label)
    axes.set_xlabel(f"lowest {words.scale}")
    axes.set_ylabel("share of the questions")
    axes.set_ylim(0, 1.02)
    style.dress(axes)
