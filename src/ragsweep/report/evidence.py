"""Further claims of a decision: what it assumes, what a larger cutoff buys, warnings, the baseline, types and power."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ragsweep.report.sentences import Claim
from ragsweep.report.value_words import at, cutoffs_in_words, measured_with, price, queries_in_words
from ragsweep.statistics import FEW_QUERIES, WORTHWHILE
from ragsweep.statistics.power import FEWEST_FLIPPED
from ragsweep.sweeps import Decision, Outcome, Sweep
from ragsweep.sweeps.choice import EQUAL_COST
from ragsweep.tasks.repeating import shift_in_words, what_pays

Finder = Callable[[Decision], Iterator[Claim]]

STILL_RISING = 0.02  # between the two largest cutoffs; less is not worth a sentence
LESS_JUDGED = 0.1  # by so much less than of the choice, before it could be the reason for a difference


def evident(name: str, /, **numbers: object) -> Claim:
    """A claim of the evidence."""
    return Claim(name, numbers, "evidence")


def expected(decision: Decision) -> Iterator[Claim]:
    """What to expect on new queries, where that is less than what was measured."""
    chosen, sweep = decision.headline, decision.sweep
    if chosen.expected is None or chosen.undecided or sweep.groups.number < FEW_QUERIES:  # of fewer, it says little
        return
    value = sweep.statistic(chosen.named, sweep.decided_by)
    loss = sweep.sign(sweep.decided_by) * (round(value, 3) - round(chosen.expected, 3))
    if loss > 0:
        numbers = {"value": chosen.expected, "measured": value, "loss": loss, "higher": sweep.higher_is_better}
        yield evident("expected", at=at(sweep, chosen), metric=sweep.metric_title, **numbers)


def bought(decision: Decision) -> Iterator[Claim]:
    """The first gain and the first cost of the named configuration at each swept cutoff."""
    sweep, points, gain = decision.sweep, decision.bought, decision.gain
    if not gain or len(points) < 2:
        return
    values = [sweep.sign(gain) * value for _, value, _ in points]
    highest = points[values.index(max(values))][0] if values[-1] < max(values) > values[0] else None
    named = {str(choice.named.configuration) for choice in decision.choices.values()}
    numbers = {
        "gain": sweep.title(gain),
        "cutoff": sweep.cutoff,
        "points": [[cutoffs_in_words(sweep, cutoff), value, cost] for cutoff, value, cost in points],
        "unit": sweep.metric_info[decision.cost].unit if decision.cost and not sweep.budgeted else None,
        "highest": highest and cutoffs_in_words(sweep, highest),
        "more": values[-1] > values[0],
        "label": None if len(named) == 1 else sweep.label(decision.named),
        "rises": abs(points[-1][1] - points[-2][1]) if values[-1] - values[-2] >= STILL_RISING else None,
    }
    yield evident("bought", **numbers)


def beaten(decision: Decision) -> Iterator[Claim]:
    """That the choice is shown to be beaten in quality and cost, mostly by a configuration at another cutoff."""
    prefer, sweep = decision.headline.prefer or decision.cost, decision.sweep
    front = next((front for front in decision.fronts if front.cost == prefer), None)
    rival = front.beats(decision.named) if front else None
    if front is None or rival is None or rival.configuration == decision.named.configuration:
        return
    same = decision.headline.as_good if decision.headline.costs_the_same(front.cost) else ()
    left_out = any(rival.name in choice.excluded for choice in decision.choices.values())
    if left_out or rival.name in [run.name for run in same]:  # of the same price, as the headline has just said
        return
    runs, at_cutoff = (rival, decision.named), " at {}" if sweep.cutoff else ""
    labels = [sweep.label(run) + at_cutoff.format(cutoffs_in_words(sweep, run.cutoff)) for run in runs]
    numbers = {
        "values": [run.value(front.quality) for run in runs],
        "prices": [price(sweep, run, front.cost) for run in runs],
    }
    yield evident("beaten", labels=labels, quality=sweep.title(front.quality), **numbers)


def control(decision: Decision) -> Iterator[Claim]:
    """That a control, which nobody can ship, measures better than the choice."""
    sweep = decision.sweep
    sign, metric = sweep.sign(sweep.decided_by), sweep.decided_by
    controls = [run for run in sweep.at(decision.headline.cutoff).outcomes if run.facts.control]
    best = max(controls, key=lambda run: sign * sweep.statistic(run, metric), default=None)
    if best and sign * (sweep.statistic(best, metric) - sweep.statistic(decision.named, metric)) > 0:
        yield evident("control", label=sweep.label(best), why=best.facts.control, **measured_with(sweep, best))


def ended(decision: Decision) -> Iterator[Claim]:
    """Whose rankings end before a cutoff at which they were measured."""
    sweep = decision.sweep
    short = [run for choice in decision.choices.values() for run in choice.allowed.outcomes if run.ends_early]
    if short:
        ends = sorted({run.facts.ends_at or 0 for run in short})
        where = cutoffs_in_words(sweep, *sorted({run.cutoff or 0 for run in short}))
        yield evident("ended", labels=[*dict.fromkeys(map(sweep.label, short))], ends=[ends[0], ends[-1]], at=where)


def unjudged(decision: Decision) -> Iterator[Claim]:
    """That less was judged of what other configurations find than of what the choice finds."""
    chosen = decision.headline
    yield from less_judged(decision.sweep, decision.named, chosen.allowed.outcomes, at(decision.sweep, chosen))


def less_judged(sweep: Sweep, run: Outcome, others: Sequence[Outcome], where: str = "") -> Iterator[Claim]:
    """That less was judged of what others find, so that they may be better than they measure."""
    own = run.facts.judged
    judged = {sweep.label(other): other.facts.judged for other in others if other.facts.judged}
    less = {
        label: fact.of_wrong
        for label, fact in judged.items()
        if own and min(own.share - fact.share, own.of_wrong - fact.of_wrong) > LESS_JUDGED
    }
    if own and less:
        yield evident("less_judged", at=where, label=sweep.label(run), own=own.of_wrong, others=less)


def unspent(decision: Decision) -> Iterator[Claim]:
    """Which configurations could not spend a budget, as no more was ranked."""
    sweep = decision.sweep
    allowed = (run for choice in decision.choices.values() for run in choice.allowed.outcomes)
    short = [run for run in allowed if not sweep.spends(run)]
    if short:
        costs = sorted(run.value(sweep.budgeted or "") or 0 for run in short)
        numbers = {
            "labels": [*dict.fromkeys(map(sweep.label, short))],
            "most": [costs[0], costs[-1]],
            "unit": sweep.outcomes[0].facts.cutoff_unit,
            "k": 2 * max(len(run.facts.at_k[sweep.budgeted or ""]) for run in short),
        }
        yield evident("unspent", at=cutoffs_in_words(sweep, *dict.fromkeys(run.cutoff for run in short)), **numbers)


def unmeasured(decision: Decision) -> Iterator[Claim]:
    """Which configurations lack a cutoff that others have, and what the curve of their ranking has there."""
    sweep, levels = decision.sweep, {cutoff: decision.sweep.at(cutoff).outcomes for cutoff in decision.choices}
    for cutoff, runs in levels.items() if max(map(len, levels.values())) > 1 else ():
        here = [run.configuration for run in runs]
        lacking = {
            sweep.label(run): sweep.deepest(run).facts for run in sweep.outcomes if run.configuration not in here
        }
        cut = {
            label: curve[cutoff - 1]
            for label, facts in lacking.items()
            if cutoff and not facts.cutoff_unit and len(curve := facts.at_k.get(sweep.decided_by, ())) >= cutoff
        }
        if lacking:
            where = cutoffs_in_words(sweep, cutoff)
            yield evident("unmeasured", at=where, labels=[*lacking], cut=cut, metric=sweep.metric_title)


def other_lengths(decision: Decision) -> Iterator[Claim]:
    """That the metric compares lists of different length: within a budget, of units that differ in size."""
    sweep = decision.sweep
    gains = [name for name in sweep.settings.gains if name in sweep.metric_info]
    kinds = [name.rpartition("/")[2] for name in (*gains, sweep.decided_by)]  # recall, as token/recall, is a gain
    if sweep.budgeted and gains and kinds[-1] not in kinds[:-1] and not sweep.alike_in_size:
        yield evident("other_lengths", metric=sweep.metric_title, gain=gains[0])


def lost_fields(decision: Decision) -> Iterator[Claim]:
    """How many responses were read without some of their fields."""
    sweep, queries = decision.sweep, len(decision.sweep.queries)
    runs = decision.unread.counts if decision.unread else ()
    lost = {sweep.label(run): run.value(run.facts.unread[sweep.decided_by].lost) or 0 for run in runs}
    counts = {label: round(queries * share) for label, share in lost.items() if round(queries * share)}
    if counts:
        yield evident("lost_fields", counts=counts, queries=queries)


def repeats(decision: Decision) -> Iterator[Claim]:
    """What another asking would change, where answers vary."""
    sweep, named = decision.sweep, decision.named
    if once := [run.name for run in sweep.outcomes if run.facts.varies and run.facts.repeats == 1]:
        yield evident("asked_once", names=once)
    fact = named.facts.repeated.get(sweep.decided_by)
    if fact and fact.question is not None:
        pays = what_pays(fact.asked_once, sweep.groups, named.facts.repeats)
        shift = [*shift_in_words(fact.question, fact.repeat, fact.residual)]
        yield evident("repeats", label=sweep.label(named), pays=pays, shift=" ".join(shift))


def other_cutoff(decision: Decision) -> Iterator[Claim]:
    """That no run finished at the cutoff that was asked for."""
    asked, used = decision.sweep.settings.at, decision.headline.cutoff
    if asked is not None and asked != used:
        yield evident("other_cutoff", asked=asked, used=cutoffs_in_words(decision.sweep, used))


def left_out(decision: Decision) -> Iterator[Claim]:
    """The configurations at the headline's cutoff that could not be chosen."""
    sweep, chosen = decision.sweep, decision.headline
    controls = {run.name for run in sweep.outcomes if run.facts.control}
    for why, some in (("do not meet the requirements", chosen.excluded.keys() - controls), ("are controls", controls)):
        if chosen.meets and (names := [name for name in chosen.excluded if name in some]):
            yield evident("left_out", at=at(sweep, chosen), why=why, names=names)


