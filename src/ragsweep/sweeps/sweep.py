"""The finished runs of a sweep in one table, and the decision between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ragsweep.core.csv_files import TEXTS
from ragsweep.core.run_settings import DEFAULT_RESAMPLES, DEFAULT_SEED
from ragsweep.core.style import LONGEST_WORD, is_number, shown
from ragsweep.statistics import (
    ComparisonWithBest,
    Decision,
    compare_aggregates_with_best,
    compare_with_best,
    confidence_intervals,
    decide,
    decide_by_aggregate,
    spread,
)
from ragsweep.statistics.intervals import first_best
from ragsweep.sweeps.naming import as_number, as_text, short, short_names
from ragsweep.sweeps.outcome import NAMED, Outcome
from ragsweep.tasks.metric import Metric

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Sweep:
    """The outcomes of a sweep, or of any runs to compare.

    Attributes:
        outcomes: The finished runs. Only `by_dataset` accepts none, or runs over different queries.
        unfinished: Names of the runs that did not finish, with their status.
        metric: The metric that decides which run is best. Empty for the metric recorded in the runs.
        baseline: Name of the baseline that was fixed beforehand; None for the usual one.
    """

    outcomes: Sequence[Outcome]
    unfinished: Mapping[str, str]
    metric: str = ""
    baseline: str | None = None

    @cached_property
    def by_dataset(self) -> list[Sweep]:
        """One sweep per dataset and evaluation, because scores of different ones cannot be compared."""
        groups: dict[str, list[Outcome]] = {}
        for outcome in self.outcomes:
            groups.setdefault(str(outcome.task), []).append(outcome)
        return [replace(self, outcomes=group) for group in groups.values()]

    @property
    def decided_by(self) -> str:
        """The metric that decides which run is best."""
        return self.metric or self.outcomes[0].facts.decided_by

    @property
    def dataset(self) -> str:
        """Name of the dataset."""
        return self.outcomes[0].facts.dataset

    @property
    def queries(self) -> pd.DataFrame:
        """A row per query: its id, text, type, and further columns that are the same for every configuration."""
        first = self.outcomes[0]
        known = [name for name in first.facts.item_columns if name in first.per_query]
        return first.per_query[[*TEXTS, *known]]

    @property
    def types(self) -> list[str | None]:
        """The type of each query."""
        return [kind or None for kind in self.queries["query_type"]]

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that every run has."""
        first, *others = (outcome.facts.metrics for outcome in self.outcomes)
        return tuple(name for name in first if all(name in metrics for metrics in others))

    @property
    def metric_info(self) -> Mapping[str, Metric]:
        """Title, unit, direction and bounds of each metric, by its name."""
        return self.outcomes[0].facts.metrics

    def title(self, metric: str) -> str:
        """Title of a metric for charts and sentences."""
        return shown(self.metric_info[metric].title if metric in self.metric_info else metric, LONGEST_WORD)

    @property
    def metric_title(self) -> str:
        """Title of the metric that decides which run is best."""
        return self.title(self.decided_by)

    def is_mean(self, metric: str) -> bool:
        """Whether a metric is a mean over queries, not an aggregate."""
        return all(metric in outcome.per_query for outcome in self.outcomes)

    @cached_property
    def swept(self) -> tuple[str, ...]:
        """The swept settings, in the given order."""
        return tuple(dict.fromkeys(name for outcome in self.outcomes for name in outcome.swept))

    @cached_property
    def axes(self) -> dict[str, list[Any]]:
        """The swept settings with several values, each with its values: numbers sorted, others in the given order."""
        setting = next((name for name in self._stands_for if self._counts(name) == self._counts(NAMED)), NAMED)
        names = [setting if name == NAMED else name for name in self.swept]  # each name stands for a value of `setting`
        axes = {name: self.values_of(name) for name in names}
        return {name: values for name, values in axes.items() if len(values) > 1}

    @property
    def _stands_for(self) -> list[str]:
        """The settings that methods stand for."""
        return list(dict.fromkeys(name for outcome in self.outcomes for name in outcome.facts.method.stands_for))

    @property
    def method_settings(self) -> tuple[str, ...]:
        """The settings that decide which method a configuration uses."""
        chosen = (name for outcome in self.outcomes for name in outcome.facts.method.chosen_by)
        return (NAMED, *dict.fromkeys(chosen), *self._stands_for)

    def _counts(self, name: str) -> int:
        return len(self.values_of(name))

    def short(self, name: str) -> str:
        """The last part of a setting's name; the full name if two axes end in the same part."""
        return dict(zip(self.axes, short_names([*self.axes]), strict=True)).get(name, short(name))

    def values_of(self, name: str) -> list[Any]:
        """The values of a table column, without missing ones: numbers sorted, others in the given order."""
        values = [row[name] for row in self._rows if row.get(name) is not None]
        distinct = list(dict.fromkeys(values))
        return sorted(distinct) if all(is_number(value) for value in distinct) else distinct

    def scores(self, metric: str) -> npt.NDArray[np.float64]:
        """One metric of every outcome, shape [outcomes, queries]."""
        return np.array([outcome.per_query[metric] for outcome in self.outcomes], dtype=float)

    @cached_property
    def decision(self) -> Decision:
        """Which configuration to ship, decided from the scores."""
        if not self.is_mean(self.decided_by):
            values = np.array([outcome.facts.aggregates[self.decided_by].value for outcome in self.outcomes])
            resampled = np.array([outcome.resampled[self.decided_by] for outcome in self.outcomes])
            return decide_by_aggregate(values, resampled, higher_is_better=self.higher_is_better)
        names = [outcome.name for outcome in self.outcomes]
        return decide(
            self.scores(self.decided_by),
            self.types,
            baseline=names.index(self.baseline) if self.baseline else self._usual_baseline,
            resamples=self.resamples,
            seed=self.seed,
            higher_is_better=self.higher_is_better,
        )

    @property
    def higher_is_better(self) -> bool:
        """Direction of the metric that decides which run is best."""
        return self.metric_info[self.decided_by].higher_is_better

    def sign(self, metric: str) -> int:
        """1 if higher is better, -1 if lower is better."""
        return 1 if self.metric_info[metric].higher_is_better else -1

    @property
    def highest(self) -> str:
        """The word for the best value: `highest` or `lowest`."""
        return "highest" if self.higher_is_better else "lowest"

    def compared_with_best(self, metric: str, positions: npt.NDArray[np.int64]) -> ComparisonWithBest:
        """Compare the outcomes at these positions with the best of them, by any metric."""
        sign = self.sign(metric)
        if self.is_mean(metric):
            return compare_with_best(sign * self.scores(metric)[positions], resamples=self.resamples, seed=self.seed)
        outcomes = [self.outcomes[position] for position in positions]
        values = np.array([outcome.facts.aggregates[metric].value for outcome in outcomes])
        resampled = np.array([outcome.resampled[metric] for outcome in outcomes])
        return compare_aggregates_with_best(sign * values, sign * resampled)

    @property
    def resamples(self) -> int:
        """Number of resamples of every test and interval."""
        return int(self.outcomes[0].settings.get("evaluation.resamples", DEFAULT_RESAMPLES))

    @property
    def seed(self) -> int:
        """Seed of every random draw."""
        return int(self.outcomes[0].settings.get("seed", DEFAULT_SEED))

    @property
    def _usual_baseline(self) -> int | None:
        """The usual baseline of the task, otherwise configured like the best. None if the best is that baseline."""
        alike = self.like_best(*self.method_settings)["outcome"]
        baselines = [position for position in alike if self.outcomes[position].facts.method.is_baseline]
        return baselines[0] if baselines and baselines[0] != self.best["outcome"] else None

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row per configuration, best first: its settings, and the mean, statistics and interval of each metric.

        The column `outcome` is the position in `outcomes`. The column `method` is the short name of the method.
        """
        import pandas as pd

        table = pd.DataFrame(self._rows)
        means = np.array(table[self.decided_by], dtype=float) * (1 if self.higher_is_better else -1)
        means[first_best(means)] = np.inf  # of means that differ only by rounding, the first is best
        return table.iloc[np.argsort(-means, kind="stable")].reset_index(drop=True)

    @cached_property
    def _rows(self) -> list[dict[str, Any]]:
        return [self._row(position, outcome) for position, outcome in enumerate(self.outcomes)]

    def _row(self, position: int, outcome: Outcome) -> dict[str, Any]:
        row = {"name": outcome.name, "method": outcome.method, "outcome": position}
        row |= {name: "null" if value is None else value for name, value in outcome.swept.items() if name not in row}
        if "k" in outcome.settings:
            row["k"] = as_number(outcome.settings["k"])
        for name, value in outcome.facts.method.stands_for.items():
            row.setdefault(name, value)
        means = [name for name in self.metrics if self.is_mean(name)]
        values = outcome.per_query[means].to_numpy().T
        low, high = confidence_intervals(values, resamples=self.resamples, seed=self.seed)
        statistics = spread(values)
        row.update(zip(means, statistics.pop("mean").tolist(), strict=True))
        for index, name in enumerate(means):
            row.update({f"{name}_low": low[index], f"{name}_high": high[index]})
            row.update({f"{name}_{statistic}": column[index] for statistic, column in statistics.items()})
        for name, aggregate in outcome.facts.aggregates.items():
            row.update({name: aggregate.value, f"{name}_low": aggregate.low, f"{name}_high": aggregate.high})
        return row

    @property
    def best(self) -> pd.Series:
        """The row of the best configuration. Of equal ones, the first."""
        return self.table.iloc[0]

    @property
    def best_outcome(self) -> Outcome:
        """The outcome of the best configuration."""
        return self.outcomes[int(self.best["outcome"])]

    @cached_property
    def tied(self) -> list[Outcome]:
        """The outcomes that cannot be told apart from the best, including the best, in the order of the runs."""
        return [self.outcomes[position] for position in self.decision.with_best.tied.nonzero()[0].tolist()]

    @cached_property
    def summary_statistics(self) -> pd.DataFrame:
        """The table with the comparison with the best, without the columns that only charts need."""
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
        import pandas as pd

        table = pd.concat([outcome.per_query for outcome in self.outcomes], ignore_index=True)
        queries = [len(outcome.per_query) for outcome in self.outcomes]
        names = [outcome.name for outcome in self.outcomes]
        columns = {name: [outcome.swept.get(name) for outcome in self.outcomes] for name in self.swept}
        for place, (name, values) in enumerate({"name": names, **columns}.items()):
            table.insert(place, name, np.repeat(np.array(values, dtype=object), queries))
        return table

    @cached_property
    def methods(self) -> pd.DataFrame:
        """One configuration per method, otherwise like the best, sorted by the setting that methods stand for."""
        rows = self.like_best(*self.method_settings).drop_duplicates("method")
        order = rows["outcome"].map(lambda position: self.outcomes[position].order)
        return rows.loc[order.sort_values(kind="stable").index]  # methods without one come last

    def fixed_settings(self, *free: str | None) -> str:
        """The swept settings, except `free`, that a chart fixes at the values of the best, as text for its subtitle."""
        settings = [f"{self.short(name)}={as_text(self.best[name])}" for name in self.axes if name not in free]
        return f"; at {' '.join(settings)} as in the best" if settings else ""

    def like_best(self, *free: str | None) -> pd.DataFrame:
        """The configurations with the same settings as the best, except `free` and settings that they do not have."""
        rows = self.table
        for name in self.axes:
            if name not in free:
                rows = rows[rows[name].isna() | (rows[name].map(str) == str(self.best[name]))]
        return rows
