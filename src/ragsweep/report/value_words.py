"""Values, costs and cutoffs in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, TypeVar

from ragsweep.core.style import INTERVALS, is_number
from ragsweep.core.terminal import counted
from ragsweep.sweeps import Choice, Outcome, Sweep

NAMES_LISTED = 5  # of configurations
Key = TypeVar("Key")
Value = TypeVar("Value")


def queries_in_words(sweep: Sweep) -> str:
    """How many queries were measured, and in how many groups, if they have any: `133 queries in 27 groups`."""
    groups = f" in {counted(sweep.groups.number, 'group')}" if sweep.groups.in_use else ""
    return f"{counted(len(sweep.queries), 'query')}{groups}"


def interval(sweep: Sweep, outcome: Outcome, metric: str) -> str:
    """The 95 % interval of a metric; why there is none where resamples of the queries cannot differ."""
    low, high = (sweep.statistic(outcome, metric, end) for end in ("_low", "_high"))
    if low == high:
        kind, number = ("group", sweep.groups.number) if sweep.groups.in_use else ("query", len(sweep.queries))
        return f"(no interval: {f'only 1 {kind}' if number == 1 else f'the same for all {counted(number, kind)}'})"
    return f"[{low:.3f}, {high:.3f}]"


def kind_of_interval(sweep: Sweep, *metrics: str) -> str:
    """What the intervals of some metrics are, for a chart."""
    wilson = {sweep.metric_info[name].wilson for name in metrics}
    if True not in wilson:
        return INTERVALS
    return "95 % Wilson interval" if len(wilson) == 1 else "95 % interval, Wilson's or by bootstrap over queries"


def p_value(p: float) -> str:
    """A p-value, with more digits if it is small or close to 0.05."""
    if p < 0.001:
        return "< 0.001"
    return f"{p:.4f}" if abs(p - 0.05) < 0.0005 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def rough(number: float) -> str:
    """A number in two significant digits."""
    return f"{float(f'{number:.2g}'):,.10g}"


def number(sweep: Sweep, name: str, value: float | None) -> str:
    """A metric with three decimals, a cost with three significant digits and its unit."""
    if value is None:
        return ""
    metric = sweep.metric_info[name]
    if not metric.unit:
        return f"{value:.3f}"
    digits = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return digits if metric.unit.casefold() == metric.title.casefold() else f"{digits} {metric.unit}"


def measured_with(sweep: Sweep, run: Outcome) -> dict[str, Any]:
    """The deciding metric of a configuration, as the numbers of a claim; its interval in words."""
    value = sweep.statistic(run, sweep.decided_by)
    return {"metric": sweep.metric_title, "value": value, "interval": interval(sweep, run, sweep.decided_by)}


def price(sweep: Sweep, run: Outcome, cost: str | None) -> list[Any] | None:
    """What a configuration costs, and its unit, as the numbers of a claim; None if that is not known."""
    value = run.value(cost) if cost else None
    if value is None or cost is None:
        return None
    metric = sweep.metric_info[cost]
    return [value, metric.unit or in_sentence(metric.title)]


def at(sweep: Sweep, choice: Choice) -> str:
    """The cutoff of a choice, for a sentence."""
    return f" at {cutoffs_in_words(sweep, choice.cutoff)}" if choice.cutoff is not None else ""


def listed(names: Sequence[str]) -> str:
    """The first names, and how many there are besides, so that they can be told apart."""
    more = f" and {len(names) - NAMES_LISTED} more" if len(names) > NAMES_LISTED else ""
    between = "; " if any(", " in name for name in names) else ", "
    return f"{between.join(names[:NAMES_LISTED])}{more}"


def tied_in_words(sweep: Sweep, choice: Choice) -> str:
    """The configurations that are tied with the best: `alpha 0.3 to 0.7` of one swept number, else the first labels.

    Args:
        sweep: All runs, which say what was swept.
        choice: Between those at one cutoff.
    """
    labels = [sweep.label(run) for run in choice.allowed.outcomes]
    if any(labels.count(sweep.label(run)) > 1 for run in choice.tied):
        return listed([run.name for run in choice.tied])
    axes = [name for name in sweep.axes if name != sweep.cutoff]
    values: list[Any] = [run.swept.get(axes[0]) for run in choice.tied] if len(axes) == 1 else []
    if values and all(map(is_number, values)):
        return f"{sweep.short(axes[0])} {ranges(sweep.values_of(axes[0]), values)}"
    names = [sweep.label(run) for run in choice.tied]
    return " or ".join(names) if len(names) == 2 else listed(names)


def ranges(values: Sequence[float], chosen: Sequence[float]) -> str:
    """Some values of an axis as text: three or more neighbours as `0.5 to 0.8`, others one by one."""
    order = {value: position for position, value in enumerate(sorted(set(values)))}
    runs = [
        [value for _, value in run]
        for _, run in groupby(enumerate(sorted(set(chosen))), key=lambda pair: order[pair[1]] - pair[0])
    ]
    named = [[f"{run[0]:g} to {run[-1]:g}"] if len(run) > 2 else [f"{value:g}" for value in run] for run in runs]
    return " or ".join(name for names in named for name in names)


def labels_of(sweep: Sweep, runs: Iterable[Outcome]) -> list[str]:
    """The labels of some runs, each once."""
    return [*dict.fromkeys(map(sweep.label, runs))]


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """The second ones of some pairs by the first one, in their order."""
    groups: dict[Key, list[Value]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def joined(names: Sequence[str]) -> str:
    """All names: `a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def in_sentence(title: str) -> str:
    """A title within a sentence: abbreviations such as NDCG and F1 stay as they are."""
    return title if not title[1:2].islower() else title[:1].lower() + title[1:]


def cutoffs_in_words(sweep: Sweep, *cutoffs: int | None) -> str:
    """Some cutoffs: `k 3`, `k 3 and 5`, `500, 1000 and 2000 tokens`."""
    unit = sweep.outcomes[0].facts.cutoff_unit
    texts = [f"{cutoff:,}" if unit else str(cutoff) for cutoff in cutoffs]
    return f"{joined(texts)} {unit}" if unit else f"{sweep.cutoff} {joined(texts)}"
