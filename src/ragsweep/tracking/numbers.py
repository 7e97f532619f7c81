"""The metrics and the dataset of a measurement as MLflow takes them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ragsweep.tasks.task import Items, Measurement
from ragsweep.tracking.names import type_names

DIGEST_LENGTH = 36  # the longest that MLflow accepts


def dataset_input(items: Items, settings: Mapping[str, Any]) -> dict[str, str]:
    """The dataset with our own digest. MLflow's digest covers only the first 10,000 rows."""
    return {
        "name": items.name,
        "digest": items.digest[:DIGEST_LENGTH],
        "source_type": "ragsweep",
        "source": json.dumps({name: value for name, value in settings.items() if name.startswith("dataset.")}),
        "profile": json.dumps(dict(items.profile)),
    }


def metrics_of(measurement: Measurement, decide_by: str) -> dict[tuple[str, int], float]:
    """Everything that is logged as a metric, by name and step.

    Curves have a step per cutoff, what was measured several times has one per repeat, and other metrics have step 0.
    """
    measures = ((each.metric.name, each.value) for each in measurement.measures)
    scalars = (*_scalars(measurement, decide_by), *measures)
    metrics = {(name, 0): value for name, value in scalars}
    for name, curve in measurement.curves.items():
        metrics |= {(f"at_k/{name}", step): value for step, value in enumerate(curve.values.tolist(), start=1)}
    for name in (score.metric.name for score in measurement.scores):
        means = measurement.facts.get("repeated", {}).get(name, {}).get("means", ())
        metrics |= {(f"by_repeat/{name}", step): value for step, value in enumerate(means, start=1)}
    return metrics


def _scalars(measurement: Measurement, decide_by: str) -> Iterator[tuple[str, float]]:
    scores = sorted(measurement.scores, key=lambda score: score.metric.name != decide_by)
    for score in scores:  # MLflow's "Compare" shows the first metric
        yield score.metric.name, score.value
    for score in measurement.scores:
        yield f"ci/{score.metric.name}_low", score.low
        yield f"ci/{score.metric.name}_high", score.high
    kinds = measurement.items["query_type"].to_numpy(dtype=object)
    for kind, name in type_names(sorted(measurement.items["query_type"].dropna().unique()), decide_by).items():
        if (per_item := scores[0].per_item) is not None:
            yield f"by_type/{name}/{decide_by}", float(np.mean(per_item[kinds == kind]))
