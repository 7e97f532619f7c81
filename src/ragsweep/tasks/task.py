"""The interface between a task and the code that records, compares and reports its measurements.

A task loads its items, measures one configuration on them and returns a `Measurement`. Code outside `tasks` does not
depend on the kind of items or on particular metrics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ragsweep.core.csv_files import TEXT_COLUMNS
from ragsweep.core.drawing import no_charts
from ragsweep.core.errors import ConfigError
from ragsweep.retrieval.kinds import Method
from ragsweep.statistics import Groups
from ragsweep.statistics.intervals import Array
from ragsweep.store.code import kind_of
from ragsweep.store.component import Component
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.scores import Curve, Measure, Score, groups_in

if TYPE_CHECKING:
    import pandas as pd

    from ragsweep.tasks.search import Retrieval

LEAST_DEPTH = 100  # a ranking has at least this many passages, and at least k


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
