"""Further claims of a decision: what it assumes, what a larger cutoff buys, warnings, the baseline, types and power."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragsweep.report.sentences import HEADLINE, Numbers
from ragsweep.report.value_words import (
    at,
    cutoffs_in_words,
    grouped,
    labels_of,
    measured_with,
    price,
)
from ragsweep.statistics import FEW_QUERIES, WORTHWHILE
from ragsweep.statistics.power import FEWEST_FLIPPED
from ragsweep.sweeps import Choice, Decision, Outcome, Sweep
from ragsweep.sweeps.choice import EQUAL_COST
from ragsweep.sweeps.sweep import ALIKE
from ragsweep.tasks.repeating import shift_in_words, what_pays

STILL_RISING = 0.02  # between the two largest cutoffs; less is not worth a sentence
LESS_JUDGED = 0.1  # by so much less than of the choice, before it could be the reason for a difference


def unread(decision: Decision) -> Iterator[Numbers]:
    """How many answers could not be read, where the choice does not depend on how they count."""
    if decision.unread and decision.unread.most and not decision.unread.replacing:
        yield unread_numbers(decision)


def unread_numbers(decision: Decision) -> Numbers:
    """How many answers could not be read, and what would be chosen if they counted otherwise."""
    sweep, unread = decision.sweep, decision.unread
    assert unread
    label = sweep.label if len(decision.choices) == 1 else lambda run: run.name
    return {
        "counts": {label(run): count for run, count in sorted(unread.counts.items(), key=lambda item: -item[1])},
        "causes": {label(run): dict(causes) for run, causes in unread.causes.items() if causes},
        "worst": None if decision.named.facts.unread[sweep.decided_by].otherwise else sweep.metric_title,
        "otherwise": [
            {
                "counted_as": recount.counted_as,
                "best": sweep.label(recount.choice.best),
                "cannot_be_told_apart": [*map(sweep.label, recount.choice.tied)],
                "replaces": recount.replaces,
            }
            for recount in unread.recounts
        ],
    }


def expected(decision: Decision) -> Iterator[Numbers]:
    """What to expect on new queries, where that is less than what was measured."""
    choice, sweep = decision.headline, decision.sweep
    if choice.expected is None or choice.undecided or sweep.groups.number < FEW_QUERIES:  # of fewer, it says little
        return
    value = sweep.statistic(choice.named, sweep.decided_by)
    loss = sweep.sign(sweep.decided_by) * (round(value, 3) - round(choice.expected, 3))
    if loss > 0:
        numbers = {"value": choice.expected, "measured": value, "loss": loss, "higher": sweep.higher_is_better}
        yield numbers | {"raced": bool(choice.dropped)}


def bought(decision: Decision) -> Iterator[Numbers]:
    """The first gain and the first cost of the named configuration at each swept cutoff."""
    sweep, points, gain = decision.sweep, decision.bought, decision.gain
    if not gain or len(points) < 2:
        return
    values = [sweep.sign(gain) * value for _, value, _ in points]
    highest = points[values.index(max(values))][0] if values[-1] < max(values) > values[0] else None
    alone = len({str(choice.named.configuration) for choice in decision.choices.values()}) == 1
    yield {
        "gain": sweep.title(gain),
        "points": [[cutoffs_in_words(sweep, cutoff), value, cost] for cutoff, value, cost in points],
        "unit": sweep.metric_info[decision.cost].unit if decision.cost and not sweep.budgeted else None,
        "highest": highest and cutoffs_in_words(sweep, highest),
        "more": values[-1] > values[0],
        "label": None if alone else sweep.label(decision.named),
        "rises": abs(points[-1][1] - points[-2][1]) if values[-1] - values[-2] >= STILL_RISING else None,
    }


def beaten(decision: Decision) -> Iterator[Numbers]:
    """That the choice is shown to be beaten in quality and cost, mostly by a configuration at another cutoff."""
    choice, sweep = decision.headline, decision.sweep
    cost = choice.prefer or decision.cost
    front = next((front for front in decision.fronts if front.cost == cost), None)
    rival = front.beats(decision.named) if front else None
    if front is None or rival is None or rival.configuration == decision.named.configuration:
        return
    as_cheap = [run.name for run in choice.as_good] if choice.costs_the_same(front.cost) else []  # the headline says so
    if rival.name in as_cheap or any(rival.name in other.excluded for other in decision.choices.values()):
        return
    runs = (rival, decision.named)
    places = [f" at {cutoffs_in_words(sweep, run.cutoff)}" if sweep.cutoff else "" for run in runs]
    yield {
        "labels": [sweep.label(run) + place for run, place in zip(runs, places, strict=True)],
        "quality": sweep.title(front.quality),
        "values": [run.value(front.quality) for run in runs],
        "prices": [price(sweep, run, front.cost) for run in runs],
    }


def control(decision: Decision) -> Iterator[Numbers]:
    """That a control, which nobody can ship, measures better than the choice."""
    sweep, metric = decision.sweep, decision.sweep.decided_by
    controls = [run for run in sweep.at(decision.headline.cutoff).outcomes if run.facts.control]
    sign = sweep.sign(metric)
    best = max(controls, key=lambda run: sign * sweep.statistic(run, metric), default=None)
    if best and sign * (sweep.statistic(best, metric) - sweep.statistic(decision.named, metric)) > 0:
        yield {"label": sweep.label(best), "why": best.facts.control, **measured_with(sweep, best)}


def ended(decision: Decision) -> Iterator[Numbers]:
    """Whose rankings end before a cutoff at which they were measured."""
    sweep = decision.sweep
    if short := [run for run in decision.allowed if run.ends_early]:
        ends = sorted(run.facts.ends_at or 0 for run in short)
        where = cutoffs_in_words(sweep, *sorted({run.cutoff or 0 for run in short}))
        yield {"labels": labels_of(sweep, short), "ends": [ends[0], ends[-1]], "at": where}


def less_judged(decision: Decision) -> Iterator[Numbers]:
    """That less was judged of what other configurations find than of what the choice finds."""
    choice = decision.headline
    yield from less_judged_between(decision.sweep, decision.named, choice.allowed.outcomes, at(decision.sweep, choice))


def less_judged_between(sweep: Sweep, run: Outcome, beaten: Sequence[Outcome], where: str = "") -> Iterator[Numbers]:
    """That less was judged of what beaten runs find, so that they may be better than they measure."""
    own = run.facts.judged
    judged = {sweep.label(other): other.facts.judged for other in beaten if other.facts.judged}
    less = {
        label: fact.of_wrong
        for label, fact in judged.items()
        if own and min(own.share - fact.share, own.of_wrong - fact.of_wrong) > LESS_JUDGED
    }
    if own and less:
        yield {"at": where, "label": sweep.label(run), "own": own.of_wrong, "others": less}


def unspent(decision: Decision) -> Iterator[Numbers]:
    """Which configurations could not spend a budget, as no more was ranked."""
    sweep, cost = decision.sweep, decision.sweep.budgeted or ""
    if short := [run for run in decision.allowed if not sweep.spends(run)]:
        spent = sorted(run.value(cost) or 0 for run in short)
        yield {
            "labels": labels_of(sweep, short),
            "most": [spent[0], spent[-1]],
            "unit": sweep.outcomes[0].facts.cutoff_unit,
            "k": 2 * max(len(run.facts.at_k[cost]) for run in short),
            "at": cutoffs_in_words(sweep, *dict.fromkeys(run.cutoff for run in short)),
        }


def unmeasured(decision: Decision) -> Iterator[Numbers]:
    """Which configurations lack a cutoff that others have."""
    sweep, levels = decision.sweep, {cutoff: decision.sweep.at(cutoff).outcomes for cutoff in decision.choices}
    for cutoff, runs in levels.items() if max(map(len, levels.values())) > 1 else ():
        measured = [run.configuration for run in runs]
        if lacking := [run for run in sweep.outcomes if run.configuration not in measured]:
            yield {"at": cutoffs_in_words(sweep, cutoff), "labels": labels_of(sweep, lacking)}


def other_lengths(decision: Decision) -> Iterator[Numbers]:
    """That the metric compares lists of different length: within a budget, of units that differ in size."""
    sweep = decision.sweep
    gains = [name for name in sweep.settings.gains if name in sweep.metric_info]
    kinds = [name.rpartition("/")[2] for name in gains]  # recall, as token/recall, is a gain
    if sweep.budgeted and gains and sweep.decided_by.rpartition("/")[2] not in kinds and not sweep.alike_in_size:
        yield {"gain": gains[0]}


def lost_fields(decision: Decision) -> Iterator[Numbers]:
    """How many responses were read without some of their fields."""
    sweep, queries = decision.sweep, len(decision.sweep.queries)
    runs = decision.unread.counts if decision.unread else ()
    lost = {sweep.label(run): run.value(run.facts.unread[sweep.decided_by].lost) or 0 for run in runs}
    if counts := {label: round(queries * share) for label, share in lost.items() if round(queries * share)}:
        yield {"counts": counts}


def asked_once(decision: Decision) -> Iterator[Numbers]:
    """Whose answers vary, and were asked for once."""
    if names := [run.name for run in decision.sweep.outcomes if run.facts.varies and run.facts.repeats == 1]:
        yield {"names": names}


def repeats(decision: Decision) -> Iterator[Numbers]:
    """What another asking would change, where answers vary."""
    sweep, named = decision.sweep, decision.named
    fact = named.facts.repeated.get(sweep.decided_by)
    if fact and fact.question is not None:
        pays = what_pays(fact.asked_once, sweep.groups, named.facts.repeats)
        shift = " ".join(shift_in_words(fact.question, fact.repeat, fact.residual))
        yield {"pays": pays, "shift": shift}


def other_cutoff(decision: Decision) -> Iterator[Numbers]:
    """That no run finished at the cutoff that was asked for."""
    asked, used = decision.sweep.settings.at, decision.headline.cutoff
    if asked is not None and asked != used:
        yield {"asked": asked, "used": cutoffs_in_words(decision.sweep, used)}


def left_out(decision: Decision) -> Iterator[Numbers]:
    """The configurations at the headline's cutoff that could not be chosen."""
    sweep, choice = decision.sweep, decision.headline
    controls = {run.name for run in sweep.outcomes if run.facts.control}
    requirements = choice.excluded.keys() - controls
    for why, barred in (("do not meet the requirements", requirements), ("are controls", controls)):
        if choice.meets and (names := [name for name in choice.excluded if name in barred]):
            yield {"why": why, "names": names}


