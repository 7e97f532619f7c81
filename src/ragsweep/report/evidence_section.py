"""Further sentences about a decision: how the choice was made, warnings, the baseline, query types and power."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from ragsweep.core.terminal import counted, one_line
from ragsweep.report.bought_words import bought
from ragsweep.report.parser_words import parsers_in_words
from ragsweep.report.power_words import power
from ragsweep.report.timing_words import doubts, latency_decides, machines
from ragsweep.report.unread_words import lost_in_words
from ragsweep.report.value_words import at, cutoffs_in_words, in_sentence, listed, p_value, queries_in_words
from ragsweep.sweeps import Choice, Decision, asked_once, split, undecided
from ragsweep.sweeps.choice import EQUAL_COST
from ragsweep.tasks.repeating import shift_in_words, what_pays

MOST_TWINS = 3  # sentences about configurations that measure the same
STILL_RISING = 0.02  # between the two largest cutoffs; less is not worth a sentence


def evidence(decision: Decision) -> list[str]:
    """Further sentences: how the choice was made, warnings, the baseline, query types and power."""
    said = [machines(decision.sweep), *([] if latency_decides(decision) else doubts(decision))]
    return [one_line(sentence) for sentence in (*_of_choice(decision), *said) if sentence]


def _of_choice(decision: Decision) -> Iterator[str]:
    if lost := lost_in_words(decision):
        yield lost
    yield from _repeats(decision)
    if len(decision.sweep.outcomes) < 2:
        return
    yield from _cautions(decision)
    yield from parsers_in_words(decision)
    asked, used = decision.sweep.settings.at, decision.headline.cutoff
    if asked is not None and asked != used:
        about = cutoffs_in_words(decision.sweep, used)
        yield f"decision.at is {asked}, at which no run finished: the headline is about {about}."
    yield from _twins(decision)
    yield from _left_out(decision)
    if undecided(decision) == "same values":
        return
    yield from _rule(decision)
    yield from _edges(decision)
    yield from _cheap_baseline(decision)
    yield from _against_baseline(decision)
    yield from _query_types(decision)
    if said := power(decision.headline.allowed):
        yield said


def _repeats(decision: Decision) -> Iterator[str]:
    """What another asking would change, where answers vary."""
    sweep, named = decision.sweep, decision.named
    if once := asked_once(sweep):
        yield (
            f"Asked once: {listed(once)}. Their answers vary, and another asking gives other numbers; repeats=5 shows "
            "how far."
        )
    if parts := split(decision.headline.allowed):
        shares = [f"{100 * part / sum(parts):.0f} %" for part in parts] if sum(parts) else ["0 %"] * len(parts)
        yield (
            f"Of the variance of {sweep.metric_title} of one answer, {shares[0]} is between configurations, "
            f"{shares[1]} between {'groups of questions' if sweep.groups.in_use else 'questions'}, {shares[2]} between "
            f"repeats, and {shares[3]} between answers to the same question."
        )
    fact = named.facts.repeated.get(sweep.decided_by)
    if fact and fact.question is not None:
        yield f"{sweep.label(named)}: {what_pays(fact.asked_once, sweep.groups, named.facts.repeats)}"
        yield from shift_in_words(fact.question, fact.repeat, fact.residual)


def _cautions(decision: Decision) -> Iterator[str]:
    """What must be said of other configurations than the named one."""
    of: dict[str, list[str]] = {}
    for outcome in decision.sweep.outcomes:
        of.setdefault(outcome.facts.caution, []).append(outcome.name)
    for caution, names in of.items():
        if caution and caution != decision.named.facts.caution:
            yield f"{listed(names)}: {caution}"


def _rule(decision: Decision) -> Iterator[str]:
    """How one of several configurations was chosen."""
    sweep, choice = decision.sweep, decision.headline
    if decision.against_guessing and not any(each.better for each in decision.against_guessing.values()):
        return  # there is nothing to ship
    prefer, margin = sweep.settings.prefer, sweep.settings.margin
    as_good = counted(len(choice.as_good), "configuration")
    end = "highest" if choice.prefer and sweep.metric_info[choice.prefer].higher_is_better else "lowest"
    cheapest = f"the {end} {in_sentence(sweep.title(choice.prefer))}" if choice.prefer else ""
    preferred = f"{cheapest}, where {100 * EQUAL_COST:.0f} % more is the same,"
    if prefer and choice.not_worse == []:
        yield (
            f"Chosen: the best measured {sweep.metric_title}. No configuration is shown to be within {margin:g} of the "
            "true best (p <= 0.05)."
        )
    elif prefer and choice.not_worse is not None:
        yield (
            f"Chosen: {preferred} among {as_good} shown not to be worse than the best by {margin:g} "
            f"{sweep.metric_title} or more (non-inferiority test, p <= 0.05)."
        )
    elif prefer:
        yield (
            f"Chosen: {preferred} among {as_good} that cannot be told apart from the best. That does not show "
            "that they are as good: decision.margin tests it."
        )
    elif choice.by_cost:
        yield (
            f"Chosen: {cheapest} among {as_good} that cannot be told apart from the "
            "best, which does not show that they are as good: decision.margin tests it."
        )
    elif len(choice.tied) > 1:
        yield (
            f"Chosen: the best measured {sweep.metric_title}. The tied ones may be as good: choose between them by "
            "cost (decision.prefer), or measure more queries."
        )
    if margin is not None and not prefer and choice.not_worse is not None:
        names = listed([sweep.label(outcome) for outcome in choice.not_worse]) or "none"
        within = f"within {margin:g} {sweep.metric_title} of the best{at(sweep, choice)}"
        yield f"Shown to be {within} (p <= 0.05): {names}."
    if choice.not_worse is not None:
        yield from _limits_of_the_margin(choice)


def _left_out(decision: Decision) -> Iterator[str]:
    """The configurations at the headline's cutoff that could not be chosen."""
    sweep, choice = decision.sweep, decision.headline
    controls = {outcome.name for outcome in sweep.outcomes if outcome.facts.control}
    for why, some in (("do not meet the requirements", choice.excluded.keys() - controls), ("are controls", controls)):
        if choice.meets and (left_out := [name for name in choice.excluded if name in some]):
            yield f"Left out{at(sweep, choice)}, as they {why}: {listed(left_out)}."


