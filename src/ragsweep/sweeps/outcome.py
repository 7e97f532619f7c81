"""One finished run of a sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ragsweep.config.run_settings import DEFAULT_RESAMPLES, DEFAULT_SEED
from ragsweep.core.arrays import Mask
from ragsweep.core.digest import digest
from ragsweep.statistics import Groups, confidence_intervals, spread
from ragsweep.statistics.intervals import Array
from ragsweep.statistics.repeats import mean_intervals
from ragsweep.sweeps.configuration_names import as_text
from ragsweep.tasks.evaluation_record import Facts
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.scores import groups_in

if TYPE_CHECKING:
    import pandas as pd

BY_NAME = "configuration"  # the setting that selects a named configuration


@dataclass(frozen=True, eq=False)  # tables cannot be compared with ==
class Outcome:
    """One finished run.

    Attributes:
        name: The run's name, such as `alpha=0.7 k=5`.
        run_id: Run id in the tracking store; empty if the run is not in the store.
        swept: The swept settings and their values.
        settings: All settings that were used, as logged to the tracking store.
        per_query: A row per query, with its metrics.
        facts: Contents of `results/evaluation.json`.
        resampled: Values of each aggregate metric in the bootstrap resamples, shape [resamples].
        paths: Of the swept settings that `swept` has without their folders, the whole values.
    """

    name: str
    run_id: str
    swept: Mapping[str, Any]
    settings: Mapping[str, str]
    per_query: pd.DataFrame
    facts: Facts
    resampled: Mapping[str, Array] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)

    @property
    def cutoff(self) -> int | None:
        """The cutoff of the run; None if its task has none."""
        text = self.settings.get(self.facts.cutoff, "")
        return int(text) if text.isdecimal() else None

    @property
    def ends_early(self) -> bool:
        """Whether its lists end before a cutoff at which it was measured, so that more might be found there."""
        return self.facts.ends_at is not None and self.facts.ends_at < (self.cutoff or 0)

    @property
    def configuration(self) -> tuple[Mapping[str, Any], Mapping[str, str]]:
        """The swept and the used settings, except the cutoff: runs with the same ones are one ranking, cut apart."""
        swept = {name: value for name, value in self.swept.items() if name != self.facts.cutoff}
        return swept, {name: value for name, value in self.settings.items() if name != self.facts.cutoff}

    @cached_property
    def metrics(self) -> Mapping[str, Metric]:
        """Every number of the run: its metrics, then its costs and other measures, by name."""
        return {**self.facts.metrics, **self.facts.measures}

    def value(self, name: str) -> float | None:
        """A metric or a measure of the run; None if it was not measured."""
        if name in self.facts.aggregates:
            return self.facts.aggregates[name].mean
        if name in self._means:
            return self._means[name]
        return self.facts.measures[name].value if name in self.facts.measures else None

    def interval(self, name: str) -> tuple[float, float] | None:
        """The 95 % interval of a metric or measure; None if it has none."""
        if name in self.facts.metrics:
            return self.statistics[name][f"{name}_low"], self.statistics[name][f"{name}_high"]
        if name not in self.per_query:
            return None
        values = np.array([self.per_query[name]], dtype=float)
        (low,), (high,) = confidence_intervals(values, groups=self.groups, resamples=self.resamples, seed=self.seed)
        return float(low), float(high)

    @cached_property
    def _means(self) -> dict[str, float]:
        return {name: float(self.per_query[name].mean()) for name in self.facts.metrics if name in self.per_query}

    @cached_property
    def groups(self) -> Groups:
        """The groups of its queries; each query alone where it has none."""
        return groups_in(self.per_query)

    def at_worst(self, name: str) -> Mask:
        """For which queries a metric has its worst possible value, shape [queries]."""
        metric = self.metrics[name]
        return np.asarray(self.per_query[name] == (metric.low if metric.higher_is_better else metric.high))

    def values(self, name: str) -> Array | None:
        """The value of a metric for each of the questions that it is the mean over; None if it is not known."""
        if name in self.per_query:
            return np.asarray(self.per_query[name], dtype=float)
        finds = self.facts.false_finds
        return np.array(finds.false_finds) if finds and finds.metric == name else None

    @property
    def resamples(self) -> int:
        """Number of resamples of every test and interval."""
        return int(self.settings.get("evaluation.resamples", DEFAULT_RESAMPLES))

    @property
    def seed(self) -> int:
        """Seed of every random draw."""
        return int(self.settings.get("seed", DEFAULT_SEED))

    @cached_property
    def statistics(self) -> dict[str, dict[str, float]]:
        """The columns of each metric with their values, such as `recall` and `recall_low`."""
        means = [name for name in self.facts.metrics if name not in self.facts.aggregates]
        values = np.array([self.per_query[name] for name in means], dtype=float).reshape(-1, len(self.per_query))
        shares = np.array([self.facts.metrics[name].wilson for name in means], dtype=bool)
        drawn = {"resamples": self.resamples, "seed": self.seed}
        low, high = mean_intervals(values, shares, groups=self.groups, repeats=self.facts.repeats, **drawn)
        statistics = spread(values)
        columns = {"": statistics.pop("mean"), "_low": low, "_high": high}
        columns |= {f"_{name}": column for name, column in statistics.items()}
        rows = {name: {f"{name}{end}": float(of[at]) for end, of in columns.items()} for at, name in enumerate(means)}
        for name, aggregate in self.facts.aggregates.items():
            rows[name] = {name: aggregate.mean, f"{name}_low": aggregate.ci_low, f"{name}_high": aggregate.ci_high}
        return {name: rows[name] for name in self.facts.metrics}

    @cached_property
    def measured(self) -> str:
        """Digest of the values of all items. Runs of configurations that do the same have the same."""
        finds = [self.facts.false_finds.false_finds] if self.facts.false_finds else []
        aggregates = [str(aggregate.mean) for aggregate in self.facts.aggregates.values()]
        means = (self.per_query[name].tolist() for name in self.facts.metrics if name in self.per_query)
        return digest([*means, *finds, aggregates])

    @property
    def task(self) -> dict[str, Any]:
        """The dataset, its queries and the evaluation settings. Runs can be compared only if all of these are equal."""
        measures = {name: value for name, value in self.settings.items() if name.startswith("evaluation.")}
        measures.pop("evaluation.resamples", None)
        return {"dataset": self.facts.dataset.digest, "queries": list(self.per_query["query_id"]), **measures}

    @property
    def method(self) -> str:
        """Short name of the method: the name of the configuration, or the name that the method gives itself."""
        by = self.facts.method.chosen_by
        chosen = [self.swept[name] for name in by if name in self.swept] or [self.settings.get(name) for name in by]
        name = self.facts.method.name  # of a file, its own; others may have the same in another folder
        with_folder = (str(value) for value in self.swept.values() if str(value).endswith(f"/{name}"))
        return str(self.swept.get(BY_NAME) or next(with_folder, name) or " ".join(map(str, chosen)))

    def label(self, shown: Mapping[str, str]) -> str:
        """Some swept settings in words, such as `alpha 0.5, size 300`.

        Args:
            shown: The names of the settings, each with its short name.
        """
        values = {name: self.swept[name] for name in shown if name in self.swept}
        if BY_NAME in values or not values:
            return str(values.get(BY_NAME, self.name))
        return ", ".join(f"{shown[name]} {as_text(value)}" for name, value in values.items())

    @property
    def given(self) -> dict[str, Any]:
        """The swept settings and their values, files with their whole paths."""
        return {**self.swept, **self.paths}

    @property
    def order(self) -> float:
        """Sort key of the method: the value of the setting that it stands for. NaN if there is none."""
        return float(next(iter(self.facts.method.stands_for.values()), np.nan))
