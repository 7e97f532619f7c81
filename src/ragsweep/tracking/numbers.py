"""What a measurement is in MLflow: its metrics and its dataset."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ragsweep.datasets import Dataset
from ragsweep.tasks.ranking import Evaluation
from ragsweep.tracking.names import type_names

DIGEST_LENGTH = 36  # the longest that MLflow takes


def dataset_input(dataset: Dataset, settings: Mapping[str, Any]) -> dict[str, str]:
    """The dataset with our own digest: MLflow's stops at 10,000 rows."""
    profile = {
        "passages": len(dataset.passages),
        "units": len(dataset.units),
        "queries": len(dataset.queries),
        "judgments": len(dataset.qrels.grade),
    }
    return {
        "name": dataset.name,
        "digest": dataset.digest[:DIGEST_LENGTH],
        "source_type": "ragsweep",
        "source": json.dumps({name: value for name, value in settings.items() if name.startswith("dataset.")}),
        "profile": json.dumps(profile),
    }


def metrics_of(evaluation: Evaluation, measures: Mapping[str, float]) -> dict[tuple[str, int], float]:
    """All that is logged as a metric, by name and step: curves have a step for every cutoff, other metrics step 0."""
    metrics = {(name, 0): value for name, value in (*_scalars(evaluation), *measures.items())}
    for name, curve in zip(evaluation.names, evaluation.curves.tolist(), strict=True):
        metrics |= {(f"at_k/{name}", cutoff): value for cutoff, value in enumerate(curve, start=1)}
    return metrics


def _scalars(evaluation: Evaluation) -> Iterator[tuple[str, float]]:
    f1 = evaluation.names.index("f1")
    yield from sorted(evaluation.means.items(), key=lambda mean: mean[0] != "f1")  # "Compare" shows the first one
    for name, low, high in zip(evaluation.names, evaluation.ci_low, evaluation.ci_high, strict=True):
        yield f"ci/{name}_low", float(low)
        yield f"ci/{name}_high", float(high)
    kinds = np.array(evaluation.query_types, dtype=object)
    for kind, name in type_names(evaluation.types).items():
        yield f"by_type/{name}/f1", float(evaluation.per_query[f1, kinds == kind].mean())
