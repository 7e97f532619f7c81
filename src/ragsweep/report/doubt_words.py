"""What questions a choice before it is read: the data, the judgments, runs that are missing."""

from __future__ import annotations

from collections.abc import Iterator

from ragsweep.core.terminal import counted
from ragsweep.report.equal_cost_words import excluded_in_words, unspent_in_words
from ragsweep.report.value_words import rough
from ragsweep.sweeps import Decision, Sweep
from ragsweep.sweeps.equal_cost import alike_in_size, unequal_costs

RUNS_NAMED = 3
MOST_UNANSWERED = 0.5  # of the queries; with more, that is the news


def news(decision: Decision) -> str:
    """That every configuration fails for most queries, unless all of them guess."""
    queries, lost = len(decision.sweep.queries), len(decision.unanswered)
    if lost <= MOST_UNANSWERED * queries:
        return ""
    unread = decision.unread is not None and min(decision.unread.counts.values()) >= lost
    guessing = decision.against_guessing.values()
    if guessing and not unread and not any(each.better for each in guessing):
        return ""  # that is why, and is said
    return (
        f"Look at the {'responses' if unread else 'data'} first: every configuration gives {lost} of {queries} queries "
        f"the worst possible {decision.sweep.metric_title}. No choice between them matters as much."
    )


def missing(decision: Decision) -> str:
    """How many runs the decision lacks."""
    lost = len(decision.sweep.unfinished)
    if not lost:
        return ""
    runs, names = counted(lost + len(decision.sweep.outcomes), "run"), list(decision.sweep.unfinished)
    listed = ", ".join(names[:RUNS_NAMED]) + (f" and {lost - RUNS_NAMED} more" if lost > RUNS_NAMED else "")
    return f"{lost} of {runs} did not finish and {'is' if lost == 1 else 'are'} missing: {listed}."


def not_shown(decision: Decision) -> list[str]:
    """What the measurement cannot show of settings that were swept."""
    swept = {part for name in decision.sweep.axes for part in (name, name.partition(".")[0])}
    sentences = [sentence for group, sentence in decision.named.facts.if_swept.items() if group in swept]
    about_costs = (*excluded_in_words(decision), *_unequal(decision.measured), *_lengths(decision))
    return [*sentences, *about_costs, *unspent_in_words(decision)]


def _lengths(decision: Decision) -> Iterator[str]:
    """That the metric compares lists of different length: at equal cost, of units that differ in size."""
    sweep = decision.sweep
    gains = [name for name in sweep.settings.gains if name in sweep.metric_info]
    kinds = [name.rpartition("/")[2] for name in (*gains, sweep.decided_by)]  # recall, as token/recall, is a gain
    if sweep.budgeted and gains and kinds[-1] not in kinds[:-1] and not alike_in_size(decision.measured.outcomes):
        yield (
            f"{sweep.metric_title} compares lists of different length here, and a shorter one can measure better for "
            f"finding less: decision.metric={gains[0]} compares what is found."
        )


def _unequal(sweep: Sweep) -> Iterator[str]:
    """That configurations return more text than others at the only cutoff."""
    if found := unequal_costs(sweep):
        cost, least, most = found
        yield (
            f"At the same {sweep.cutoff}, configurations return {rough(least)} to {rough(most)} "
            f"{sweep.metric_info[cost].unit}, and more text finds more: sweep {sweep.cutoff}, too, such as "
            f"{sweep.cutoff}=1,3,5,10,20, to compare them at equal {sweep.metric_info[cost].unit}."
        )


def doubted(decision: Decision) -> bool:
    """Whether nothing should be shipped: most queries fail, or the judgments cannot compare what was swept."""
    sweep, blind = decision.sweep, decision.named.facts.if_swept
    axes = [name for name in sweep.axes if name != sweep.cutoff]
    unseen = bool(axes) and all(name in blind or name.partition(".")[0] in blind for name in axes)
    return unseen or bool(news(decision))