def rule(decision: Decision) -> Iterator[Numbers]:
    """How a cost or a margin chose one of several configurations."""
    sweep, choice = decision.sweep, decision.headline
    prefer = sweep.settings.prefer if choice.named.value(sweep.settings.prefer or "") is not None else None
    margin, not_worse = sweep.settings.margin, choice.not_worse
    if (prefer or margin) is None or choice.undecided not in (None, "tied") or len(choice.allowed.outcomes) < 2:
        return
    values = [sweep.sign(prefer) * (run.value(prefer) or 0) for run in choice.allowed.outcomes] if prefer else []
    yield {
        "least_too": bool(prefer) and max(values) == sweep.sign(prefer or "") * (choice.named.value(prefer or "") or 0),
        "preferred": prefer and sweep.title(prefer),
        "end": "highest" if prefer and sweep.metric_info[prefer].higher_is_better else "lowest",
        "slack": EQUAL_COST,
        "as_good": len(choice.as_good),
        "margin": margin,
        "not_worse": None if not_worse is None else [*map(sweep.label, not_worse)],
    }


def small_margin(decision: Decision) -> Iterator[Numbers]:
    """That so few queries cannot show a margin."""
    sweep, choice = decision.sweep, decision.headline
    if choice.undecided in (None, "tied") and (showable := choice.showable) and showable[1] > len(sweep.queries):
        numbers = {"number": choice.distinct, "smallest": showable[0], "needed": showable[1]}
        yield {"margin": sweep.settings.margin, **numbers}


