"""Tables of a decision as rows of text."""

from __future__ import annotations

from ragsweep.report.claims import veto_of
from ragsweep.report.settings_words import tied_in_words
from ragsweep.report.value_words import interval, p_value
from ragsweep.sweeps import Choice, Decision, Sweep

MOST_PAIRS = 15  # in a report: those of six configurations


def cells(decision: Decision) -> list[list[str]]:
    """A header, and a row per cutoff: the choice, how many are tied with it, the metric, the gains and the costs."""
    sweep = decision.sweep
    shown: list[str] = list(dict.fromkeys([sweep.decided_by, *sweep.settings.gains, *sweep.settings.costs]))
    shown = [
        name for name in shown if any(choice.named.value(name) is not None for choice in decision.choices.values())
    ]
    unit, rows = sweep.outcomes[0].facts.cutoff_unit, list[list[str]]()
    for cutoff, choice in decision.choices.items():
        rows.append(
            [
                *([f"{cutoff:,}" if unit else str(cutoff)] if sweep.cutoff else []),
                sweep.label(choice.named) if choice.meets else "none meets the requirements",
                _ties(choice, sweep),
                *(number(sweep, name, choice.named.value(name) if choice.meets else None) for name in shown),
            ]
        )
    heads = [*([unit or sweep.cutoff] if sweep.cutoff else []), head_of_choice(decision)]
    return [[*heads, "cannot be told apart", *map(sweep.title, shown)], *rows]


def head_of_choice(decision: Decision) -> str:
    """What the configurations are that a table names at each cutoff."""
    if veto_of(decision) is None:
        return "choice"
    cost = decision.headline.prefer
    if cost and not decision.sweep.metric_info[cost].higher_is_better:
        return "cheapest"
    return "measured best" if all(one.named is one.best for one in decision.choices.values()) else "named"


def brief_cells(decision: Decision) -> list[list[str]]:
    """As `cells`, in at most five columns: the metric has its interval; ties and gains are left out."""
    sweep, (heads, *rows) = decision.sweep, cells(decision)
    left_out = {"cannot be told apart", *map(sweep.title, sweep.settings.gains)} - {sweep.metric_title}
    columns = [place for place, head in enumerate(heads) if head not in left_out][:5]
    for row, choice in zip(rows, decision.choices.values(), strict=True):
        if choice.meets:
            row[heads.index(sweep.metric_title)] += f" {interval(sweep, choice.named, sweep.decided_by)}"
    return [[row[place] for place in columns] for row in (heads, *rows)]


def _ties(choice: Choice, sweep: Sweep) -> str:
    if not choice.meets:
        return ""
    if choice.named not in choice.tied:
        return f"worse than {choice.allowed.label(choice.best)}"
    if not choice.others:
        return "none" if len(choice.allowed.outcomes) > 1 else "nothing to compare"
    return tied_in_words(choice.allowed, sweep) if choice.distinct > 1 else "all measure the same"


def number(sweep: Sweep, name: str, value: float | None) -> str:
    """A metric with three decimals, a cost with three significant digits and its unit."""
    if value is None:
        return ""
    metric = sweep.metric_info[name]
    if not metric.unit:
        return f"{value:.3f}"
    digits = three_digits(value)
    return digits if metric.unit.casefold() == metric.title.casefold() else f"{digits} {metric.unit}"


def three_digits(value: float) -> str:
    """A cost with at least three significant digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def baseline_rows(sweep: Sweep) -> list[list[str]]:
    """A header, and a row per configuration at the cutoff of the baseline that compares it with the baseline."""
    against = sweep.standings.baseline
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


def pair_rows(decision: Decision) -> list[list[str]]:
    """A header, and a row per pair of configurations; empty if there are many or they are not tested in pairs."""
    pairs = decision.pairs
    if pairs is None or len(pairs) > MOST_PAIRS:
        return []
    counts = pairs[["first", "second", "only_first", "only_second"]].astype(str).to_numpy().tolist()
    tests = [[p_value(p), p_value(corrected)] for p, corrected in pairs[["p", "p_holm"]].to_numpy().tolist()]
    rows = [count + test for count, test in zip(counts, tests, strict=True)]
    return [["first", "second", "only the first", "only the second", "p", "p (Holm)"], *rows]
