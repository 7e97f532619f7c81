"""What is said, and what is shipped, where nothing can be told apart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragsweep.core.terminal import counted
from ragsweep.report.power_words import queries_for_more
from ragsweep.report.value_words import at, cutoffs_in_words, in_sentence, listed, measured, queries_in_words, rough
from ragsweep.sweeps import (
    Choice,
    Decision,
    Outcome,
    differ_by_parser_alone,
    doubted,
    not_shipped,
    requirements_exclude,
    spends,
    undecided,
)
from ragsweep.sweeps.choice import at_worst

VETOED = ("unread texts", "unequal text")  # reasons of `not_shipped` that hold for a tie, too


def no_winner(decision: Decision) -> str:
    """That nothing can be told apart, and what was measured, so that it does not sound like a winner."""
    sweep, choice, several = decision.sweep, decision.headline, len(decision.choices) > 1
    meeting = {cutoff: each for cutoff, each in decision.choices.items() if each.meets}
    number = max(len(each.allowed.outcomes) for each in meeting.values())
    if number == 1 and any(each.named.configuration != choice.named.configuration for each in meeting.values()):
        return (
            f"Only one configuration was measured at each {sweep.cutoff}, and not the same one: nothing can be "
            f"compared. Measure all of them at the same {sweep.cutoff}."
        )
    if number == 1:
        return f"One configuration at {counted(len(meeting), 'cutoff')}: only {sweep.cutoff} is to be chosen."
    those = " that meet the requirements" if requirements_exclude(decision, *meeting.values()) else ""
    none = [cutoff for cutoff in decision.choices if cutoff not in meeting]
    nowhere = f"At {cutoffs_in_words(sweep, *none)} none meets the requirements." if none else ""
    if undecided(decision) == "same values":
        only_k = f"Only {sweep.cutoff} is to be chosen." if several else "Take whichever is the cheapest to run."
        which = "both" if number == 2 else f"all {number}"
        value = f"{measured(sweep, choice.named)}{at(sweep, choice)}"
        effect = "Check that what was swept takes effect."
        only_k = "There is nothing to ship." if not_shipped(decision) in VETOED else only_k
        return (
            f"No winner: {which} configurations{those} measure the same, {value}. {effect} {only_k} {nowhere}".strip()
        )
    compared = [cutoff for cutoff, each in meeting.items() if len(each.allowed.outcomes) > 1]
    some = f"any {sweep.cutoff}" if len(compared) == len(decision.choices) else cutoffs_in_words(sweep, *compared)
    anywhere = f" at {some}" if several else ""
    apart = f"Your {queries_in_words(sweep)} cannot tell the {number} configurations{those} apart{anywhere}."
    sentences = (apart, _shipped(decision, choice), nowhere, queries_for_more(choice.allowed))
    return " ".join(filter(None, sentences))


def _shipped(decision: Decision, choice: Choice) -> str:
    """What to ship where nothing can be told apart; nothing where `not_shipped` says so."""
    if (why := not_shipped(decision)) in ("guessing", *VETOED):
        return "There is nothing to ship."
    if why == "unread answers":
        return "There is nothing to ship yet: the choice depends on how unread answers count."
    sweep, label, value = choice.allowed, choice.allowed.label(choice.named), measured(choice.allowed, choice.named)
    chance = ", measured best, perhaps by chance" if choice.distinct > 1 and choice.named is choice.best else ""
    ship = "For now, take" if doubted(decision) else "Ship"
    if choice.prefer is None or choice.costs_the_same(choice.prefer):
        cost = choice.prefer or decision.cost
        best = f"{label}{chance}: {value}"
        if differ_by_parser_alone(sweep.outcomes):
            return f"Keep the parser that you have, or {best}."
        if cost is None or not choice.costs_the_same(cost):
            return f"Choose by cost, or {best}."
        price = _price(choice, choice.named, cost)
        return f"{ship} {best}; about the same {in_sentence(sweep.title(cost))} for each{price}."
    metric = sweep.metric_info[choice.prefer]
    title = in_sentence(metric.title)
    cheapest = "the fastest" if metric.unit == "ms" else "the cheapest"
    which = f"the one with the best {title}" if metric.higher_is_better else cheapest
    mean, best = (f"{sweep.statistic(each, sweep.decided_by):.3f}" for each in (choice.named, choice.best))
    ahead = f"{sweep.label(choice.best)}, {best}{_price(choice, choice.best, choice.prefer)}"
    also = f"; measured best, perhaps by chance: {ahead}" if best != mean else ""
    shipped = f"{ship} {which}: {label}{_price(choice, choice.named, choice.prefer)}, {value}{also}."
    return " ".join([shipped, *_cheaper_for_nothing(choice)])


def _cheaper_for_nothing(choice: Choice) -> Iterator[str]:
    """The configurations that cost less and find nothing."""
    sweep = choice.allowed
    nothing = [sweep.outcomes[place] for place in np.flatnonzero(at_worst(sweep).all(axis=1)).tolist()]
    cost = choice.named.value(choice.prefer or "")
    less = [each for each in nothing if cost is not None and (each.value(choice.prefer or "") or 0) < cost]
    if less:
        costs, has = ("cost", "have") if len(less) > 1 else ("costs", "has")
        worst = f"the worst possible {sweep.metric_title} for every query"
        yield f"{listed([sweep.label(each) for each in less])} {costs} less and {has} {worst}."


def _price(choice: Choice, outcome: Outcome, cost: str | None) -> str:
    """What a configuration costs, in brackets after a space; empty if that is not known."""
    value = outcome.value(cost) if cost else None
    if cost is None or value is None:
        return ""
    metric = choice.allowed.metric_info[cost]
    unit = metric.unit or in_sentence(metric.title)
    if cost == choice.allowed.budgeted and choice.cutoff is not None:
        of_budget = "" if spends(choice.allowed, outcome) else f" of {choice.cutoff:,}"
        return f" ({rough(value)}{of_budget} {unit})"
    return f" ({rough(value)} {unit}{at(choice.allowed, choice)})"