def edge(decision: Decision) -> Iterator[Numbers]:
    """Warnings that the best may lie outside of what was swept."""
    sweep, method = decision.sweep, decision.named.facts.method
    for name in decision.at_edge if decision.headline.undecided is None else ():
        smallest, *_, largest = sweep.axes[name]
        end, value = ("smallest", smallest) if decision.best[name] == smallest else ("largest", largest)
        vary = method.vary if name in method.stands_for else ""
        yield {"name": sweep.short(name), "value": value, "end": end, "vary": vary}


def against_baseline(decision: Decision) -> Iterator[Numbers]:
    """The best against the baseline."""
    sweep, standings = decision.headline.allowed, decision.headline.allowed.standings
    against, best = standings.baseline, standings.best
    if against is None or against.reference == best or decision.headline.undecided == "same values":
        return
    other = sweep.outcomes[against.reference]
    fixed = other.name == sweep.baseline
    yield {
        "name": other.name,
        "title": "the baseline" if fixed else other.facts.method.title or "the baseline",
        "difference": float(against.difference[best]),
        "low": float(against.low[best]),
        "high": float(against.high[best]),
        "p": float(against.p_holm[best] if fixed else standings.with_best.p[against.reference]),
        "fixed": fixed,
        "counts": [int(counts[best]) for counts in (against.wins, against.ties, against.losses)],
    }