def rule(decision: Decision) -> Iterator[Claim]:
    """How a cost chose one of several configurations, and what a margin can show."""
    sweep, chosen = decision.sweep, decision.headline
    prefer = sweep.settings.prefer if chosen.named.value(sweep.settings.prefer or "") is not None else None
    margin, not_worse = sweep.settings.margin, chosen.not_worse
    if (prefer or margin) is None or chosen.undecided not in (None, "tied") or len(chosen.allowed.outcomes) < 2:
        return
    values = [sweep.sign(prefer) * (run.value(prefer) or 0) for run in chosen.allowed.outcomes] if prefer else []
    yield evident(
        "rule",
        least_too=bool(prefer) and max(values) == sweep.sign(prefer or "") * (chosen.named.value(prefer or "") or 0),
        preferred=prefer and sweep.title(prefer),
        end="highest" if prefer and sweep.metric_info[prefer].higher_is_better else "lowest",
        slack=EQUAL_COST,
        as_good=len(chosen.as_good),
        metric=sweep.metric_title,
        margin=margin,
        not_worse=None if not_worse is None else [*map(sweep.label, not_worse)],
        at=at(sweep, chosen),
    )
    if (showable := chosen.showable) and showable[1] > len(sweep.queries):
        numbers = {"number": chosen.distinct, "smallest": showable[0], "needed": showable[1]}
        yield evident("small_margin", queries=queries_in_words(sweep), margin=margin, **numbers)


