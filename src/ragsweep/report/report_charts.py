"""Which charts the report of a sweep gets, and what the caption of each says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from ragsweep.core import style
from ragsweep.report import decision_charts as charts
from ragsweep.report import settings_charts as settings
from ragsweep.report.sweep_charts import by_use
from ragsweep.report.value_words import at
from ragsweep.sweeps import Decision

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE = 5.2  # inches: on a phone, the smallest text has 8 pixels
HIGH = 2.1  # inches of a panel with a legend below it
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
        if len(charts.compared_by_cutoff(decision)) == sweep.configurations:  # it shows this front, too
            shown = decision.gain, charts.cost_of_cutoff(decision)
            fronts = [front for front in fronts if (front.quality, front.cost) != shown]
    axes = by_use(level) if len(level.table) > 1 else []
    if len(axes) > 1 and len(level.like(level.row(decision.named), *axes[:2])) > 1:
        yield _of_two_settings(decision, *axes[:2])
    elif len(axes) == 1:
        yield _of_one_setting(decision, axes[0])
    if fronts:  # the tallest one: the others have room beside it
        caption = "Grey: another one is shown to be cheaper or better, and not worse in the other. Ring: the choice."
        names = max(len(front.members) if len(front.members) <= charts.MOST_NAMED else 1 for front in fronts)
        draws = [partial(charts.draw_front, decision, front) for front in fronts]
        yield "cost_fronts.svg", caption, lambda: _above_legends("What is worth its cost?", names, *draws)
    if (measured := decision.named.facts.false_finds) and any(score is not None for score in measured.scores):
        words = measured.words
        caption = f"What a lowest {words.scale} leaves, of the choice: the share of the questions of each kind."
        left = partial(charts.draw_thresholds, decision)
        question = f"Below which {words.scale} to {words.hold_back}?"
        yield "lowest_score.svg", caption, lambda: _above_legends(question, 4, left)
    if sweep.race and decision.headline.dropped:
        caption = "Blue: measured on all questions. Grey: dropped out, shown to be worse than the leader."
        racers = [*charts.racers(decision)]
        size = {"height": 1.2 + 0.25 * len(racers), "left": settings.room_of(racers)}
        question = f"How long was each in the race{at(sweep, decision.headline)}?"
        yield "race.svg", caption, lambda: _framed(question, partial(charts.draw_race, decision), **size)
    elif sweep.is_mean(sweep.decided_by) and len(level.table) > 1:
        best, other = (level.outcomes[place].name for place in (level.best, charts.other_than_best(level)))
        caption = f"A bar per query: {best} minus {other}. Dashed: the mean."
        where, differences = at(sweep, decision.headline), partial(charts.draw_differences, level)
        yield (
            "best_against_baseline.svg",
            caption,
            lambda: _framed(f"Where does the best win{where}?", differences, left=0.85),
        )


def _of_cutoff(decision: Decision, gain: str) -> ReportChart:
    sweep, drawn = decision.sweep, len(charts.compared_by_cutoff(decision))
    band = ", with its 95 % interval" if gain in decision.named.facts.at_k_ci and not sweep.budgeted else ""
    caption = f"Means over queries. Marked: the swept {sweep.cutoff}. Thick: the choice{band}."
    question, top = f"What does a larger {sweep.cutoff} buy?", 0.95 if charts.cost_of_cutoff(decision) else 0.5
    draw, names = partial(charts.draw_by_cutoff, decision, gain), drawn if drawn > 1 else 0
    caption += _of(drawn, sweep.configurations, "the best ")
    return "by_cutoff.svg", caption, lambda: _above_legends(question, names, draw, top=top)


def _of_two_settings(decision: Decision, *axes: str) -> ReportChart:
    level = decision.headline.allowed
    caption = "Dark is better. Framed: cannot be told apart from the best, which has the dot."
    x, y = sorted(axes, key=lambda name: not all(map(style.is_number, level.values_of(name))))  # names beside it
    below, beside = (settings.shown_values(level.values_of(name)) for name in (x, y))
    bottom = settings.room_of(below) if settings.are_long(below) else 0.6
    size = {"height": 0.5 + 0.42 * len(beside) + bottom, "left": settings.room_of(beside), "bottom": bottom}
    question = f"Which may be the best{at(decision.sweep, decision.headline)}?"
    draw = partial(settings.draw_heat_map, decision, x, y)
    caption += _of(len(settings.of_two_settings(decision, x, y)), len(level.table))
    return "heat_map.svg", caption, lambda: _framed(question, draw, **size)


def _of_one_setting(decision: Decision, x: str) -> ReportChart:
    level = decision.headline.allowed
    caption = "Means over queries with 95 % intervals. Orange: cannot be told apart from the best, query by query."
    values = level.values_of(x)
    names = [] if all(map(style.is_number, values)) else settings.shown_values(values)
    size = {"height": 1.2 + 0.25 * len(names), "left": settings.room_of(names)} if names else {}
    question = f"How much does {level.short(x)} matter{at(decision.sweep, decision.headline)}?"
    draw = partial(settings.draw_one_setting, decision, x)
    caption += _of(len(level.table.dropna(subset=[x])), len(level.table))
    return "one_setting.svg", caption, lambda: _framed(question, draw, **size)


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


def _of(drawn: int, every: int, which: str = "") -> str:
    return f" Drawn: {which}{drawn} of {every} configurations." if drawn < every else ""
