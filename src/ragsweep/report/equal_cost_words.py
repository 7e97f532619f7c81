"""What is said where configurations are compared at equal cost instead of at the same cutoff."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ragsweep.report.report_tables import three_digits
from ragsweep.report.value_words import cutoffs_in_words, listed, rough
from ragsweep.sweeps import Decision, Outcome, spends

SHORT_NAMED = 2  # configurations that could not spend a budget


def unspent_in_words(decision: Decision) -> Iterator[str]:
    """Which configurations could not spend a budget, as they were not measured at a larger cutoff."""
    sweep = decision.sweep
    short = [run for choice in decision.choices.values() for run in choice.allowed.outcomes if not spends(sweep, run)]
    if not short:
        return
    most = {sweep.label(run): run.value(sweep.budgeted or "") or 0 for run in short}
    unit, budgets = sweep.outcomes[0].facts.cutoff_unit, dict.fromkeys(run.cutoff for run in short)
    who = " and ".join(most) if len(most) <= SHORT_NAMED else f"{len(most)} configurations"
    ends = " to ".join(dict.fromkeys([rough(min(most.values())), rough(max(most.values()))]))
    ranked = max(len(run.facts.curves.get(sweep.budgeted or "", ())) for run in short)
    larger = f"sweep a larger {decision.measured.cutoff}" if decision.is_interpolated else f"set k={2 * ranked}"
    yield f"{who} returned at most {ends} {unit}: {larger} before you choose at {cutoffs_in_words(sweep, *budgets)}."


def excluded_in_words(decision: Decision) -> Iterator[str]:
    """Which configurations cost more than every budget of the headline, which has chosen without them."""
    sweep, budgets = decision.sweep, decision.headline_cutoffs
    compared = [run for budget in budgets for run in sweep.at(budget).outcomes]
    if decision.is_interpolated and (excluded := _absent(decision, compared)):
        are, their = ("is", "its") if len(excluded) == 1 else ("are", "their")
        yield (
            f"{listed(excluded)} {are} not compared at {cutoffs_in_words(sweep, *budgets)}: {their} smallest "
            f"{decision.measured.cutoff} returns more."
        )


def _absent(decision: Decision, compared: Iterable[Outcome]) -> list[str]:
    """The configurations that are not among those that are compared."""
    found = {decision.sweep.label(run) for run in compared}
    measured = dict.fromkeys(map(decision.measured.label, decision.measured.outcomes))
    return [label for label in measured if label not in found]


def equal_cost_in_words(decision: Decision) -> Iterator[str]:
    """How configurations are compared, which are not, and which could spend more; nothing at the same cutoff."""
    sweep, measured = decision.sweep, decision.measured
    if not decision.is_interpolated:
        if sweep.settings.budgets and not sweep.budgeted:
            yield "No configuration returns so little as decision.budgets allows: compared at the same cutoff."
        return
    cutoff, unit = measured.cutoff, sweep.outcomes[0].facts.cutoff_unit
    asked = sweep.settings.budget or sweep.settings.budgets
    why = f", because the same {cutoff} returns more text from some configurations than from others"
    yield (
        f"Compared at equal {unit}{'' if asked else why}. Values between two measured {cutoff} are interpolated for "
        f"each query; decision.budget={cutoff} compares at the same {cutoff}."
    )
    for budget in decision.choices:
        found = {sweep.label(run): run for run in sweep.at(budget).outcomes}
        where = cutoffs_in_words(sweep, budget)
        if missing := _absent(decision, found.values()):
            yield f"Not compared at {where}, as their smallest {cutoff} returns more: {listed(missing)}."
        less = {label: run.value(sweep.budgeted or "") or 0 for label, run in found.items() if not spends(sweep, run)}
        if frugal := less if budget else {}:
            names = listed([f"{label} (at most {three_digits(cost)})" for label, cost in frugal.items()])
            yield f"At {where} these would have more to spend, at a larger {cutoff} than was measured: {names}."
