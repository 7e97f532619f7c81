"""What a sweep says about which configuration to ship, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from ragsweep.core.style import is_number
from ragsweep.core.terminal import one_line
from ragsweep.statistics import LEVEL, WORTHWHILE
from ragsweep.sweeps import Sweep

Place = tuple[Any, ...]  # a configuration's value on each axis; None where it lacks the setting

FEW = 20  # queries; an interval from fewer holds less than it says
MOST_GROUPS = 6  # of tied configurations that are spelt out


def decision(sweep: Sweep) -> Iterator[str]:
    """Which configuration to ship, what is as good, and what to expect of it: a paragraph each."""
    return map(one_line, _decision(sweep))


def _decision(sweep: Sweep) -> Iterator[str]:
    yield _headline(sweep)
    if len(sweep.queries) < FEW:
        yield f"{count(len(sweep.queries), 'query')} only: intervals and tests of so few are not to be relied on."
    if len(sweep.outcomes) > 1:
        yield from _ties(sweep)
        yield from _expectation(sweep)
        yield from _best_at_each_k(sweep)


def evidence(sweep: Sweep) -> Iterator[str]:
    """What else bears on the decision: the baseline, the query types, and what these queries can show."""
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
        return f"{best['name']}: {measured}. One configuration alone leaves nothing to choose."
    if sweep.decision.with_best.tied.all():
        return (
            f"No winner: none of the {number} configurations can be told from the best, {best['name']} with {measured}."
        )
    return f"Ship {best['name']}: {measured}."


def _ties(sweep: Sweep) -> Iterator[str]:
    others, number = len(sweep.tied) - 1, len(sweep.outcomes)
    if others == number - 1:
        yield "So choose by what it costs: a difference between them would have to show on more queries."
    elif others:
        left = number - others - 1
        worse = "the other one is" if left == 1 else f"the other {left} are"
        yield f"Statistically tied with it (p > 0.05): {tied_in_words(sweep)}; {worse} worse."
    else:
        yield f"Better than {'the other one' if number == 2 else f'each of the other {number - 1}'} (p <= 0.05)."
    baselines = [outcome.facts.method for outcome in sweep.tied if outcome.facts.method.is_baseline]
    if baselines and not sweep.winner.facts.method.is_baseline:
        advantage = f", which {baselines[0].advantage}" if baselines[0].advantage else ""
        yield f"Among the tied is {baselines[0].title or 'the usual baseline'}{advantage}."


def _expectation(sweep: Sweep) -> Iterator[str]:
    selection = sweep.decision.selection
    if selection is None:
        return
    own, expected = round(selection.apparent, 3), round(selection.expected, 3)
    loss = sweep.sign(sweep.decided_by) * (own - expected)
    less, below = ("less", "below") if sweep.higher_is_better else ("more", "above")
    below = f"{loss:.3f} {below}" if loss > 0 else f"no {less} than"
    yield (
        f"Expected on new queries: {sweep.measure} {expected:.3f}, by cross-validation; that is {below} its "
        "own score, which was chosen and measured on the same queries."
    )


def _against_baseline(sweep: Sweep) -> Iterator[str]:
    decision = sweep.decision
    against, best = decision.baseline, decision.best
    if against is None or against.reference == best:
        return
    p = against.p_holm[best] if sweep.baseline else decision.with_best.p[against.reference]
    usual = sweep.outcomes[against.reference].facts.method.title
    baseline = usual if usual and not sweep.baseline else "the baseline"
    alone = f"[{against.low[best]:+.3f}, {against.high[best]:+.3f}], effect size {against.effect_size[best]:.2f}"
    yield (
        f"Against {baseline}, {sweep.outcomes[against.reference].name}: {against.difference[best]:+.3f} "
        f"{sweep.measure}, p {p_value(p)} corrected for choosing (this pair alone: {alone}); "
        f"{count(int(against.wins[best]), 'query')} better, {against.ties[best]} equal, {against.losses[best]} worse."
    )


def _query_types(sweep: Sweep) -> Iterator[str]:
    by_type = sweep.decision.by_type
    if by_type is None:
        return
    verdict = "pays" if sweep.decision.types_pay else "is not shown to pay"
    yield (
        f"A configuration for each query type {verdict}: {by_type.gain:+.3f} {sweep.measure} on held-out "
        f"queries against one for all (test whether types want different ones: p {p_value(by_type.p)})."
    )


def _best_at_each_k(sweep: Sweep) -> Iterator[str]:
    """F1 and precision mostly fall as k grows past the number of relevant pages, whatever the retrieval."""
    rows = sweep.table.drop_duplicates("k").sort_values("k") if "k" in sweep.table else sweep.table.head(0)
    if len(rows) > 1:
        each = ", ".join(f"{row['name']} {row[sweep.decided_by]:.3f}" for _, row in rows.iterrows())
        falls = sweep.higher_is_better and rows[sweep.decided_by].is_monotonic_decreasing
        hint = f" ({sweep.measure} falls as k grows, so choose k by recall and the prompt)" if falls else ""
        yield f"Best at each k{hint}: {each}."


def _power(sweep: Sweep) -> Iterator[str]:
    power, queries, number = sweep.decision.power, len(sweep.queries), len(sweep.outcomes)
    if 2 ** (1 - queries) > LEVEL:
        yield f"{count(queries, 'query')} can show no difference at all: no test over so few has a p below {LEVEL}."
    elif power:
        shown, needed = f"{power.detectable:.3f} {sweep.measure}", f"{power.needed:,}"
        if number > 2:
            shown += f" if compared alone, {power.detectable_among_all:.3f} among all {number}"
            needed += f", or {power.needed_among_all:,}"
        yield (
            f"Of two configurations as alike as the best and its ties, {queries} queries show a difference of {shown} "
            f"(80 % power); one of {WORTHWHILE} needs {needed}."
        )


def baseline_rows(sweep: Sweep) -> list[list[str]]:
    """A head, and a row for every configuration but the one that was fixed beforehand, which it is held against."""
    against = sweep.decision.baseline
    assert against
    head = f"against {sweep.baseline}", sweep.measure, "95 % interval", "p (Holm)", "effect size"
    rows = [
        [
            sweep.outcomes[row].name,
            f"{against.difference[row]:+.4f}",
            f"[{against.low[row]:+.3f}, {against.high[row]:+.3f}]",
            p_value(against.p_holm[row]),
            f"{against.effect_size[row]:+.2f}",
            *(str(count[row]) for count in (against.wins, against.ties, against.losses)),
        ]
        for row in sweep.table["outcome"].tolist()
        if row != against.reference
    ]
    return [[*head, "better", "equal", "worse"], *rows]


def against_best(sweep: Sweep, position: int) -> str:
    """Whether a configuration is the best, tied with it, or worse."""
    with_best = sweep.decision.with_best
    if position == with_best.best:
        return "best"
    return f"{'tied' if with_best.tied[position] else 'worse'}, p {p_value(with_best.p[position])}"


def count(number: int, one: str) -> str:
    """A number of queries or configurations."""
    return f"{number} {one if number == 1 else f'{one[:-1]}ies' if one.endswith('y') else f'{one}s'}"


def interval(row: Any, metric: str) -> str:
    """The 95 % interval of a metric's mean."""
    return f"[{row[f'{metric}_low']:.3f}, {row[f'{metric}_high']:.3f}]"


