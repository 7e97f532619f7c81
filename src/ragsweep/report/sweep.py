"""The finished runs of a sweep, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from ragsweep.evaluation import confidence_intervals
from ragsweep.report.tables import summary_statistics

DECIDED_BY = "f1"
ALPHA = "retriever.alpha"
METHOD_SETTINGS = ("configuration", "retriever", ALPHA)  # settings that say how passages are retrieved
NOT_METRICS = ("query_id", "query", "query_type", "retrieved", "relevant")


@dataclass(frozen=True)
class Outcome:
    """One finished run.

    Attributes:
        name: The run's name, such as `alpha=0.7 k=5`.
        swept: The swept settings and their values.
        settings: All settings that took effect, as the tracking store has them.
        per_query: The run's table of queries.
    """

    name: str
    swept: Mapping[str, Any]
    settings: Mapping[str, str]
    per_query: pd.DataFrame


@dataclass(frozen=True)
class Sweep:
    """The outcomes of a sweep, and the names of the runs that did not finish with their status."""

    outcomes: Sequence[Outcome]
    unfinished: Mapping[str, str]

    @cached_property
    def by_dataset(self) -> list[Sweep]:
        """The sweep taken apart, since the numbers of different datasets cannot be compared."""
        parts: dict[tuple[tuple[str, str], ...], list[Outcome]] = {}
        for outcome in self.outcomes:
            dataset = tuple((name, value) for name, value in outcome.settings.items() if name.startswith("dataset."))
            parts.setdefault(dataset, []).append(outcome)
        return [Sweep(part, self.unfinished) for part in parts.values()]

    @property
    def dataset(self) -> str:
        """The dataset's name."""
        return self.outcomes[0].settings["dataset.name"]

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that every run has."""
        columns = [set(outcome.per_query.columns) for outcome in self.outcomes]
        return tuple(
            name
            for name in self.outcomes[0].per_query.columns
            if name not in NOT_METRICS and all(name in column for column in columns)
        )

    @cached_property
    def swept(self) -> tuple[str, ...]:
        """The swept settings, in the order in which they were given."""
        return tuple(dict.fromkeys(name for outcome in self.outcomes for name in outcome.swept))

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row per configuration, best F1 first: its settings, its means, and per metric spread and interval."""
        rows = [self._row(outcome) for outcome in self.outcomes]
        return pd.DataFrame(rows).sort_values(DECIDED_BY, ascending=False, kind="stable", ignore_index=True)

    def _row(self, outcome: Outcome) -> dict[str, Any]:
        row: dict[str, Any] = {"configuration": outcome.name, **outcome.swept}
        row |= {"configuration": outcome.name, "method": _method(outcome)}
        row.update({name: _number(outcome.settings[name]) for name in ("k", ALPHA) if name in outcome.settings})
        values = outcome.per_query[list(self.metrics)].to_numpy().T
        resamples, seed = (int(outcome.settings[name]) for name in ("evaluation.resamples", "seed"))
        low, high = confidence_intervals(values, resamples=resamples, seed=seed)
        spread = summary_statistics(outcome.per_query, self.metrics).set_index("metric")
        row.update(spread["mean"])
        for index, name in enumerate(self.metrics):
            row.update({f"{name}_low": low[index], f"{name}_high": high[index]})
            row.update({f"{name}_{word}": value for word, value in spread.loc[name].items() if word != "mean"})
        return row

    @property
    def best(self) -> pd.Series:
        """The row with the highest mean F1; the first of equals."""
        return self.table.iloc[0]

    @cached_property
    def summary_statistics(self) -> pd.DataFrame:
        """The table without what only the charts need."""
        return self.table.drop(columns=["method"])

    @cached_property
    def per_query(self) -> pd.DataFrame:
        """A row per query and configuration, in the order of the runs."""
        return pd.concat(
            [
                outcome.per_query.assign(**{**outcome.swept, "configuration": outcome.name})[
                    list(dict.fromkeys(["configuration", *outcome.swept, *outcome.per_query.columns]))
                ]
                for outcome in self.outcomes
            ],
            ignore_index=True,
        )

    @cached_property
    def methods(self) -> pd.DataFrame:
        """A configuration for each way to retrieve, sparse before dense; all else as in the best one."""
        rows = self.like_best(*METHOD_SETTINGS).drop_duplicates("method")
        return rows.sort_values(ALPHA, kind="stable") if ALPHA in rows else rows

    def held(self, *free: str) -> str:
        """The swept settings that a chart holds at the best one's values, in words for its subtitle."""
        settings = [f"{name.rpartition('.')[2]}={self.best[name]}" for name in self.swept if name not in free]
        return f"; at {' '.join(settings)}, as the best" if settings else ""

    def like_best(self, *free: str) -> pd.DataFrame:
        """The configurations that share the best one's value of every swept setting except those in `free`."""
        rows = self.table
        for name in self.swept:
            if name not in free:
                rows = rows[rows[name].map(str) == str(self.best[name])]
        return rows


def _method(outcome: Outcome) -> str:
    """How this run retrieves, in a few words."""
    if "configuration" in outcome.swept:
        return str(outcome.swept["configuration"])
    alpha = _number(outcome.settings.get(ALPHA, ""))
    if isinstance(alpha, str):
        return str(outcome.swept.get("retriever", outcome.settings.get("retriever", "")))
    kind = "pure dense" if alpha == 1 else "pure sparse" if alpha == 0 else "hybrid"
    return f"{kind}, alpha {alpha:g}"


def _number(text: str) -> float | int | str:
    """A parameter as the number that it was before the tracking store made it text."""
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if number.is_integer() and "." not in text else number