def edges(decision: Decision) -> Iterator[Claim]:
    """Warnings that the best may lie outside of what was swept."""
    sweep = decision.sweep
    for name in decision.at_edge if decision.headline.undecided is None else ():
        method = decision.named.facts.method
        values = sweep.axes[name]
        vary = method.vary if name in method.stands_for else ""
        end, value = ("smallest", values[0]) if decision.best[name] == values[0] else ("largest", values[-1])
        yield evident("edge", name=sweep.short(name), value=value, end=end, vary=vary)


def baseline(decision: Decision) -> Iterator[Claim]:
    """The best against the baseline."""
    sweep = decision.headline.allowed
    standings = sweep.standings
    against, best = standings.baseline, standings.best
    if against is None or against.reference == best or decision.headline.undecided == "same values":
        return
    other = sweep.outcomes[against.reference]
    fixed = other.name == sweep.baseline
    yield evident(
        "against_baseline",
        name=other.name,
        title="the baseline" if fixed else other.facts.method.title or "the baseline",
        metric=sweep.metric_title,
        difference=float(against.difference[best]),
        low=float(against.low[best]),
        high=float(against.high[best]),
        p=float(against.p_holm[best] if fixed else standings.with_best.p[against.reference]),
        fixed=fixed,
        counts=[int(counts[best]) for counts in (against.wins, against.ties, against.losses)],
    )


