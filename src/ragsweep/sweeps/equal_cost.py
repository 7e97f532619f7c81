"""Whether configurations cost as much: the same time, and as much text at the same cutoff or within a budget."""

from __future__ import annotations

from collections.abc import Sequence

from ragsweep.sweeps.outcome import Outcome
from ragsweep.sweeps.sweep import Sweep
from ragsweep.tasks.task import LEAST_DEPTH

EQUAL_TIME = 1.5  # times as long, besides `slowed_by`: the speed of a processor changes with its neighbours
SLOWED = 1.3  # the `slowed_by` of a time of which it is not known
MILLISECONDS = "ms"
ALIKE = 1.1  # times as large: units that differ by less are of one size
SPENT = 0.9  # of a budget; a configuration that spends less may have more to return


def about_the_same(sweep: Sweep, cost: str, one: Outcome, other: Outcome, share: float) -> bool:
    """Whether two configurations cost about the same; a time, whether load can explain that one took longer.

    Args:
        sweep: Describes the cost.
        cost: Its name; both have been measured.
        one: A configuration.
        other: Another one.
        share: What counts as nothing of a cost that is no time.
    """
    (low, _), (high, dearer) = sorted((abs(run.value(cost) or 0.0), place) for place, run in enumerate((one, other)))
    if sweep.metric_info[cost].unit != MILLISECONDS:
        return high - low <= share * high
    measure = (one, other)[dearer].facts.measures.get(cost)
    return high <= EQUAL_TIME * ((measure and measure.slowed_by) or SLOWED) * low


def unequal_costs(level: Sweep) -> tuple[str, float, float] | None:
    """The cost that differs at a cutoff, where units are of several sizes, and between what; None where it need not."""
    settings, runs = level.settings, level.outcomes
    cost = next((name for name in settings.costs if name in runs[0].facts.curves), None)
    if cost is None or not level.cutoff or runs[0].facts.cutoff_unit or not level.is_mean(level.decided_by):
        return None
    if settings.at in level.cutoffs or settings.prefer == cost:  # asked about a cutoff, or for less of the cost
        return None
    counted_by = {run.facts.returned.counted_by for run in runs if run.facts.returned}
    costs = [value for run in runs if (value := run.value(cost)) is not None]
    if len(counted_by) > 1 or len(costs) < len(runs) or alike_in_size(runs) is not False:
        return None  # one model's tokens are not another's
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


def alike_in_size(runs: Sequence[Outcome]) -> bool | None:
    """Whether the units that configurations return are of one size; None if that is not known of all."""
    sizes = [run.facts.returned.characters for run in runs if run.facts.returned]
    return max(sizes) <= ALIKE * min(sizes) if len(sizes) == len(runs) else None


def spends(sweep: Sweep, run: Outcome) -> bool:
    """Whether a configuration costs as much as the budget that it was measured within, if it was.

    It does unless its ranking ends before the budget is filled.
    """
    cost = run.value(sweep.budgeted) if sweep.budgeted else None
    ranked = len(run.facts.curves.get(sweep.budgeted or "", ()))
    return cost is None or run.cutoff is None or ranked < LEAST_DEPTH or cost >= SPENT * run.cutoff
