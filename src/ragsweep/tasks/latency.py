"""What single items take: the numbers of a run, the same for retrieval and for answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ragsweep.statistics.intervals import Array
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.task import Measure


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