def query_types(decision: Decision) -> Iterator[Claim]:
    """Whether a configuration for each query type pays off."""
    standings = decision.headline.allowed.standings
    if standings.by_type is not None:
        numbers = {"gain": float(standings.by_type.gain), "p": float(standings.by_type.p)}
        yield evident("query_types", pays=standings.types_pay, metric=decision.sweep.metric_title, **numbers)


def power(decision: Decision) -> Iterator[Claim]:
    """What the queries can show of two configurations that are as similar as the best ones."""
    sweep, power = decision.headline.allowed, decision.headline.allowed.standings.power
    if power is not None and sweep.groups.number >= FEWEST_FLIPPED and not power.too_alike:
        numbers = {"detectable": power.detectable, "worthwhile": WORTHWHILE, "needed": power.needed(WORTHWHILE)}
        grouped = sweep.groups.in_use
        yield evident("power", queries=queries_in_words(sweep), metric=sweep.metric_title, grouped=grouped, **numbers)


def machines(decision: Decision) -> Iterator[Claim]:
    """With which machine latency was measured, or that it was measured with several and is not comparable."""
    sweep = decision.sweep
    measures = (item for run in sweep.outcomes for item in run.facts.measures.items())
    name = next((name for name, measure in measures if measure.machines is not None), "")
    labels: dict[str, list[str]] = {}
    for run in (run for run in sweep.outcomes if name in run.facts.measures):
        used = ", ".join(run.facts.measures[name].machines or ()) or "an unknown machine"
        labels.setdefault(used, []).append(sweep.label(run))
    if not labels:
        return
    decides = name in [*(sweep.settings.require or ()), decision.headline.prefer]
    numbers = {used: [*dict.fromkeys(some)] for used, some in labels.items()}
    claim = evident("machines", cost=sweep.title(name), machines=numbers)
    yield replace(claim, place="headline") if decides and len(labels) > 1 else claim


OF_CHOICE: tuple[Finder, ...] = (expected, bought, beaten, control)
OF_DATA: tuple[Finder, ...] = (ended, unjudged, unspent, unmeasured, other_lengths, lost_fields, repeats)
OF_RULES: tuple[Finder, ...] = (other_cutoff, left_out, rule, edges, baseline, query_types, power, machines)
EVIDENCE = (*OF_CHOICE, *OF_DATA, *OF_RULES)
