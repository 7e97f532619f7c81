"""What is said where configurations are compared at equal cost instead of at the same cutoff."""

from __future__ import annotations

from collections.abc import Iterator

from ragsweep.report.report_tables import three_digits
from ragsweep.report.value_words import cutoffs_in_words, listed
from ragsweep.sweeps import Decision, Outcome, Sweep

SPENT = 0.9  # of a budget; a configuration that spends less could be measured at a larger cutoff


def spends(sweep: Sweep, run: Outcome) -> bool:
    """Whether a configuration costs as much as the budget at which it is compared, if it is at one."""
    cost = run.value(sweep.budgeted) if sweep.budgeted else None
    return cost is None or run.cutoff is None or cost >= SPENT * run.cutoff


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
    everywhere = dict.fromkeys(map(measured.label, measured.outcomes))
    for budget in decision.choices:
        found = {sweep.label(run): run for run in sweep.at(budget).outcomes}
        where = cutoffs_in_words(sweep, budget)
        if missing := [label for label in everywhere if label not in found]:
            yield f"Not compared at {where}, as their smallest {cutoff} returns more: {listed(missing)}."
        less = {label: run.value(sweep.budgeted or "") or 0 for label, run in found.items() if not spends(sweep, run)}
        if frugal := less if budget else {}:
            names = listed([f"{label} (at most {three_digits(cost)})" for label, cost in frugal.items()])
            yield f"At {where} these would have more to spend, at a larger {cutoff} than was measured: {names}."
