"""The decision of a sweep in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from ragsweep.core.style import is_number
from ragsweep.core.terminal import counted, one_line
from ragsweep.statistics import LEVEL, WORTHWHILE
from ragsweep.sweeps import Sweep

Point = tuple[Any, ...]  # the value of a configuration on each axis; None if it does not have the setting

FEW = 20  # queries; with fewer, the intervals are too narrow
MOST_GROUPS = 6  # of tied configurations that are listed


def decision(sweep: Sweep) -> Iterator[str]:
    """Which configuration to ship, which others are tied with it, and what score to expect. One paragraph each."""
    return map(one_line, _decision(sweep))


def _decision(sweep: Sweep) -> Iterator[str]:
    yield _headline(sweep)
    if len(sweep.queries) < FEW:
        yield f"Only {counted(len(sweep.queries), 'query')}: intervals and tests with so few queries are not reliable."
    if len(sweep.outcomes) > 1:
        yield from _ties(sweep)
        yield from _expectation(sweep)
        yield from _best_at_each_k(sweep)


def evidence(sweep: Sweep) -> Iterator[str]:
    """Further evidence for the decision: the baseline, the query types, and the power of the tests."""
    return map(one_line, _evidence(sweep))


def _evidence(sweep: Sweep) -> Iterator[str]:
    if len(sweep.outcomes) > 1:
        yield from _against_baseline(sweep)
        yield from _query_types(sweep)
        yield from _power(sweep)


def _headline(sweep: Sweep) -> str:
    best, metric = sweep.best, sweep.decided_by
    measured = f"{sweep.title(metric)} {best[metric]:.3f} {interval(best, metric)}"
    number = len(sweep.outcomes)
    if number == 1:
        return f"{best['name']}: {measured}. There is only one configuration, so there is nothing to choose."
    if sweep.decision.with_best.tied.all():
        return (
            f"No winner: none of the {number} configurations can be told apart from the best, "
            f"{best['name']} with {measured}."
        )
    return f"Ship {best['name']}: {measured}."


def _ties(sweep: Sweep) -> Iterator[str]:
    others, number = len(sweep.tied) - 1, len(sweep.outcomes)
    if others == number - 1:
        yield "So choose by cost. Only more queries could show a difference between them."
    elif others:
        left = number - others - 1
        worse = "the other one is" if left == 1 else f"the other {left} are"
        yield f"Statistically tied with it (p > 0.05): {tied_in_words(sweep)}; {worse} worse."
    else:
        yield f"Better than {'the other one' if number == 2 else f'each of the other {number - 1}'} (p <= 0.05)."
    baselines = [outcome.facts.method for outcome in sweep.tied if outcome.facts.method.is_baseline]
    if baselines and not sweep.best_outcome.facts.method.is_baseline:
        advantage = f", which {baselines[0].advantage}" if baselines[0].advantage else ""
        yield f"One of the tied configurations is {baselines[0].title or 'the usual baseline'}{advantage}."


def _expectation(sweep: Sweep) -> Iterator[str]:
    selection = sweep.decision.selection
    if selection is None:
        return
    own, expected = round(selection.apparent, 3), round(selection.expected, 3)
    loss = sweep.sign(sweep.decided_by) * (own - expected)
    less, below = ("less", "below") if sweep.higher_is_better else ("more", "above")
    below = f"{loss:.3f} {below}" if loss > 0 else f"no {less} than"
    yield (
        f"Expected on new queries: {sweep.metric_title} {expected:.3f} (cross-validation). That is {below} the "
        "measured score, which comes from the same queries that chose the configuration."
    )


def _against_baseline(sweep: Sweep) -> Iterator[str]:
    decision = sweep.decision
    against, best = decision.baseline, decision.best
    if against is None or against.reference == best:
        return
    p = against.p_holm[best] if sweep.baseline else decision.with_best.p[against.reference]
    usual = sweep.outcomes[against.reference].facts.method.title
    baseline = usual if usual and not sweep.baseline else "the baseline"
    difference = f"95 % interval [{against.low[best]:+.3f}, {against.high[best]:+.3f}]"
    yield (
        f"Against {baseline}, {sweep.outcomes[against.reference].name}: {against.difference[best]:+.3f} "
        f"{sweep.metric_title}, p {p_value(p)} corrected for choosing the best (this pair alone: {difference}, "
        f"effect size {against.effect_size[best]:.2f}); "
        f"{counted(int(against.wins[best]), 'query')} better, {against.ties[best]} equal, {against.losses[best]} worse."
    )


def _query_types(sweep: Sweep) -> Iterator[str]:
    by_type = sweep.decision.by_type
    if by_type is None:
        return
    verdict = "pays off" if sweep.decision.types_pay else "is not shown to pay off"
    yield (
        f"A configuration for each query type {verdict}: {by_type.gain:+.3f} {sweep.metric_title} on held-out "
        f"queries compared with one for all types (test for different needs of the types: p {p_value(by_type.p)})."
    )


def _best_at_each_k(sweep: Sweep) -> Iterator[str]:
    """For each k, the best configuration. F1 and precision mostly fall once k exceeds the number of relevant pages."""
    rows = sweep.table.drop_duplicates("k").sort_values("k") if "k" in sweep.table else sweep.table.head(0)
    if len(rows) > 1:
        each = ", ".join(f"{row['name']} {row[sweep.decided_by]:.3f}" for _, row in rows.iterrows())
        falls = sweep.higher_is_better and rows[sweep.decided_by].is_monotonic_decreasing
        hint = f" ({sweep.metric_title} falls as k grows, so choose k by recall and prompt size)" if falls else ""
        yield f"Best at each k{hint}: {each}."


def _power(sweep: Sweep) -> Iterator[str]:
    power, queries, number = sweep.decision.power, len(sweep.queries), len(sweep.outcomes)
    if 2 ** (1 - queries) > LEVEL:
        yield f"{counted(queries, 'query')} cannot show any difference: no test on so few has a p below {LEVEL}."
    elif power:
        shown, needed = f"{power.detectable:.3f} {sweep.metric_title}", f"{power.needed:,} queries"
        if number > 2:
            shown += f" if compared alone, or {power.detectable_among_all:.3f} among all {number}"
            needed += f", or {power.needed_among_all:,}"
        yield (
            f"Between two configurations as similar as the best and those tied with it, {queries} queries show a "
            f"difference of {shown} (80 % power). A difference of {WORTHWHILE} needs {needed}."
        )


def baseline_rows(sweep: Sweep) -> list[list[str]]:
    """A header, and a row per configuration that compares it with the baseline."""
    against = sweep.decision.baseline
    assert against
    head = f"against {sweep.baseline}", sweep.metric_title, "95 % interval", "p (Holm)", "effect size"
    rows = [
        [
            sweep.outcomes[row].name,
            f"{against.difference[row]:+.4f}",
            f"[{against.low[row]:+.3f}, {against.high[row]:+.3f}]",
            p_value(against.p_holm[row]),
            f"{against.effect_size[row]:+.2f}",
            *(str(counts[row]) for counts in (against.wins, against.ties, against.losses)),
        ]
        for row in sweep.table["outcome"].tolist()
        if row != against.reference
    ]
    return [[*head, "better", "equal", "worse"], *rows]


def against_best(sweep: Sweep, position: int) -> str:
    """Whether a configuration is the best, tied with the best, or worse."""
    with_best = sweep.decision.with_best
    if position == with_best.best:
        return "best"
    return f"{'tied' if with_best.tied[position] else 'worse'}, p {p_value(with_best.p[position])}"


def interval(row: Any, metric: str) -> str:
    """The 95 % interval of a metric's mean."""
    return f"[{row[f'{metric}_low']:.3f}, {row[f'{metric}_high']:.3f}]"


