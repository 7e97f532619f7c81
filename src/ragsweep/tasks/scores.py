"""The numbers of a configuration: scores of metrics, measures besides them such as latency, and curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ragsweep.core.csv_files import QUERY_GROUP
from ragsweep.core.errors import ConfigError
from ragsweep.core.timing import Machines
from ragsweep.statistics import Groups, confidence_intervals
from ragsweep.statistics.intervals import COVERAGE, Array, resample_statistic
from ragsweep.tasks.metric import Guessing, Metric, Unread

if TYPE_CHECKING:
    import pandas as pd


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


def latency_metrics(title: str, total: str) -> tuple[Metric, ...]:
    """Mean, standard deviation, median, 95th percentile and total of the times of single items, in milliseconds.

    Args:
        title: Of the mean; the others but the total say in brackets what they are.
        total: The title of the total.
    """
    titles = {
        "mean": title,
        "std": f"{title} (standard deviation)",
        "median": f"{title} (median)",
        "p95": f"{title} (95th percentile)",
        "total": total,
    }
    return tuple(latency_metric(name, words) for name, words in titles.items())


def latency_metric(name: str, title: str) -> Metric:
    """The description of a time in milliseconds."""
    return Metric(f"latency/{name}_ms", title, "ms", higher_is_better=False, low=0)


def latency_measures(
    metrics: Sequence[Metric], times: Array, *, sample: Array | None = None, **noted: Any
) -> list[Measure]:
    """The numbers of `latency_metrics`.

    Args:
        metrics: Their descriptions.
        times: The times that are known, in milliseconds, shape [items], at least one.
        sample: Times by which configurations are compared, of the same items; None if there are none.
        noted: What else is known of each number, as fields of `Measure`.
    """
    deviation = times.std(ddof=1) if len(times) > 1 else 0.0
    values = (times.mean(), deviation, *np.quantile(times, [0.5, 0.95]), times.sum())
    samples = (sample, None, None, None, None)
    return [
        Measure(metric, float(value), sample=of_metric, **noted)
        for metric, value, of_metric in zip(metrics, values, samples, strict=True)
    ]
