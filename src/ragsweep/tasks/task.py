"""The seam between what a run measures and everything that records, compares and reports it.

A task loads its items, measures one configuration on them and returns a `Measurement`. Nothing above this room knows
what the items are, or which metrics there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import pandas as pd

from ragsweep.core.csv_files import TEXTS
from ragsweep.core.drawing import no_charts
from ragsweep.core.method import Method
from ragsweep.statistics import confidence_intervals
from ragsweep.statistics.intervals import LEVEL, Array, resample_statistic
from ragsweep.tasks.metric import Metric


@dataclass(frozen=True, eq=False)  # arrays have no truth value
class Score:
    """A metric of one configuration: its value over all items, with its 95 % interval.

    Attributes:
        metric: Which.
        value: The mean over items, or the aggregate.
        low: Lower bound of the percentile bootstrap interval over items.
        high: Upper bound.
        per_item: The values whose mean it is, shape [items]; None for an aggregate.
        resampled: The aggregate in each bootstrap resample, shape [resamples]; None for a mean. Runs of one seed and
            number of items draw the same resamples, so that they can be compared pair by pair.
    """

    metric: Metric
    value: float
    low: float
    high: float
    per_item: Array | None = None
    resampled: Array | None = None

    @classmethod
    def aggregate(
        cls, metric: Metric, statistic: Callable[[Array], float], items: int, *, resamples: int, seed: int
    ) -> Score:
        """The score of a metric that is no mean over items, such as a calibration error.

        Args:
            metric: Which.
            statistic: Its value, given how much each item counts: weights that add up to 1, shape [items].
            items: How many there are.
            resamples: Of the bootstrap.
            seed: Of the bootstrap.
        """
        values = resample_statistic(statistic, items, resamples, seed)
        low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return cls(metric, float(statistic(np.full(items, 1 / items))), float(low), float(high), resampled=values)


def mean_scores(metrics: Sequence[Metric], values: Array, *, resamples: int, seed: int) -> tuple[Score, ...]:
    """The scores of metrics that are means over items.

    Args:
        metrics: Which.
        values: Shape [metrics, items], all finite.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.
    """
    low, high = confidence_intervals(values, resamples=resamples, seed=seed)
    means = values.mean(axis=1)
    return tuple(
        Score(metric, float(mean), float(lower), float(upper), row)
        for metric, mean, lower, upper, row in zip(metrics, means, low, high, values, strict=True)
    )


@dataclass(frozen=True, eq=False)
class Curve:
    """A metric over steps, such as recall over the cutoff.

    Attributes:
        values: Its mean at the steps 1, 2, ..., shape [steps].
        interval: Lower and upper bounds of the 95 % interval of each mean, shape [2, steps]; None where not computed.
    """

    values: Array
    interval: Array | None = None


@dataclass(frozen=True, eq=False)
class Measurement:
    """Everything that was measured of one configuration.

    Attributes:
        items: A row per item: `query_id`, `query` and `query_type`, which is None for an item without one, and what
            else is the same for every configuration, as texts.
        scores: The metrics in the order in which they are shown.
        details: What depends on the configuration, as texts, such as what was retrieved: columns of the same table.
        curves: By the name of the metric.
        measures: What else is worth a number, by its name in MLflow, such as `latency/mean_ms`.
        facts: What else programs may read back, as JSON takes it.
        findings: What is odd about the items, a sentence each.
        method: How the configuration does it.
        condition: What all values depend on, as titles of charts say it, such as `at k = 5`.
        tables: Further tables by file name.
        files: Further files by name, as lines.
        charts: A `Draw` and its arguments; they travel to another process.
    """

    items: pd.DataFrame
    scores: Sequence[Score]
    details: Mapping[str, Sequence[str]] = field(default_factory=dict)
    curves: Mapping[str, Curve] = field(default_factory=dict)
    measures: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    findings: Sequence[str] = ()
    method: Method = field(default_factory=Method)
    condition: str = ""
    tables: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    files: Mapping[str, Iterable[str]] = field(default_factory=dict)
    charts: tuple[Any, ...] = (no_charts,)

    @property
    def values(self) -> dict[str, float]:
        """The value of each metric, by its name."""
        return {score.metric.name: score.value for score in self.scores}

    @cached_property
    def per_item(self) -> pd.DataFrame:
        """The table of items: who they are, the metrics that have a value per item, and the details."""
        means = {score.metric.name: score.per_item for score in self.scores if score.per_item is not None}
        others = {name: self.items[name] for name in self.item_columns}
        details = {name: list(texts) for name, texts in self.details.items()}
        return self.items[[*TEXTS]].assign(**means, **details, **others)

    @property
    def item_columns(self) -> list[str]:
        """What items have besides id, text and type."""
        return [str(name) for name in self.items if name not in TEXTS]


class Record(NamedTuple):
    """What was recorded of a run, for a task that explains it."""

    name: str
    run_id: str
    per_query: pd.DataFrame
    params: Mapping[str, str]


class Items(Protocol):
    """What a task asks, the same for every configuration that is compared."""

    @property
    def name(self) -> str:
        """Of the dataset."""
        ...

    @property
    def digest(self) -> str:
        """Of the questions and of what is right: runs of one digest can be compared."""
        ...

    @property
    def digest_of_all(self) -> str:
        """Of everything that was loaded: whatever else decides results, such as how documents were cut."""
        ...

    @property
    def profile(self) -> Mapping[str, int]:
        """How many there are of what."""
        ...


class Task(Protocol):
    """What a run measures; write your own as one class with these methods.

    Its parameters are settings: each is taken from the group `task`, or else from the setting or group of the same
    name, as `k` and `retriever` are.
    """

    @property
    def metrics(self) -> Sequence[Metric]:
        """What will be measured, in the order in which it is shown."""
        ...

    loads: ClassVar[Sequence[str]]  # the settings that decide what `load` gives; runs that share them load once

    def load(self) -> Any:
        """Read and check everything that is asked: an object like `Items`; raise `DatasetError` where it is wrong."""
        ...

    def measure(self, items: Any) -> Measurement:
        """Measure the configuration on what `load` gave."""
        ...
