"""Names of the datasets of a sweep, and what keeps their runs from being compared, or from counting once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, count

from ragsweep.sweeps.configuration_names import as_text, short_names
from ragsweep.sweeps.sweep import Sweep

MANY_IN_COMMON = 0.05  # share of the queries of the smaller dataset
DATA_GROUPS = ("dataset", "corpus", "questions")  # swept settings of these groups may choose a dataset


def settings_of_data(sweeps: Sequence[Sweep]) -> list[str]:
    """The swept settings that choose the dataset: each has one value on each of them."""
    swept = dict.fromkeys(name for sweep in sweeps for name in sweep.swept if name.partition(".")[0] in DATA_GROUPS)
    values = {name: [{run.swept.get(name) for run in sweep.outcomes} for sweep in sweeps] for name in swept}
    return [name for name, of_each in values.items() if all(len(some) == 1 for some in of_each)]


def names_of_datasets(sweeps: Sequence[Sweep]) -> list[str]:
    """The name of each dataset; with the swept settings that choose it, or a number, where two have the same."""
    times, of_data = Counter(sweep.dataset for sweep in sweeps), settings_of_data(sweeps)
    shown = dict(zip(of_data, short_names(of_data), strict=True))
    names = [
        f"{sweep.dataset} ({sweep.outcomes[0].label(shown)})" if shown and times[sweep.dataset] > 1 else sweep.dataset
        for sweep in sweeps
    ]
    again, given = Counter(names), set(names)
    for place, name in enumerate(names):
        if again[name] > 1:
            numbered = (f"{name} {number}" for number in count(1))
            names[place] = next(each for each in numbered if each not in given)
            given.add(names[place])
    return names


def why_not_comparable(sweeps: Sequence[Sweep], names: Sequence[str]) -> str:
    """Why the numbers on several datasets cannot be put together, in words; empty if they can."""
    first = sweeps[0]
    for name, sweep in zip(names[1:], sweeps[1:], strict=True):
        if sweep.decided_by != first.decided_by:
            return f"{names[0]} is decided by {first.decided_by}, {name} by {sweep.decided_by}"
        one, other = first.outcomes[0].task, sweep.outcomes[0].task
        for setting in dict.fromkeys([*one, *other]):
            if setting.startswith("evaluation.") and one.get(setting) != other.get(setting):
                values = f"{as_text(one.get(setting))} and {as_text(other.get(setting))}"
                return f"{setting} is {values} on {names[0]} and {name}"
    aggregate = not all(sweep.is_mean(sweep.decided_by) for sweep in sweeps)
    return f"{first.metric_title} is not a mean over queries" if aggregate else ""


def shared_queries(sweeps: Sequence[Sweep], names: Sequence[str]) -> dict[tuple[str, str], int]:
    """How many texts of queries two datasets share, by their names; only of those that share many."""
    texts = {name: {*sweep.queries["query"]} for name, sweep in zip(names, sweeps, strict=True)}
    shared = {(one, other): len(texts[one] & texts[other]) for one, other in combinations(names, 2)}
    fewest = {pair: min(len(texts[name]) for name in pair) for pair in shared}
    return {pair: number for pair, number in shared.items() if number > MANY_IN_COMMON * fewest[pair]}
