"""What questions a choice before it is read: the data, the judgments, runs that are missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ragsweep.core.terminal import counted
from ragsweep.report.value_words import at, cutoffs_in_words, listed, rough
from ragsweep.sweeps import Decision, Outcome, Sweep, most_fail, spends, unread_explains
from ragsweep.sweeps.equal_cost import alike_in_size, sizes_in_question, unequal_costs

RUNS_NAMED = 3
SHORT_NAMED = 2  # configurations that could not spend a budget
LESS_JUDGED = 0.1  # by so much less than of the choice, before it could be the reason for a difference


def news(decision: Decision) -> str:
    """That every configuration fails for most queries, unless all of them guess."""
    if not most_fail(decision):
        return ""
    queries, lost, sweep = len(decision.sweep.queries), len(decision.unanswered), decision.sweep
    look = f"Look at the {'responses' if unread_explains(decision) else 'data'} first:"
    worst = f"{lost} of {counted(queries, 'query')} the worst possible {sweep.metric_title}"
    if all(run.configuration == decision.named.configuration for run in sweep.outcomes):
        return f"{look} {decision.named.name} gives {worst}."
    return f"{look} every configuration gives {worst}. No choice between them matters as much."


def missing(unfinished: Mapping[str, str], finished: int) -> str:
    """Which runs a decision between so many finished ones lacks."""
    lost = len(unfinished)
    if not lost:
        return ""
    runs, names = counted(lost + finished, "run"), list(unfinished)
    listed = ", ".join(names[:RUNS_NAMED]) + (f" and {lost - RUNS_NAMED} more" if lost > RUNS_NAMED else "")
    return f"{lost} of {runs} did not finish and {'is' if lost == 1 else 'are'} missing: {listed}."


def not_shown(decision: Decision) -> list[str]:
    """What the measurement cannot show of settings that were swept."""
    swept = {part for name in decision.sweep.axes for part in (name, name.partition(".")[0])}
    sentences = [sentence for group, sentence in decision.named.facts.if_swept.items() if group in swept]
    others = (
        *ended(decision),
        *unjudged(decision),
        *_unequal(decision),
        *_lengths(decision),
        *_unspent(decision),
        *_unmeasured(decision),
    )
    return [*sentences, *others]


def ended(decision: Decision) -> Iterator[str]:
    """Whose rankings end before a cutoff at which they were measured."""
    sweep = decision.sweep
    short = [run for choice in decision.choices.values() for run in choice.allowed.outcomes if run.ends_early]
    if short:
        who = listed([*dict.fromkeys(map(sweep.label, short))])
        most = " to ".join(dict.fromkeys(str(bound([run.facts.ends_at or 0 for run in short])) for bound in (min, max)))
        where = cutoffs_in_words(sweep, *sorted({run.cutoff or 0 for run in short}))
        yield f"{who}: at most {most} results for a query, so that what would be found at {where} is not known."


def unjudged(decision: Decision) -> Iterator[str]:
    """That less was judged of what other configurations find than of what the choice finds."""
    sweep, choice = decision.sweep, decision.headline
    if said := less_judged(sweep, decision.named, choice.allowed.outcomes, at(sweep, choice)):
        yield f"{said} ragsweep judge asks for what can change the decision."


def less_judged(sweep: Sweep, one: Outcome, others: Sequence[Outcome], where: str = "") -> str:
    """That less was judged of what others find, so that they may be better than they measure; empty if it was not."""
    mine = one.facts.judged
    known = {sweep.label(run): run.facts.judged for run in others if run.facts.judged}
    less = {
        label: each.of_wrong
        for label, each in known.items()
        if mine and min(mine.share - each.share, mine.of_wrong - each.of_wrong) > LESS_JUDGED
    }
    if mine is None or not less:
        return ""
    their = " to ".join(dict.fromkeys(f"{100 * bound:.0f}" for bound in (min(less.values()), max(less.values()))))
    return (
        f"Of what counts as wrong{where}, {100 * mine.of_wrong:.0f} % was judged for {sweep.label(one)}, and {their} % "
        f"for {listed([*less])}: the rest may be right."
    )


def _lengths(decision: Decision) -> Iterator[str]:
    """That the metric compares lists of different length: within a budget, of units that differ in size."""
    sweep = decision.sweep
    gains = [name for name in sweep.settings.gains if name in sweep.metric_info]
    kinds = [name.rpartition("/")[2] for name in (*gains, sweep.decided_by)]  # recall, as token/recall, is a gain
    if sweep.budgeted and gains and kinds[-1] not in kinds[:-1] and not alike_in_size(sweep.outcomes):
        yield (
            f"{sweep.metric_title} compares lists of different length here, and a shorter one can measure better for "
            f"finding less: decision.metric={gains[0]} compares what is found."
        )


def _unspent(decision: Decision) -> Iterator[str]:
    """Which configurations could not spend a budget, as no more was ranked."""
    sweep = decision.sweep
    short = [run for choice in decision.choices.values() for run in choice.allowed.outcomes if not spends(sweep, run)]
    if not short:
        return
    most = {sweep.label(run): run.value(sweep.budgeted or "") or 0 for run in short}
    unit, budgets = sweep.outcomes[0].facts.cutoff_unit, dict.fromkeys(run.cutoff for run in short)
    who = " and ".join(most) if len(most) <= SHORT_NAMED else f"{len(most)} configurations"
    ends = " to ".join(dict.fromkeys([rough(min(most.values())), rough(max(most.values()))]))
    deeper = f"k={2 * max(len(run.facts.curves[sweep.budgeted or '']) for run in short)}"
    where = cutoffs_in_words(sweep, *budgets)
    yield f"{who} returned at most {ends} {unit}: set {deeper} before you choose at {where}."


def _unequal(decision: Decision) -> Iterator[str]:
    """That configurations return more text than others at the same cutoff."""
    sweep = decision.sweep
    if sizes := sizes_in_question(sweep):
        least, most, can_choose = sizes
        yield (
            f"At the same {sweep.cutoff}, chunks of {rough(least)} to {rough(most)} characters return unequal amounts "
            f"of text, and {sweep.metric_title} rewards the larger ones: budget=500,1000 compares at equal tokens. "
            f"{can_choose}".strip()
        )
    elif found := unequal_costs(sweep.at(decision.headline.cutoff)):
        cost, least, most = found
        yield (
            f"At the same {sweep.cutoff}, configurations return {rough(least)} to {rough(most)} "
            f"{sweep.metric_info[cost].unit}, and more text finds more: budget=500,1000 compares at equal tokens."
        )


def _unmeasured(decision: Decision) -> Iterator[str]:
    """Which configurations lack a cutoff that others have, and what the curve of their ranking has there."""
    sweep, levels = decision.sweep, {cutoff: decision.sweep.at(cutoff).outcomes for cutoff in decision.choices}
    for cutoff, runs in levels.items() if max(map(len, levels.values())) > 1 else ():
        here = [run.configuration for run in runs]
        lacking = {
            sweep.label(run): sweep.deepest(run).facts for run in sweep.outcomes if run.configuration not in here
        }
        known = {
            label: f" (its ranking cut there: {sweep.metric_title} {curve[cutoff - 1]:.3f})"
            for label, facts in lacking.items()
            if cutoff and not facts.cutoff_unit and len(curve := facts.curves.get(sweep.decided_by, ())) >= cutoff
        }
        if lacking:
            named = listed([f"{label}{known.get(label, '')}" for label in lacking])
            untested = "; no test compares that" if known else ""
            yield f"Not measured at {cutoffs_in_words(sweep, cutoff)}: {named}{untested}."