def p_value(p: float) -> str:
    """A p-value in as many digits as are worth reading."""
    if p < 0.001:
        return "< 0.001"
    return f"{p:.4f}" if abs(p - 0.05) < 0.0005 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def tied_in_words(sweep: Sweep) -> str:
    """The configurations that are tied with the best, by their settings: `k 3: alpha 0.5 to 0.8, any size`."""
    axes = sweep.table.sort_values("outcome")[[*sweep.axes]].astype(object)
    places = [tuple(row) for row in axes.where(axes.notna(), None).itertuples(index=False)]
    tied = [place for place, chosen in zip(places, sweep.decision.with_best.tied, strict=True) if chosen]
    groups = _boxes({sweep.short(name): values for name, values in sweep.axes.items()}, places, tied)
    more = len(groups) - MOST_GROUPS
    return "; ".join(groups[:MOST_GROUPS]) + (f"; and {more} more such groups" if more > 0 else "")


def _boxes(axes: dict[str, list[Any]], places: Sequence[Place], chosen: Sequence[Place]) -> list[str]:
    """Some places of a grid in words: as one box where they are one, else one by one along the shortest axis."""
    spans = [{place[axis] for place in chosen} for axis in range(len(axes))]
    inside = [place for place in places if all(value in span for value, span in zip(place, spans, strict=True))]
    splits = [axis for axis in range(len(axes)) if len(spans[axis]) > 1]
    if len(inside) == len(chosen) or not splits:
        everywhere = [{place[axis] for place in places} for axis in range(len(axes))]
        parts = [
            f"any {name}" if span == every else f"{name} {_values(values, span)}"
            for (name, values), span, every in zip(axes.items(), spans, everywhere, strict=True)
            if len(every) > 1
        ]
        several = [] if len(inside) == len(chosen) else [f"{len(chosen)} of {len(inside)} runs with these settings"]
        return [", ".join([*parts, *several])]
    splitting = min(splits, key=lambda axis: len(spans[axis]))
    name, values = list(axes.items())[splitting]
    alike: dict[tuple[str, ...], set[Any]] = {}
    for value in spans[splitting]:
        here, part = ([place for place in some if place[splitting] == value] for some in (places, chosen))
        alike.setdefault(tuple(_boxes(axes, here, part)), set()).add(value)
    ordered = sorted(alike.items(), key=lambda item: min(map([*values, None].index, item[1])))
    return [": ".join(filter(None, [f"{name} {_values(values, found)}", "; ".join(inner)])) for inner, found in ordered]


def _values(values: Sequence[Any], chosen: set[Any]) -> str:
    """Some of the values of an axis."""
    if all(map(is_number, chosen)):
        return ranges([value for value in values if is_number(value)], list(chosen))
    return " or ".join("(none)" if value is None else str(value) for value in [*values, None] if value in chosen)


def ranges(values: Sequence[float], chosen: Sequence[float]) -> str:
    """Some of the values of an axis: those that stand beside each other as `0.5 to 0.8`, others one by one."""
    order = {value: position for position, value in enumerate(sorted(set(values)))}
    runs = [
        [value for _, value in run]
        for _, run in groupby(enumerate(sorted(set(chosen))), key=lambda pair: order[pair[1]] - pair[0])
    ]
    named = [[f"{run[0]:g} to {run[-1]:g}"] if len(run) > 2 else [f"{value:g}" for value in run] for run in runs]
    return " or ".join(name for names in named for name in names)
