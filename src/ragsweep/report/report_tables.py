"""Tables of a decision as rows of text."""

from __future__ import annotations

from typing import Any

import numpy as np

from ragsweep.report.claims import veto_of
from ragsweep.report.value_words import interval, number, p_value, tied_in_words
from ragsweep.statistics.intervals import EQUAL
from ragsweep.sweeps import Choice, Decision, Sweep

MOST_PAIRS = 15  # in a report: those of six configurations
MOST_DISPUTED = 10


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
    if not choice.rivals:
        return "none" if len(choice.allowed.outcomes) > 1 else "nothing to compare"
    return tied_in_words(sweep, choice) if choice.distinct > 1 else "all measure the same"


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


def level_rows(decision: Decision) -> list[list[tuple[str, bool]]]:
    """A header, and a row per metric of a level (`token/f1`, `document/recall`) with its mean at each swept cutoff.

    The means are those of the named configuration. With each text, whether it is the best of its row, unless all are
    equal. Empty for one cutoff, or without levels.
    """
    sweep, alike = decision.sweep, decision.named.configuration
    runs = sorted((run for run in sweep.outcomes if run.configuration == alike), key=lambda run: run.cutoff or 0)
    names = [name for name in sweep.metrics if "/" in name]
    if len(runs) < 2 or not names:
        return []
    rows = [[(text, False) for text in ("metric", *(f"{sweep.cutoff} = {run.cutoff:,}" for run in runs))]]
    for name in names:
        values = [sweep.statistic(run, name) for run in runs]
        best = max(values, key=lambda value: sweep.sign(name) * value)
        marked = [(number(sweep, name, value), value == best and len({*values}) > 1) for value in values]
        rows.append([(sweep.title(name), False), *marked])
    return rows


def type_rows(sweep: Sweep) -> list[list[str]]:
    """A header, and a row per query type at one cutoff; empty if there are fewer than two types."""
    if (selection := sweep.standings.by_type) is None:
        return []
    types, scores = np.array(sweep.types, dtype=object), sweep.scores(sweep.decided_by)
    rows, title = list[list[str]](), sweep.metric_title
    for kind, own in zip(selection.types, selection.by_type, strict=True):
        of_type = types == kind
        of_best = float(scores[sweep.best, of_type].mean())
        best = sweep.best if abs(of_best - own.apparent) <= EQUAL else own.best  # of equals, the best of all types
        values = own.apparent, of_best, own.expected, float(selection.for_all.per_query[of_type].mean())
        rows.append([kind, str(of_type.sum()), sweep.outcomes[best].name, *(f"{value:.3f}" for value in values)])
    head = "type", "queries", "best for this type", title, f"{title} of the overall best"
    return [[*head, "chosen by type, held out", "one for all types, held out"], *rows]


def disputed(sweep: Sweep) -> list[dict[str, Any]]:
    """The queries on which scores at one cutoff differ most, with the configurations that score highest and lowest.

    Of configurations with equal scores, the overall better one is the highest, the overall worse one the lowest.
    """
    if not sweep.is_mean(sweep.decided_by):
        return []
    rows = sweep.table["outcome"].tolist()
    scores = sweep.scores(sweep.decided_by)[rows]
    deviation = scores.std(axis=0)
    queries = [query for query in np.argsort(-deviation, kind="stable").tolist() if deviation[query] > EQUAL]
    highest, lowest = scores.argmax(axis=0), len(scores) - 1 - scores[::-1].argmin(axis=0)
    return [
        {"query": sweep.queries.iloc[query]}
        | {name: sweep.outcomes[rows[place[query]]] for name, place in (("highest", highest), ("lowest", lowest))}
        | {"high": float(scores[highest[query], query]), "low": float(scores[lowest[query], query])}
        for query in queries[:MOST_DISPUTED]
    ]
