"""What beats the choice of a sweep in quality and cost, or measures nearly as well for far less."""

from __future__ import annotations

from ragsweep.report.report_tables import number
from ragsweep.report.value_words import cutoffs_in_words, in_sentence
from ragsweep.sweeps import Decision, Outcome

NEARLY, FRACTION = 0.9, 0.2  # of the choice's value, and of its cost: what a reader wants to know of before paying


def beaten(decision: Decision) -> str:
    """That the choice is shown to be beaten in quality and cost, mostly by a configuration at another cutoff."""
    prefer = decision.headline.prefer or decision.cost
    front = next((front for front in decision.fronts if front.cost == prefer), None)
    other = front.beats(decision.named) if front else None
    if front is None or other is None or other.configuration == decision.named.configuration:
        return ""
    if any(other.name in choice.excluded for choice in decision.choices.values()):
        return ""
    same = decision.headline.as_good if decision.headline.costs_the_same(front.cost) else ()
    if other.name in [each.name for each in same]:  # which the headline has just said
        return ""
    sweep, cost = front.sweep, front.sweep.metric_info[front.cost]
    unit = cost.unit or in_sentence(cost.title)
    (value, price), (value_there, price_there) = (
        [each.value(name) or 0 for name in (front.quality, front.cost)] for each in (decision.named, other)
    )
    beating, named = (
        " at ".join(
            [decision.sweep.label(each), *([cutoffs_in_words(sweep, each.cutoff)] if each.cutoff is not None else [])]
        )
        for each in (other, decision.named)
    )
    title = in_sentence(sweep.title(front.quality))
    return (
        f"But {beating} beats {named}: {title} {value_there:.3f} for {price_there:,.4g} {unit}, "
        f"against {value:.3f} for {price:,.4g}."
    )


def far_cheaper(decision: Decision) -> str:
    """What measures nearly as well as the choice, for a fraction of one of its costs."""
    sweep, choice = decision.sweep, decision.headline
    value = choice.named.value(sweep.decided_by)
    if value is None or not sweep.higher_is_better or not choice.meets:
        return ""
    for cost in sweep.settings.costs:
        price = choice.named.value(cost)
        if not price or sweep.metric_info[cost].higher_is_better or cost in (sweep.budgeted, choice.prefer):
            continue
        cheap = [
            run
            for run in choice.allowed.outcomes
            if (run.value(sweep.decided_by) or 0) >= NEARLY * value
            and (price_there := run.value(cost)) is not None
            and price_there <= FRACTION * price
            and not (_is_one_time(choice.named, cost) and _is_one_time(run, cost))
        ]
        if cheap:
            other = max(cheap, key=lambda run: run.value(sweep.decided_by) or 0)
            title, there = in_sentence(sweep.title(cost)), other.value(cost)
            return (
                f"Its {title} is {number(sweep, cost, price)}: {sweep.label(other)} has {number(sweep, cost, there)}, "
                f"and {sweep.metric_title} {other.value(sweep.decided_by):.3f}."
            )
    return ""


def _is_one_time(run: Outcome, cost: str) -> bool:
    return cost in run.facts.measures and run.facts.measures[cost].is_one_time
