"""Configurations at equal cost, where the same cutoff returns more text from one than from another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil

import numpy as np

from ragsweep.statistics.intervals import EQUAL
from ragsweep.sweeps.decision_settings import BUDGET
from ragsweep.sweeps.outcome import Outcome
from ragsweep.sweeps.sweep import Sweep
from ragsweep.tasks.facts import MeasureFact, RepeatedFact
from ragsweep.tasks.task import LEAST_DEPTH

ALIKE = 1.1  # times as large: units that differ by less are of one size
QUARTILES = (0.25, 0.5, 0.75)
SPENT = 0.9  # of a budget; a configuration that spends less could be measured at a larger cutoff


def at_equal_cost(sweep: Sweep) -> Sweep:
    """The configurations at equal cost instead of at the same cutoff; the sweep as it is where that is not asked for.

    What a configuration measures at a cost is interpolated, for each query, between the two cutoffs at which it cost
    less and more: a mixture of the two that costs as much on average, so that tests in pairs hold. A configuration
    whose largest cutoff costs less has what it measures there. One whose smallest cutoff costs more is not compared.
    """
    unit = sweep.outcomes[0].facts.cutoff_unit
    if unit:  # measured within budgets
        costs = [name for name in sweep.settings.costs if name in sweep.metric_info]
        return replace(sweep, budgeted=next((name for name in costs if sweep.metric_info[name].unit == unit), None))
    cost = budgeted_cost(sweep)
    if cost is None:
        return sweep
    found = [
        run
        for budget in sweep.settings.budgets or usual_budgets(sweep.outcomes, cost)
        for runs in _by_configuration(sweep.outcomes)
        if (run := _at(runs, cost, budget)) is not None
    ]
    return replace(sweep, outcomes=found, budgeted=cost) if found else sweep


def usual_budgets(outcomes: Sequence[Outcome], cost: str) -> list[int]:
    """The quartiles of what the runs cost, in two significant digits, of which those that are alike count once.

    Where a configuration costs more than these at its smallest cutoff already, that cost is the last one: every
    configuration is compared at some.
    """
    costs = [value for run in outcomes if (value := run.value(cost)) is not None]
    budgets: list[int] = []
    for each in (int(float(f"{quartile:.2g}")) for quartile in np.quantile(costs, QUARTILES)):
        if each > ALIKE * (budgets[-1] if budgets else 0):
            budgets.append(each)
    largest = ceil(max(runs[0].value(cost) or 0 for runs in _by_configuration(outcomes)))
    if largest > max(budgets, default=0):
        digit = 10 ** max(0, len(str(largest)) - 2)
        largest = ceil(largest / digit) * digit
        budgets = [*(each for each in budgets if largest > ALIKE * each), largest]
    return budgets


def budgeted_cost(sweep: Sweep) -> str | None:
    """The cost at which configurations are compared; None if they are compared at the same cutoff."""
    cost = _cost_in_question(sweep)
    asked = sweep.settings.budget or sweep.settings.budgets
    if cost is None or not (asked or (len(sweep.cutoffs) > 1 and sizes_in_question(sweep) is None)):
        return None
    return cost


def unequal_costs(sweep: Sweep) -> tuple[str, float, float] | None:
    """The cost that differs at the only cutoff, where it should be equal, and between what; None where it need not."""
    cost = _cost_in_question(sweep)
    if cost is None or len(sweep.cutoffs) > 1:
        return None
    costs = [run.value(cost) or 0 for run in sweep.outcomes]
    return cost, min(costs), max(costs)


def sizes_in_question(sweep: Sweep) -> tuple[float, float, str] | None:
    """The mean sizes of the smallest and the largest units, in characters, and the sentence of `Facts.if_unequal`.

    None where the deciding metric can choose a size, and where the configurations return units of one size, or budgets.
    """
    facts, runs = sweep.outcomes[0].facts, sweep.outcomes
    by_text = sweep.decided_by in facts.metrics and facts.metrics[sweep.decided_by].of_text
    if by_text or facts.cutoff_unit or alike_in_size(runs) is not False:
        return None
    sizes = [run.facts.returned.characters for run in runs if run.facts.returned]
    for group, sentence in facts.if_unequal.items():
        used = ({item for item in run.settings.items() if item[0].partition(".")[0] == group} for run in runs)
        if len({frozenset(some) for some in used if some}) > 1:
            return min(sizes), max(sizes), sentence
    return None


def _cost_in_question(sweep: Sweep) -> str | None:
    """The cost at which configurations should be compared; None if the same cutoff is as good, or asked for."""
    settings, runs = sweep.settings, sweep.outcomes
    grows = [name for name in settings.costs if name in runs[0].facts.curves]
    cost = settings.budget or next(iter(grows), None)
    if (
        cost is None
        or cost not in runs[0].facts.curves
        or sweep.cutoff in ("", settings.budget)
        or not sweep.is_mean(sweep.decided_by)
    ):
        return None
    asked_otherwise = settings.at in sweep.cutoffs or settings.prefer == cost  # about a cutoff, or for less of the cost
    if asked_otherwise and not (settings.budget or settings.budgets):
        return None
    returned = [run.facts.returned for run in runs if run.facts.returned]
    if len({each.counted_by for each in returned}) > 1 or any(run.value(cost) is None for run in runs):
        return None  # one model's tokens are not another's
    return cost if alike_in_size(runs) is False or settings.budget or settings.budgets else None


def alike_in_size(runs: Sequence[Outcome]) -> bool | None:
    """Whether the units that configurations return are of one size; None if that is not known of all."""
    sizes = [run.facts.returned.characters for run in runs if run.facts.returned]
    return max(sizes) <= ALIKE * min(sizes) if len(sizes) == len(runs) else None


def _by_configuration(outcomes: Sequence[Outcome]) -> Iterator[list[Outcome]]:
    """The runs of each configuration, in ascending order of their cutoffs."""
    found: dict[str, list[Outcome]] = {}
    for run in outcomes:
        found.setdefault(str(run.configuration), []).append(run)
    for runs in found.values():
        yield sorted(runs, key=lambda run: run.cutoff or 0)


def _at(runs: Sequence[Outcome], cost: str, budget: int) -> Outcome | None:
    """What a configuration measures at a cost; None if all its runs cost more."""
    if (runs[0].value(cost) or 0) > budget + EQUAL:
        return None
    for low, high in pairwise(runs):
        least, most = low.value(cost) or 0, high.value(cost) or 0
        if least <= budget < most:
            return _between(low, high, (budget - least) / (most - least), cost, budget)
    return _between(runs[-1], runs[-1], 0.0, cost, budget)


def _between(low: Outcome, high: Outcome, share: float, cost: str, budget: int) -> Outcome:
    """A mixture of two runs of a configuration, with a share of the second one."""
    nearest = high if share > 1 / 2 else low
    facts = nearest.facts
    metrics = {name: each for name, each in facts.metrics.items() if name in low.per_query and name in high.per_query}
    if share:
        metrics = {name: replace(each, binary=False, wilson=False) for name, each in metrics.items()}
    table = nearest.per_query.assign(
        **{
            name: (1 - share) * low.per_query[name] + share * high.per_query[name]
            for name in (*metrics, *facts.measures)
            if name in low.per_query and name in high.per_query
        }
    )
    cutoff = facts.cutoff
    settings = {name: value for name, value in nearest.settings.items() if name != cutoff}
    swept = {name: value for name, value in nearest.swept.items() if name != cutoff}
    words = [word for word in nearest.name.split(" ") if word != f"{cutoff}={nearest.cutoff}"]
    return replace(
        nearest,
        name=" ".join([*words, f"{BUDGET}={budget}"]),
        swept={**swept, BUDGET: budget},
        settings={**settings, BUDGET: str(budget)},
        per_query=table,
        facts=replace(
            facts,
            cutoff=BUDGET,
            cutoff_unit=facts.measures[cost].unit,
            metrics=metrics,
            measures=dict(_measures(low, high, share)),
            repeated=_repeated(low, high),
        ),
        resampled={},
        between=tuple(dict.fromkeys(run.cutoff or 0 for run in ((low, high) if share else (low,)))),
    )


def _measures(low: Outcome, high: Outcome, share: float) -> Iterator[tuple[str, MeasureFact]]:
    for name, one in low.facts.measures.items():
        if (other := high.facts.measures.get(name)) is not None:
            alike = len(one.sample) == len(other.sample)
            sample = np.add(np.multiply(1 - share, one.sample), np.multiply(share, other.sample)) if alike else ()
            value = (1 - share) * one.value + share * other.value
            yield name, replace(one, value=value, sample=tuple(map(float, sample)))


def _repeated(low: Outcome, high: Outcome) -> Mapping[str, RepeatedFact]:
    """What repeats of the lower cutoff said, of what both have."""
    return {name: one for name, one in low.facts.repeated.items() if name in high.facts.repeated}


def spends(sweep: Sweep, run: Outcome) -> bool:
    """Whether a configuration costs as much as the budget at which it is compared, if it is at one.

    Measured within a budget, it does unless its ranking ends before the budget is filled.
    """
    cost = run.value(sweep.budgeted) if sweep.budgeted else None
    within = run.facts.cutoff_unit and not run.between
    if within and len(run.facts.curves.get(sweep.budgeted or "", ())) < LEAST_DEPTH:
        return True
    return cost is None or run.cutoff is None or cost >= SPENT * run.cutoff
