"""The finished runs of a sweep, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ragsweep.core.style import is_number
from ragsweep.statistics import Decision, confidence_intervals, decide, spread
from ragsweep.statistics.intervals import first_best
from ragsweep.sweeps.naming import as_number, as_text, short, short_names
from ragsweep.sweeps.outcome import ALPHA, METHOD_SETTINGS, NAMED, Outcome, alpha_of, is_sparse, method_of

DECIDED_BY = "f1"
NOT_METRICS = ("query_id", "query", "query_type", "retrieved", "relevant")


@dataclass(frozen=True)
class Sweep:
    """The outcomes of a sweep, or of any runs that shall be compared.

    Attributes:
        outcomes: What finished; for all but `by_dataset`, at least one, and all over the same queries.
        unfinished: The names of the runs that did not finish, with their status.
        decided_by: The metric by which the best is chosen.
        baseline: The name of the outcome that was fixed beforehand as the one to beat; None for the usual one.
    """

    outcomes: Sequence[Outcome]
    unfinished: Mapping[str, str]
    decided_by: str = DECIDED_BY
    baseline: str | None = None

    @cached_property
    def by_dataset(self) -> list[Sweep]:
        """The sweep taken apart, since numbers of different data or measures cannot be compared."""
        parts: dict[str, list[Outcome]] = {}
        for outcome in self.outcomes:
            parts.setdefault(str(outcome.task), []).append(outcome)
        return [replace(self, outcomes=part) for part in parts.values()]

    @property
    def dataset(self) -> str:
        """The dataset's name."""
        return self.outcomes[0].settings["dataset.name"]

    @property
    def queries(self) -> pd.DataFrame:
        """A row per query: its id, text and type, and the units that are relevant to it."""
        return self.outcomes[0].per_query[["query_id", "query", "query_type", "relevant"]]

    @property
    def types(self) -> list[str | None]:
        """The type of each query."""
        return [kind or None for kind in self.queries["query_type"]]

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
    def axes(self) -> dict[str, list[Any]]:
        """The swept settings that differ, each with its values: numbers in their order, others as they were given."""
        alphas = len(self.values_of(ALPHA)) == len(self.values_of(NAMED))  # the names stand for values of alpha
        names = [ALPHA if name == NAMED and alphas else name for name in self.swept]
        axes = {name: self.values_of(name) for name in names}
        return {name: values for name, values in axes.items() if len(values) > 1}

    def short(self, name: str) -> str:
        """The last word of a setting's name, where no other axis has the same."""
        return dict(zip(self.axes, short_names([*self.axes]), strict=True)).get(name, short(name))

    def values_of(self, name: str) -> list[Any]:
        """The values of a column of the table, without missing ones: numbers in their order, others as given."""
        values = [row[name] for row in self._rows if row.get(name) is not None]
        distinct = list(dict.fromkeys(values))
        return sorted(distinct) if all(is_number(value) for value in distinct) else distinct

    def scores(self, metric: str) -> npt.NDArray[np.float64]:
        """One metric of every outcome, shape [outcomes, queries]."""
        return np.array([outcome.per_query[metric] for outcome in self.outcomes], dtype=float)

    @cached_property
    def decision(self) -> Decision:
        """What the scores say about which configuration to ship."""
        names = [outcome.name for outcome in self.outcomes]
        return decide(
            self.scores(self.decided_by),
            self.types,
            baseline=names.index(self.baseline) if self.baseline else self._usual_baseline,
            resamples=self.resamples,
            seed=self.seed,
        )

    @property
    def resamples(self) -> int:
        """Resamples of every test and interval."""
        return int(self.outcomes[0].settings["evaluation.resamples"])

    @property
    def seed(self) -> int:
        """Seed of every random draw."""
        return int(self.outcomes[0].settings["seed"])

    @property
    def _usual_baseline(self) -> int | None:
        """Pure sparse retrieval with all else as in the best, which others have to beat; None where it is the best."""
        alike = self.like_best(*METHOD_SETTINGS)["outcome"]
        sparse = [position for position in alike if is_sparse(self.outcomes[position])]
        return sparse[0] if sparse and sparse[0] != self.best["outcome"] else None

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row per configuration, best first: its settings, its means, and per metric spread and interval.

        The column `outcome` is its position in `outcomes`, `method` how it retrieves, in a few words.
        """
        table = pd.DataFrame(self._rows)
        means = np.array(table[self.decided_by], dtype=float)
        means[first_best(means)] = np.inf  # of those that only rounding tells apart, the first is best
        return table.iloc[np.argsort(-means, kind="stable")].reset_index(drop=True)

    @cached_property
    def _rows(self) -> list[dict[str, Any]]:
        return [self._row(position, outcome) for position, outcome in enumerate(self.outcomes)]

    def _row(self, position: int, outcome: Outcome) -> dict[str, Any]:
        row = {"name": outcome.name, "method": method_of(outcome), "outcome": position}
        row |= {name: "null" if value is None else value for name, value in outcome.swept.items() if name not in row}
        row["k"] = as_number(outcome.settings["k"])
        if (alpha := alpha_of(outcome)) is not None:
            row.setdefault(ALPHA, alpha)
        values = outcome.per_query[list(self.metrics)].to_numpy().T
        resamples, seed = (int(outcome.settings[name]) for name in ("evaluation.resamples", "seed"))
        low, high = confidence_intervals(values, resamples=resamples, seed=seed)
        found = spread(values)
        row.update(zip(self.metrics, found.pop("mean").tolist(), strict=True))
        for index, name in enumerate(self.metrics):
            row.update({f"{name}_low": low[index], f"{name}_high": high[index]})
            row.update({f"{name}_{word}": statistic[index] for word, statistic in found.items()})
        return row

    @property
    def best(self) -> pd.Series:
        """The row with the highest mean; the first of equals."""
        return self.table.iloc[0]

    @property
    def winner(self) -> Outcome:
        """The outcome that the best row describes."""
        return self.outcomes[int(self.best["outcome"])]

    @cached_property
    def tied(self) -> list[Outcome]:
        """The outcomes that cannot be told from the best, it among them, in the order of the runs."""
        return [self.outcomes[position] for position in self.decision.with_best.tied.nonzero()[0].tolist()]

    @cached_property
    def summary_statistics(self) -> pd.DataFrame:
        """The table with what the decision says of each configuration, without what only the charts need."""
        decision, order = self.decision, self.table["outcome"]
        columns: dict[str, Any] = {
            f"{self.decided_by}_minus_best": decision.difference[order],
            f"{self.decided_by}_minus_best_low": decision.difference_low[order],
            f"{self.decided_by}_minus_best_high": decision.difference_high[order],
            "tied_with_best": decision.with_best.tied[order],
            "p_vs_best": decision.with_best.p[order],
            "win_frequency": decision.wins[order],
        }
        return self.table.drop(columns=["method", "outcome"]).assign(**columns)

    @cached_property
    def per_query(self) -> pd.DataFrame:
        """A row per query and configuration, in the order of the runs."""
        table = pd.concat([outcome.per_query for outcome in self.outcomes], ignore_index=True)
        queries = [len(outcome.per_query) for outcome in self.outcomes]
        names = [outcome.name for outcome in self.outcomes]
        columns = {name: [outcome.swept.get(name) for outcome in self.outcomes] for name in self.swept}
        for place, (name, values) in enumerate({"name": names, **columns}.items()):
            table.insert(place, name, np.repeat(np.array(values, dtype=object), queries))
        return table

    @cached_property
    def methods(self) -> pd.DataFrame:
        """A configuration for each way to retrieve, sparse before dense; all else as in the best one."""
        rows = self.like_best(*METHOD_SETTINGS).drop_duplicates("method")
        alphas = rows["outcome"].map(lambda position: alpha_of(self.outcomes[position]))
        return rows.loc[alphas.astype(float).sort_values(kind="stable").index]  # those without one come last

    def held(self, *free: str | None) -> str:
        """The swept settings that a chart holds at the best one's values, in words for its subtitle."""
        settings = [f"{self.short(name)}={as_text(self.best[name])}" for name in self.axes if name not in free]
        return f"; at {' '.join(settings)}, as the best" if settings else ""

    def like_best(self, *free: str | None) -> pd.DataFrame:
        """The configurations that share the best one's value of every setting that they have, but those in `free`."""
        rows = self.table
        for name in self.axes:
            if name not in free:
                rows = rows[rows[name].isna() | (rows[name].map(str) == str(self.best[name]))]
        return rows
