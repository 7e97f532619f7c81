"""Decides a sweep."""

from __future__ import annotations

from dataclasses import replace

from ragsweep.sweeps.choice import choose_at_each
from ragsweep.sweeps.decision import Decision
from ragsweep.sweeps.other_readings import differ_by_parser_alone
from ragsweep.sweeps.sweep import Sweep


def decide(sweep: Sweep) -> Decision:
    """Decide a sweep: its runs must be on the same data, and at least one must have finished.

    Where nothing can be told apart, the cheapest is named, also if no cost is preferred: by the first that differs.
    A parser is never named for its cost. What the headline names is named at every cutoff where it is as good.
    """
    decision = Decision(sweep, choose_at_each(sweep))
    settings, headline = sweep.settings, decision.headline
    costs = () if settings.prefer or settings.margin is not None else costs_of_all(sweep)
    cost = next((name for name in costs if not headline.costs_the_same(name)), None)
    if cost and headline.undecided == "tied" and not differ_by_parser_alone(sweep.outcomes):
        by_cost = {
            cutoff: choice if choice.costs_the_same(cost) else replace(choice, by_cost=cost)
            for cutoff, choice in decision.choices.items()
        }
        decision = replace(decision, choices=by_cost)
    if settings.prefer:
        return decision
    named = sweep.label(decision.named)
    same = {
        cutoff: next((run for run in choice.tied if choice.meets and sweep.label(run) == named), None)
        for cutoff, choice in decision.choices.items()
    }
    choices = {cutoff: replace(choice, of_headline=same[cutoff]) for cutoff, choice in decision.choices.items()}
    return replace(decision, choices=choices)


def decide_each(sweep: Sweep) -> list[Decision]:
    """Decide a sweep on each of its datasets."""
    return [decide(one) for one in sweep.by_dataset]


def costs_of_all(sweep: Sweep) -> list[str]:
    """Those of `decision.costs` that were measured of every configuration."""
    return [name for name in sweep.settings.costs if all(run.value(name) is not None for run in sweep.outcomes)]