def p_value(p: float) -> str:
    """A p-value, with more digits if it is small or close to 0.05."""
    if p < 0.001:
        return "< 0.001"
    return f"{p:.4f}" if abs(p - 0.05) < 0.0005 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def tied_in_words(sweep: Sweep) -> str:
    """The settings of the configurations that are tied with the best, such as `k 3: alpha 0.5 to 0.8, any size`."""
    axes = sweep.table.sort_values("outcome")[[*sweep.axes]].astype(object)
    points = [tuple(row) for row in axes.where(axes.notna(), None).itertuples(index=False)]
    tied = [point for point, chosen in zip(points, sweep.decision.with_best.tied, strict=True) if chosen]
    groups = _boxes({sweep.short(name): values for name, values in sweep.axes.items()}, points, tied)
    more = len(groups) - MOST_GROUPS
    return "; ".join(groups[:MOST_GROUPS]) + (f"; and {more} more such groups" if more > 0 else "")


def _boxes(axes: dict[str, list[Any]], points: Sequence[Point], chosen: Sequence[Point]) -> list[str]:
    """Describe some points of a grid. Points that do not fill a box are split along the axis with the fewest values."""
    spans = [{point[axis] for point in chosen} for axis in range(len(axes))]
    inside = [point for point in points if all(value in span for value, span in zip(point, spans, strict=True))]
    splits = [axis for axis in range(len(axes)) if len(spans[axis]) > 1]
    if len(inside) == len(chosen) or not splits:
        everywhere = [{point[axis] for point in points} for axis in range(len(axes))]
        phrases = [
            f"any {name}" if span == every else f"{name} {_values(values, span)}"
            for (name, values), span, every in zip(axes.items(), spans, everywhere, strict=True)
            if len(every) > 1
        ]
        several = [] if len(inside) == len(chosen) else [f"{len(chosen)} of {len(inside)} runs with these settings"]
        return [", ".join([*phrases, *several])]
    splitting = min(splits, key=lambda axis: len(spans[axis]))
    name, values = list(axes.items())[splitting]
    alike: dict[tuple[str, ...], set[Any]] = {}
    for value in spans[splitting]:
        here, chosen_here = ([point for point in some if point[splitting] == value] for some in (points, chosen))
        alike.setdefault(tuple(_boxes(axes, here, chosen_here)), set()).add(value)
    ordered = sorted(alike.items(), key=lambda item: min(map([*values, None].index, item[1])))
    return [": ".join(filter(None, [f"{name} {_values(values, found)}", "; ".join(inner)])) for inner, found in ordered]


def _values(values: Sequence[Any], chosen: set[Any]) -> str:
    """Some values of an axis as text."""
    if all(map(is_number, chosen)):
        return ranges([value for value in values if is_number(value)], list(chosen))
    return " or ".join("(none)" if value is None else str(value) for value in [*values, None] if value in chosen)


def ranges(values: Sequence[float], chosen: Sequence[float]) -> str:
    """Some values of an axis as text: three or more neighbours as `0.5 to 0.8`, others one by one."""
    order = {value: position for position, value in enumerate(sorted(set(values)))}
    runs = [
        [value for _, value in run]
        for _, run in groupby(enumerate(sorted(set(chosen))), key=lambda pair: order[pair[1]] - pair[0])
    ]
    named = [[f"{run[0]:g} to {run[-1]:g}"] if len(run) > 2 else [f"{value:g}" for value in run] for run in runs]
    return " or ".join(name for names in named for name in names)