def query_types(decision: Decision) -> Iterator[Numbers]:
    """Whether a configuration for each query type pays off."""
    standings = decision.headline.allowed.standings
    if by_type := standings.by_type:
        yield {"pays": standings.types_pay, "gain": float(by_type.gain), "p": float(by_type.p)}


def power(decision: Decision) -> Iterator[Numbers]:
    """What the queries can show of two configurations that are as similar as the best ones."""
    sweep, power = decision.headline.allowed, decision.headline.allowed.standings.power
    if power is not None and sweep.groups.number >= FEWEST_FLIPPED and not power.too_alike:
        numbers = {"detectable": power.detectable, "worthwhile": WORTHWHILE, "needed": power.needed(WORTHWHILE)}
        yield {**numbers, "grouped": sweep.groups.in_use}


def machines(decision: Decision) -> Iterator[Numbers]:
    """With which machine latency was measured, or that it was measured with several and is not comparable."""
    sweep = decision.sweep
    measures = (item for run in sweep.outcomes for item in run.facts.measures.items())
    name = next((name for name, measure in measures if measure.machines is not None), "")
    runs = [run for run in sweep.outcomes if name in run.facts.measures]
    used = {run: ", ".join(run.facts.measures[name].machines or ()) or "an unknown machine" for run in runs}
    if labels := grouped(dict.fromkeys((used[run], sweep.label(run)) for run in runs)):
        decides = len(labels) > 1 and name in [*(sweep.settings.require or ()), decision.headline.prefer]
        yield {"cost": sweep.title(name), "machines": labels, **({"place": HEADLINE} if decides else {})}


def more_text(sweep: Sweep, choice: Choice, named: Outcome, beaten: Sequence[Outcome]) -> Iterator[Numbers]:
    """That a configuration returns more text than one that it beats, unless text is what it was chosen by."""
    metric = named.facts.metrics.get(sweep.decided_by)
    cost = next((name for name in sweep.settings.costs if name in named.facts.at_k), None)
    if sweep.budgeted or (metric and metric.of_text) or not sweep.cutoff or (cost and sweep.settings.prefer == cost):
        return
    less = [(*texts, run) for run in beaten if (texts := _less_text(sweep, named, run, cost))]
    if less:
        least, own, unit, run = min(less, key=lambda texts: texts[0])
        labels = {"label": sweep.label(named), "other": sweep.label(run), "cutoff": at(sweep, choice)}
        yield {**labels, "texts": [own, least], "unit": unit}


def _less_text(sweep: Sweep, named: Outcome, run: Outcome, cost: str | None) -> tuple[float, float, str] | None:
    """What a run of smaller passages returns, what the choice does, and in which unit; None if that is no less."""
    own, other = named.facts.returned, run.facts.returned
    if own is None or other is None or other.characters * ALIKE >= own.characters:
        return None
    least, most = (one.value(cost) if cost else None for one in (run, named))
    if cost is None or least is None or most is None or own.counted_by != other.counted_by:
        return other.characters, own.characters, "characters a passage"
    return (least, most, sweep.metric_info[cost].unit) if least < most else None