def _limits_of_the_margin(choice: Choice) -> Iterator[str]:
    """What so many queries can never show, and what the test of a margin needs where the metric has no bounds."""
    sweep, found = choice.allowed, choice.showable
    if not isfinite(sweep.metric_info[sweep.decided_by].span):
        yield (
            f"{sweep.metric_title} has no bounds: the test of the margin assumes that the differences are about "
            "symmetric, and misses a loss that few queries carry."
        )
    elif found and found.queries > len(sweep.queries):
        yield (
            f"{queries_in_words(sweep)} cannot show a margin of {sweep.settings.margin:g}: between "
            f"{choice.distinct} configurations {found.margin:.2g} is the smallest, and {sweep.settings.margin:g} takes "
            f"at least {found.queries:,} queries, even if none of them differs."
        )
    elif not choice.not_worse:
        yield "Measure more queries, or allow a larger margin."


def _twins(decision: Decision) -> Iterator[str]:
    """Configurations that have the same number in every metric, also where their settings differ."""
    level = decision.headline.allowed
    alike: dict[str, list[str]] = {}
    for outcome in level.outcomes:
        alike.setdefault(outcome.measured, []).append(level.label(outcome))
    same = [labels for labels in alike.values() if len(labels) > 1]
    for labels in same[:MOST_TWINS] if len(alike) > 1 else ():
        names = " and ".join(labels) if len(labels) == 2 else listed(labels)
        yield f"{names} have the same number in every metric."


def _edges(decision: Decision) -> Iterator[str]:
    """Warnings that the best may lie outside of what was swept."""
    sweep = decision.sweep
    for name in decision.at_edge:
        method = decision.named.facts.method
        value = f"{sweep.short(name)} {decision.best[name]:g}"
        if name in method.stands_for and method.vary:
            yield f"{value} is at the end of its range: {method.vary}."
        else:
            end = "smallest" if decision.best[name] == sweep.axes[name][0] else "largest"
            yield f"{value} is the {end} value of the sweep: sweep {end.replace('est', 'er')} ones."
    gain, points = decision.gain, bought(decision)
    if gain and len(points) > 1:
        (lower, before, _), (higher, last, _) = points[-2:]
        if sweep.sign(gain) * (last - before) >= STILL_RISING:
            still = f"{sweep.title(gain)} still {'rises' if sweep.sign(gain) > 0 else 'falls'}"
            largest = f"{before:.3f} at {lower:,}, {last:.3f} at {higher:,}"
            cutoffs = f"{sweep.cutoff}{'s' if sweep.budgeted else ''}"
            of = "of the sweep" if higher == max(map(int, filter(None, decision.choices))) else "that it spends"
            yield f"{still} between the two largest {cutoffs} {of}: {largest}."


def _cheap_baseline(decision: Decision) -> Iterator[str]:
    baselines = [outcome.facts.method for outcome in decision.headline.others if outcome.facts.method.is_baseline]
    if baselines and not decision.named.facts.method.is_baseline:
        advantage = f", which {baselines[0].advantage}" if baselines[0].advantage else ""
        yield f"One of the tied configurations is {baselines[0].title or 'the usual baseline'}{advantage}."


def _against_baseline(decision: Decision) -> Iterator[str]:
    sweep = decision.headline.allowed
    found = sweep.standings
    against, best = found.baseline, found.best
    if against is None or against.reference == best:
        return
    fixed = sweep.outcomes[against.reference].name == sweep.baseline
    p = against.p_holm[best] if fixed else found.with_best.p[against.reference]
    other = sweep.outcomes[against.reference]
    usual = other.facts.method.title if not fixed else ""
    what = "(Holm)" if fixed else f"of the hypothesis that {other.name} is one of the best, tested against all"
    difference = f"95 % interval [{against.low[best]:+.3f}, {against.high[best]:+.3f}]"
    yield (
        f"The best against {usual or 'the baseline'}, {other.name}: "
        f"{against.difference[best]:+.3f} {sweep.metric_title}, {difference}, p {p_value(p)} {what}; "
        f"{counted(int(against.wins[best]), 'query')} better, {against.ties[best]} equal, {against.losses[best]} worse."
    )


def _query_types(decision: Decision) -> Iterator[str]:
    found = decision.headline.allowed.standings
    if found.by_type is not None:
        verdict = "pays off" if found.types_pay else "is not shown to pay off"
        yield (
            f"A configuration for each query type {verdict}: {found.by_type.gain:+.3f} {decision.sweep.metric_title} "
            f"on held-out queries (p {p_value(found.by_type.p)})."
        )
