"""Decides a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragsweep.sweeps.choice import choose_at_each
from ragsweep.sweeps.decision import Decision
from ragsweep.sweeps.other_readings import differ_by_parser_alone
from ragsweep.sweeps.outcome import Outcome
from ragsweep.sweeps.sweep import Sweep


def decide(sweep: Sweep) -> Decision:
    """Decide a sweep: its runs must be on the same data, and at least one must have finished.

    Where nothing can be told apart at any cutoff, the cheapest is named, also if no cost is preferred; of those that
    cost the same, the best. Only a cost that all have counts, and no time, which differs from one day to the next. A
    parser is never named for its cost. What the headline names is named at every cutoff where it is as good.
    """
    decision = Decision(sweep, choose_at_each(sweep))
    settings, cost = sweep.settings, cost_of_all(sweep)
    asked = settings.prefer or settings.margin is not None
    tied = decision.headline.undecided == "tied"
    if cost and not asked and tied and not differ_by_parser_alone(sweep.outcomes):
        by_cost = {
            cutoff: choice if choice.costs_the_same(cost) else replace(choice, by_cost=cost)
            for cutoff, choice in decision.choices.items()
        }
        decision = replace(decision, choices=by_cost)
    serving, choices = _serving(decision), decision.choices.items()
    one = {cutoff: replace(choice, everywhere=run) for (cutoff, choice), run in zip(choices, serving, strict=False)}
    return replace(decision, choices=one or decision.choices)


def _serving(decision: Decision) -> Sequence[Outcome]:
    """The runs of the configuration that is named at the headline's cutoff, one at each, if it serves at every cutoff.

    It does where it is named or, without `prefer`, tied with the best. Empty if not, or if there is no other to name.
    """
    everywhere = decision.everywhere.values()
    serving = (runs for runs in everywhere if decision.named in runs and _serves(decision, runs))
    return next(serving, ()) if len(everywhere) > 1 else ()


def _serves(decision: Decision, outcomes: Sequence[Outcome]) -> bool:
    by_cost = decision.sweep.settings.prefer is not None
    return all(
        choice.meets and (outcome is choice.named or (outcome in choice.tied and not by_cost))
        for outcome, choice in zip(outcomes, decision.choices.values(), strict=True)
    )


def decide_each(sweep: Sweep) -> list[Decision]:
    """Decide a sweep on each of its datasets."""
    return [decide(each) for each in sweep.by_dataset]


def cost_of_all(sweep: Sweep) -> str | None:
    """The first of `decision.costs` that was measured; None if a configuration lacks it, or if it was timed."""
    for name in sweep.settings.costs:
        values = [run.value(name) for run in sweep.outcomes]
        if any(value is not None for value in values):
            timed = any(name in run.facts.measures and run.facts.measures[name].sample for run in sweep.outcomes)
            return None if timed or None in values else name
    return None
