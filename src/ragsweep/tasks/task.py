"""The interface between a task and the code that records, compares and reports its measurements.

A task loads its items, measures one configuration on them and returns a `Measurement`. Code outside `tasks` does not
depend on the kind of items or on particular metrics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ragsweep.core.csv_files import QUERY_GROUP, TEXT_COLUMNS
from ragsweep.core.drawing import no_charts
from ragsweep.core.errors import ConfigError
from ragsweep.core.timing import Machines
from ragsweep.retrieval.kinds import Method
from ragsweep.statistics import Groups, confidence_intervals
from ragsweep.statistics.intervals import COVERAGE, Array, resample_statistic
from ragsweep.store.code import kind_of
from ragsweep.store.component import Component
from ragsweep.tasks.metric import Guessing, Metric, Unread

if TYPE_CHECKING:
    import pandas as pd

    from ragsweep.tasks.search import Retrieval

LEAST_DEPTH = 100  # a ranking has at least this many passages, and at least k


@dataclass(frozen=True, eq=False)  # arrays cannot be compared with ==
class Score:
    """The value of a metric for one configuration, with its 95 % interval.

    Attributes:
        metric: Description of the metric.
        value: The mean over items, or the aggregate.
        low: Lower bound of the percentile bootstrap interval over items, or of Wilson's.
        high: Upper bound.
        per_item: The value of each item, shape [items]. None for an aggregate.
        resampled: The aggregate in each bootstrap resample, shape [resamples]. None for a mean. Runs with the same seed
            and number of items use the same resamples, so their values can be compared in pairs.
        guessing: How the value compares with guessing; None if nobody can guess.
        unread: The items that could not be read; None if there can be none.

    Raises:
        ConfigError: An item has a value that the metric cannot have.
    """

    metric: Metric
    value: float
    low: float
    high: float
    per_item: Array | None = None
    resampled: Array | None = None
    guessing: Guessing | None = None
    unread: Unread | None = None

    def __post_init__(self) -> None:
        problem = "" if self.per_item is None else self.metric.problem_of(self.per_item)
        if problem:
            raise ConfigError(f"a metric must stay within its bounds: {problem}")

    @classmethod
    def aggregate(
        cls,
        metric: Metric,
        statistic: Callable[[Array], float],
        items: int,
        *,
        groups: Groups | None = None,
        resamples: int,
        seed: int,
    ) -> Score:
        """The score of a metric that is not a mean over items, such as a calibration error.

        Args:
            metric: Description of the metric.
            statistic: Takes the weight of each item (adding up to 1, shape [items]) and returns the value.
            items: Number of items.
            groups: Those of the items.
            resamples: Number of bootstrap resamples.
            seed: Seed of the bootstrap.
        """
        values = resample_statistic(statistic, items, resamples, seed, groups)
        return cls.of_resamples(metric, float(statistic(np.full(items, 1 / items))), values)

    @classmethod
    def of_resamples(cls, metric: Metric, value: float, resampled: Array) -> Score:
        """The score of an aggregate with its value in each bootstrap resample, shape [resamples]."""
        low, high = np.quantile(resampled, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
        return cls(metric, value, float(low), float(high), resampled=resampled)


def mean_scores(
    metrics: Sequence[Metric], values: Array, *, groups: Groups | None = None, resamples: int, seed: int
) -> tuple[Score, ...]:
    """The scores of metrics that are means over items.

    Args:
        metrics: Descriptions of the metrics.
        values: Value of each metric and item, shape [metrics, items], all finite.
        groups: Those of the items.
        resamples: Number of bootstrap resamples.
        seed: Seed of the bootstrap.
    """
    low, high = confidence_intervals(values, groups=groups, resamples=resamples, seed=seed)
    means = values.mean(axis=1)
    return tuple(
        Score(metric, float(mean), float(lower), float(upper), row)
        for metric, mean, lower, upper, row in zip(metrics, means, low, high, values, strict=True)
    )


def groups_in(items: pd.DataFrame) -> Groups:
    """The groups of the items in a table; each item alone where it does not have them."""
    return Groups.named(items[QUERY_GROUP].tolist()) if QUERY_GROUP in items else Groups.none(len(items))


@dataclass(frozen=True, eq=False)
class Measure:
    """A number about a configuration besides its metrics, such as a cost.

    Attributes:
        metric: Its description.
        value: The number.
        per_item: The values of the items that it is computed from, shape [items]; None if items have none.
        sample: The values of some items in an order that is the same for every configuration, shape [sample]. So the
            first of a longer sample are those of a shorter one. None if there are none.
        machines: What a time was taken with, if it is one and its task notes that.
        slowed_by: By which factor load may have lengthened a time; None if that is not known.
    """

    metric: Metric
    value: float
    per_item: Array | None = None
    sample: Array | None = None
    machines: Machines | None = None
    slowed_by: float | None = None


@dataclass(frozen=True, eq=False)
class Curve:
    """A metric as a function of steps, such as recall at each cutoff.

    Attributes:
        values: Mean at the steps 1, 2, ..., shape [steps].
        interval: Lower and upper bounds of the 95 % interval of each mean, shape [2, steps]; None if not computed.
    """

    values: Array
    interval: Array | None = None


@dataclass(frozen=True, eq=False)
class Measurement:
    """Everything that was measured for one configuration.

    Attributes:
        items: A row per item: `query_id`, `query`, `query_type` (None for an item without a type), and further text
            columns that are the same for every configuration. One is `query_group` where items come in groups.
        scores: The metrics, in display order.
        details: Further text columns of the same table that depend on the configuration, such as what was retrieved.
        numbers: Further columns of numbers, such as `time_ms`: NaN for an item of which one is not known, shape [items]
            each.
        curves: Curves by metric name.
        measures: Further numbers, such as costs.
        facts: Further JSON-compatible values for `results/evaluation.json`.
        findings: Problems found in the items, one sentence each.
        notices: What is printed at once, such as for which items nothing could be measured; one sentence each.
        caution: One or two sentences without which the values would mislead: the first ones wherever a sweep names this
            configuration. Empty if there is nothing of this kind.
        sections: What the report says of this configuration besides its scores: sentences by heading.
        summary: Those of these sentences that a single run prints below its scores, without its notices.
        method: How the configuration works.
        condition: What all values depend on, for chart titles, such as `at k = 5`.
        control: Why this configuration is measured for comparison only and must not be chosen, as it needs what nobody
            has in use. Empty if it may be chosen.
        cutoff: Name of the setting that is a budget, such as `k`: a larger value can only find more. Configurations are
            compared at the same cutoff only. Empty if there is none.
        cutoff_unit: What it counts, where its name does not say so.
        tables: Further tables by file name.
        files: Lines of further files by file name.
        charts: A `Draw` and its arguments. They are sent to another process.
        not_measured: Metrics that the task announces and that could not be measured here, each with the reason.
    """

    items: pd.DataFrame
    scores: Sequence[Score]
    details: Mapping[str, Sequence[str]] = field(default_factory=dict)
    numbers: Mapping[str, Array] = field(default_factory=dict)
    curves: Mapping[str, Curve] = field(default_factory=dict)
    measures: Sequence[Measure] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    findings: Sequence[str] = ()
    notices: Sequence[str] = ()
    caution: str = ""
    sections: Mapping[str, Sequence[str]] = field(default_factory=dict)
    summary: Sequence[str] = ()
    method: Method = field(default_factory=Method)
    condition: str = ""
    control: str = ""
    cutoff: str = ""
    cutoff_unit: str = ""
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    files: Mapping[str, Iterable[str]] = field(default_factory=dict)
    charts: tuple[Any, ...] = (no_charts,)
    not_measured: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def groups(self) -> Groups:
        """The groups of the items."""
        return groups_in(self.items)

    @property
    def values(self) -> dict[str, float]:
        """The value of each metric by name."""
        return {score.metric.name: score.value for score in self.scores}

    @cached_property
    def per_item(self) -> pd.DataFrame:
        """A row per item: id, text, type, metrics with a value per item, details, and further columns."""
        means = {score.metric.name: score.per_item for score in self.scores if score.per_item is not None}
        costs = {measure.metric.name: measure.per_item for measure in self.measures if measure.per_item is not None}
        columns = {name: self.items[name] for name in self.item_columns}
        details = {name: list(texts) for name, texts in self.details.items()}
        return self.items[[*TEXT_COLUMNS]].assign(**means, **costs, **self.numbers, **details, **columns)

    @property
    def item_columns(self) -> list[str]:
        """The columns of the items besides id, text and type."""
        return [str(name) for name in self.items if name not in TEXT_COLUMNS]


class Record(NamedTuple):
    """What was recorded about a run, for a task that explains it."""

    name: str
    run_id: str
    per_query: pd.DataFrame
    params: Mapping[str, str]


class Items(Protocol):
    """What a task asks. All compared configurations get the same items."""

    @property
    def name(self) -> str:
        """Name of the dataset."""
        ...

    @property
    def digest(self) -> str:
        """Digest of the questions and correct answers. Runs with the same digest can be compared."""
        ...

    @property
    def digest_of_all(self) -> str:
        """Digest of everything that was loaded, including what else affects results, such as the chunks."""
        ...

    @property
    def profile(self) -> Mapping[str, int]:
        """Counts by name, such as the number of queries; `left_out` is that of questions that are not measured."""
        ...


class Task(Component, ABC):
    """What a run measures. To add a task, write a class that inherits from this one.

    Its constructor parameters are the settings of the group `task`. Its YAML refers to what it takes of others, as
    `k: ${k}` and `retriever: ${retriever}` do. The task keeps each as an attribute of its name. Settings and components
    that do not change the results are listed in `without_effect`, as for any component.
    """

    @property
    @abstractmethod
    def metrics(self) -> Sequence[Metric]:
        """The metrics that will be measured, in display order."""

    @property
    @abstractmethod
    def loads(self) -> Sequence[str]:
        """The settings that `load` depends on; runs with equal names and values load once."""

    @abstractmethod
    def load(self) -> Any:
        """Read and check the items. Returns an object like `Items`; raises `DatasetError` for bad input."""

    @abstractmethod
    def measure(self, items: Any) -> Measurement:
        """Measure the configuration on the loaded items."""

    @property
    def measures(self) -> Sequence[Metric]:
        """What it measures besides its metrics, such as costs."""
        return ()

    @property
    def optional_metrics(self) -> Sequence[Metric]:
        """Metrics that it measures of some items only, in display order, after the others."""
        return ()

    def lacks(self, items: Any) -> str:
        """Why the metrics of some items are not measured of these; empty if they are."""
        return ""

    @property
    def cutoff(self) -> str:
        """The name of the setting that is a budget, as its measurements have it, such as `k`; empty if it has none."""
        return ""

    @property
    def repeats(self) -> int:
        """How often a configuration is measured whose results vary."""
        return 1

    @property
    def retrieval(self) -> Retrieval | None:
        """What it retrieves with, for checks of a run; None if it retrieves no passages of a dataset."""
        return None

    def check(self, items: Any) -> None:
        """Raise an error for bad input; called before a run is recorded."""

    def item_groups(self, items: Any) -> Mapping[str, str]:
        """The ids of the items that it measures, each with the name of its group, or its own id without one.

        A race measures some of them at a time. A task without this does not race.
        """
        raise ConfigError(f"hydra/sweeper=race: {kind_of(self)} does not measure some of its items alone")

    def measure_some(self, items: Any, ids: Collection[str]) -> Measurement:
        """Measure the items with these ids alone. Each gets the values that it has where all are measured."""
        raise NotImplementedError

    def explain(self, items: Any, query: str, record: Record, width: int) -> Iterator[str]:
        """How one item got its values, line by line, for a terminal of `width` columns."""
        raise ConfigError(f"{kind_of(self)} does not explain its runs")
