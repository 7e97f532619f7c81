"""What a metric of spans needs: `judged.spans`, which the task computes for the metrics that are marked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import counted
from ragsweep.datasets import Dataset
from ragsweep.retrieval import NOTHING, Ranking
from ragsweep.tasks.ranking.coverage import LONGEST_REFERENCE
from ragsweep.tasks.ranking.judging import Judged
from ragsweep.tasks.ranking.metrics import PerQuery
from ragsweep.tasks.ranking.spans.spans import Spans, retrieved_spans

Function = TypeVar("Function", bound=Callable[..., Any])


def of_spans(function: Function) -> Function:
    """Decorator of a metric that reads `judged.spans`, so that these are computed for it."""
    function.of_spans = True  # type: ignore[attr-defined]
    return function


def needs_spans(function: Callable[..., Any]) -> bool:
    """Whether a metric reads `judged.spans`."""
    return getattr(function.func if isinstance(function, partial) else function, "of_spans", False)


def check_spans(dataset: Dataset, metrics: Mapping[str, Callable[..., Any]]) -> None:
    """Raise `ConfigError` if one of the metrics needs references, or their offsets, that the dataset does not have."""
    unplaced = [reference for reference in dataset.references if not reference.has_offsets]
    for name, function in metrics.items():
        if not needs_spans(function):
            continue
        if not dataset.references:
            raise ConfigError(
                f"evaluation.metrics.{name}: compares spans of text, and {dataset.name} judges {dataset.unit}s; "
                "expected a dataset with references, such as questions=spans"
            )
        tokens = inspect.signature(function).parameters.get("token")
        if unplaced and tokens and tokens.default == "character":
            raise ConfigError(
                f"evaluation.metrics.{name}: compares characters, and offsets of {counted(len(unplaced), 'reference')} "
                f"are not known (the first: query {unplaced[0].query_id}, "
                f"{unplaced[0].text[:LONGEST_REFERENCE]!r}); expected evaluation.token=word"
            )


def with_spans(judged: Judged, dataset: Dataset, ranking: Ranking, cutoffs: int) -> Judged:
    """Add the references of the judged queries, and the passages at their first ranks.

    Args:
        judged: The judged rankings.
        dataset: Has the references.
        ranking: The ranking of all queries that was judged.
        cutoffs: The largest cutoff that is measured.
    """
    units, ranks = (columns[:, :cutoffs] for columns in np.broadcast_arrays(judged.units, judged.ranks))
    passages = np.take_along_axis(ranking.passages[judged.queries], ranks, axis=1)
    retrieved = np.where(units == NOTHING, NOTHING, passages)
    return replace(judged, spans=retrieved_spans(dataset, judged.queries, retrieved))


def spans_in(judged: Judged) -> Spans:
    """The references of the judged queries."""
    if judged.spans is None:
        raise ConfigError(
            "a metric of spans needs a dataset with references, and the decorator of_spans if it is yours"
        )
    return judged.spans


def ratio(part: npt.NDArray[Any], total: npt.NDArray[Any]) -> PerQuery:
    """Each part as a share of its total; 0 of nothing."""
    shares: PerQuery = np.divide(part, total, out=np.zeros(len(part)), where=total > 0)
    return shares
