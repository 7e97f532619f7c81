"""The finished runs of a sweep in one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ragsweep.core.csv_files import TEXT_COLUMNS
from ragsweep.core.style import LONGEST_WORD, is_number, shown
from ragsweep.statistics import Groups, Standings, standings, standings_by_aggregate
from ragsweep.statistics.intervals import Array, first_best
from ragsweep.sweeps.configuration_names import own_words, short, short_names
from ragsweep.sweeps.decision_settings import RECORDED, DecisionSettings
from ragsweep.sweeps.outcome import BY_NAME, Outcome
from ragsweep.sweeps.race_record import RaceRecord
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.task import LEAST_DEPTH

if TYPE_CHECKING:
    import pandas as pd

ALIKE = 1.1  # times as large: units that differ by less are of one size
SPENT = 0.9  # of a budget; a configuration that spends less may have more to return


@dataclass(frozen=True)
class Sweep:
    """The outcomes of a sweep, or of any runs to compare.

    Attributes:
        outcomes: The finished runs. Only `by_dataset` accepts none, or runs over different queries.
        unfinished: Names of the runs that did not finish, with their status.
        settings: How the sweep is decided. Without a metric, the one recorded in the runs decides.
        baseline: Name of the baseline that was fixed beforehand; None for the usual one.
        race: The race that dropped other configurations; None if there was none.
    """

    outcomes: Sequence[Outcome]
    unfinished: Mapping[str, str]
    settings: DecisionSettings = RECORDED
    baseline: str | None = None
    race: RaceRecord | None = None

    @cached_property
    def by_dataset(self) -> list[Sweep]:
        """One sweep per dataset and evaluation: scores of different ones cannot be compared."""
        groups: dict[str, list[Outcome]] = {}
        for outcome in self.outcomes:
            groups.setdefault(str(outcome.task), []).append(outcome)
        words = own_words([[run.name for run in runs] for runs in groups.values()])
        lost = [{name: why for name, why in self.unfinished.items() if own & {*name.split()}} for own in words]
        lost = lost if len(groups) != 1 else [{**self.unfinished}]
        return [replace(self, outcomes=runs, unfinished=own) for runs, own in zip(groups.values(), lost, strict=True)]

    @property
    def decided_by(self) -> str:
        """The metric that decides which run is best."""
        return self.settings.metric or self.outcomes[0].facts.decided_by

    @property
    def cutoff(self) -> str:
        """Name of the setting that is a budget, such as `k`; empty if there is none."""
        return self.outcomes[0].facts.cutoff if self.cutoffs != (None,) else ""

    @cached_property
    def cutoffs(self) -> tuple[int | None, ...]:
        """The cutoffs of the runs, in ascending order. Runs without one come first."""
        return tuple(sorted({outcome.cutoff for outcome in self.outcomes}, key=lambda cutoff: cutoff or 0))

    @cached_property
    def budgeted(self) -> str | None:
        """The cost of which their cutoff is a budget; None for another cutoff, such as `k`."""
        unit = self.outcomes[0].facts.cutoff_unit
        costs = [name for name in self.settings.costs if name in self.metric_info]
        return next((name for name in costs if unit and self.metric_info[name].unit == unit), None)

    def spends(self, run: Outcome) -> bool:
        """Whether a configuration costs as much as the budget that it was measured within, if it was.

        It does unless its ranking ends before the budget is filled.
        """
        cost = run.value(self.budgeted) if self.budgeted else None
        ranked = len(run.facts.at_k.get(self.budgeted or "", ()))
        return cost is None or run.cutoff is None or ranked < LEAST_DEPTH or cost >= SPENT * run.cutoff

    @property
    def alike_in_size(self) -> bool | None:
        """Whether the units that configurations return are of one size; None if that is not known of all."""
        sizes = [run.facts.returned.characters for run in self.outcomes if run.facts.returned]
        return max(sizes) <= ALIKE * min(sizes) if len(sizes) == len(self.outcomes) else None

    @cached_property
    def configurations(self) -> int:
        """How many configurations were measured: runs that differ in their cutoff alone are one."""
        return len({self.label(run) if self._varied else str(run.configuration) for run in self.outcomes})

    def at(self, cutoff: int | None) -> Sweep:
        """The runs at one cutoff."""
        return self.only([outcome for outcome in self.outcomes if outcome.cutoff == cutoff])

    def deepest(self, run: Outcome) -> Outcome:
        """The run of the same configuration with the largest cutoff: its curves are the longest."""
        return max(self.cuts_of(run), key=lambda cut: cut.cutoff or 0)

    def cuts_of(self, run: Outcome) -> list[Outcome]:
        """The runs of the configuration of a run, at all cutoffs."""
        return [other for other in self.outcomes if other.configuration == run.configuration]

    def only(self, outcomes: Sequence[Outcome]) -> Sweep:
        """Some of the runs."""
        return replace(self, outcomes=outcomes, unfinished={})

    @property
    def dataset(self) -> str:
        """Name of the dataset."""
        return self.outcomes[0].facts.dataset.name

    @cached_property
    def queries(self) -> pd.DataFrame:
        """A row per query: its id, text, type, and further columns that are the same for every configuration."""
        first = self.outcomes[0]
        return first.per_query[[*TEXT_COLUMNS, *(name for name in first.facts.item_columns if name in first.per_query)]]

    @property
    def types(self) -> list[str | None]:
        """The type of each query."""
        return [kind or None for kind in self.queries["query_type"]]

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that every run has."""
        first, *rest = (outcome.facts.metrics for outcome in self.outcomes)
        return tuple(name for name in first if all(name in metrics for metrics in rest))

    @cached_property
    def metric_info(self) -> Mapping[str, Metric]:
        """Title, unit, direction and bounds of each metric, and of costs and other measures, by name."""
        return {name: metric for outcome in reversed(self.outcomes) for name, metric in outcome.metrics.items()}

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
        methods = len(self.values_of(BY_NAME))
        setting = next((name for name in self._stands_for if len(self.values_of(name)) == methods), BY_NAME)
        names = [setting if name == BY_NAME else name for name in self.swept]  # each name stands for a value of it
        return {name: values for name in names if len(values := self.values_of(name)) > 1}

    @property
    def _stands_for(self) -> list[str]:
        """The settings that methods stand for."""
        return list(dict.fromkeys(name for outcome in self.outcomes for name in outcome.facts.method.stands_for))

    @property
    def method_settings(self) -> tuple[str, ...]:
        """The settings that decide which method a configuration uses."""
        chosen = (name for outcome in self.outcomes for name in outcome.facts.method.chosen_by)
        return (BY_NAME, *dict.fromkeys(chosen), *self._stands_for)

    def short(self, name: str) -> str:
        """The last part of a setting's name; the full name if two axes end in the same part."""
        return dict(zip(self.axes, short_names([*self.axes]), strict=True)).get(name, short(name))

    def values_of(self, name: str) -> list[Any]:
        """The values of a table column, without missing ones: numbers sorted, others in the given order."""
        distinct = list(dict.fromkeys(row[name] for row in self._rows if row.get(name) is not None))
        return sorted(distinct) if all(is_number(value) for value in distinct) else distinct

    def scores(self, metric: str) -> Array:
        """One metric of every outcome, shape [outcomes, queries]."""
        return np.array([outcome.per_query[metric] for outcome in self.outcomes], dtype=float)

    @property
    def groups(self) -> Groups:
        """The groups of the queries; each query alone where there are none."""
        return self.outcomes[0].groups

    @cached_property
    def best(self) -> int:
        """Position of the best run, as in `standings`; of equal ones, the first. The runs must have the same cutoff."""
        metric = self.decided_by
        values = self.scores(metric).mean(axis=1) if self.is_mean(metric) else self._aggregates
        return int(first_best(self.sign(metric) * values))

    @cached_property
    def standings(self) -> Standings:
        """How the runs compare with the best of them. They must have the same cutoff."""
        assert len(self.cutoffs) == 1
        if not self.is_mean(self.decided_by):
            resampled = np.array([outcome.resampled[self.decided_by] for outcome in self.outcomes])
            return standings_by_aggregate(self._aggregates, resampled, higher_is_better=self.higher_is_better)
        fixed = self.fixed_baseline
        return standings(
            self.scores(self.decided_by),
            self.types,
            groups=self.groups,
            baseline=self._usual_baseline if fixed is None else fixed,
            resamples=self.resamples,
            seed=self.seed,
            higher_is_better=self.higher_is_better,
        )

    @property
    def _aggregates(self) -> Array:
        return np.array([outcome.facts.aggregates[self.decided_by].mean for outcome in self.outcomes])

    @property
    def higher_is_better(self) -> bool:
        """Direction of the metric that decides which run is best."""
        return self.metric_info[self.decided_by].higher_is_better

    def sign(self, metric: str) -> int:
        """1 if higher is better, -1 if lower is better."""
        return 1 if self.metric_info[metric].higher_is_better else -1

    @property
    def resamples(self) -> int:
        """Number of resamples of every test and interval."""
        return self.outcomes[0].resamples

    @property
    def seed(self) -> int:
        """Seed of every random draw."""
        return self.outcomes[0].seed

    @property
    def fixed_baseline(self) -> int | None:
        """Position of the baseline that was fixed beforehand; None if it is not among these runs."""
        names = [outcome.name for outcome in self.outcomes]
        return names.index(self.baseline) if self.baseline in names else None

    @property
    def _usual_baseline(self) -> int | None:
        """The usual baseline of the task, otherwise configured like the best. None if the best is that baseline."""
        best = self.table.iloc[0]
        alike = self.like(best, *self.method_settings)["outcome"]
        baselines = [position for position in alike if self.outcomes[position].facts.method.is_baseline]
        return baselines[0] if baselines and baselines[0] != best["outcome"] else None

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row per configuration by ascending cutoff, the best first: settings, statistics of each metric, costs.

        The column `outcome` is the position in `outcomes`. The column `method` is the short name of the method.
        """
        import pandas as pd

        table = pd.DataFrame(self._rows)
        means = np.array(table[self.decided_by], dtype=float) * (1 if self.higher_is_better else -1)
        cutoffs = np.array([outcome.cutoff or 0 for outcome in self.outcomes])
        for cutoff in set(cutoffs.tolist()):
            rows = np.flatnonzero(cutoffs == cutoff)
            means[rows[first_best(means[rows])]] = np.inf  # of means that differ only by rounding, the first is best
        return table.iloc[np.lexsort((-means, cutoffs))].reset_index(drop=True)

    @cached_property
    def _rows(self) -> list[dict[str, Any]]:
        return [self._row(position, outcome) for position, outcome in enumerate(self.outcomes)]

    def _row(self, position: int, outcome: Outcome) -> dict[str, Any]:
        row = {"name": outcome.name, "method": outcome.method, "outcome": position}
        row |= {name: "null" if value is None else value for name, value in outcome.swept.items() if name not in row}
        if outcome.cutoff is not None:
            row.setdefault(outcome.facts.cutoff, outcome.cutoff)
        for name, value in outcome.facts.method.stands_for.items():
            row.setdefault(name, value)
        for name in self.metrics:
            row |= outcome.statistics[name]
        return row | {name: measure.value for name, measure in outcome.facts.measures.items()}

    def statistic(self, outcome: Outcome, metric: str, end: str = "") -> float:
        """The mean of a metric, or with `_low`, `_high` and so on another statistic of it."""
        return outcome.statistics[metric][f"{metric}{end}"]

    def row(self, outcome: Outcome) -> pd.Series:
        """The row of a configuration."""
        return self.table[self.table["outcome"] == self.outcomes.index(outcome)].iloc[0]

    @cached_property
    def per_query(self) -> pd.DataFrame:
        """A row per query and configuration, in the order of the runs."""
        import pandas as pd

        table = pd.concat([outcome.per_query for outcome in self.outcomes], ignore_index=True)
        queries = [len(outcome.per_query) for outcome in self.outcomes]
        names = [outcome.name for outcome in self.outcomes]
        columns = {name: [outcome.given.get(name) for outcome in self.outcomes] for name in self.swept}
        for place, (name, values) in enumerate({"name": names, **columns}.items()):
            table.insert(place, name, np.repeat(np.array(values, dtype=object), queries))
        return table

    def like(self, row: pd.Series, *free: str | None) -> pd.DataFrame:
        """The configurations with the settings of a row, except `free` and settings that it or they do not have."""
        rows = self.table
        for name in self.axes:
            if name not in free and row[name] == row[name]:  # not NaN
                rows = rows[rows[name].isna() | (rows[name].map(str) == str(row[name]))]
        return rows

    def label(self, outcome: Outcome) -> str:
        """The settings in which a configuration differs from others at its cutoff, such as `alpha 0.5, size 300`."""
        return outcome.label(self._varied)

    @cached_property
    def _varied(self) -> dict[str, str]:
        """The swept settings with several values, except the cutoff, each with its short name.

        After a race, one value may be left of a setting: those that dropped out had others.
        """
        raced = self.race is not None
        names = [name for name in self.swept if name != self.cutoff and (raced or len(self.values_of(name)) > 1)]
        return dict(zip(names, short_names(names), strict=True))
