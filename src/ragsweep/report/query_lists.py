"""Queries on which configurations disagree, and query types, at one cutoff."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from ragsweep.statistics import Selection
from ragsweep.statistics.intervals import EQUAL, Array
from ragsweep.sweeps import Outcome, Sweep

MOST_DISPUTED = 10


class Dispute(NamedTuple):
    """A query on which configurations disagree, with the configurations that score highest and lowest."""

    query: pd.Series
    highest: Outcome
    high: float
    lowest: Outcome
    low: float


class OfType(NamedTuple):
    """The queries of one type: their number, the best configuration for them, and the scores of the overall best."""

    kind: str
    queries: int
    best: str
    score: float
    best_of_all: float
    held_out: float
    held_out_of_all: float


def disputed(sweep: Sweep) -> list[Dispute]:
    """The queries on which the scores of configurations at one cutoff differ most, largest difference first."""
    if not sweep.is_mean(sweep.decided_by):
        return []
    rows = sweep.table["outcome"].tolist()
    scores = sweep.scores(sweep.decided_by)[rows]
    deviation = scores.std(axis=0)
    order = [query for query in np.argsort(-deviation, kind="stable").tolist() if deviation[query] > EQUAL]
    return [_dispute(sweep, [sweep.outcomes[row] for row in rows], scores, query) for query in order[:MOST_DISPUTED]]


def _dispute(sweep: Sweep, outcomes: Sequence[Outcome], scores: Array, query: int) -> Dispute:
    """Of configurations with equal scores, the overall better one is the highest, the overall worse one the lowest."""
    high = int(scores[:, query].argmax())
    low = len(scores) - 1 - int(scores[::-1, query].argmin())
    return Dispute(
        sweep.queries.iloc[query], outcomes[high], float(scores[high, query]), outcomes[low], float(scores[low, query])
    )


def by_type(sweep: Sweep) -> list[OfType]:
    """A row per query type. Empty if there are fewer than two types."""
    found = sweep.standings
    if found.by_type is None:
        return []
    types = np.array(sweep.types, dtype=object)
    scores = sweep.scores(sweep.decided_by)
    for_all = found.by_type.for_all
    return [
        _of_type(sweep, kind, scores[:, types == kind], own, for_all.per_query[types == kind].mean())
        for kind, own in zip(found.by_type.types, found.by_type.by_type, strict=True)
    ]


def _of_type(sweep: Sweep, kind: str, scores: np.ndarray, own: Selection, held_out_of_all: float) -> OfType:
    best_of_all = float(scores[sweep.best].mean())
    best = sweep.best if abs(best_of_all - own.apparent) <= EQUAL else own.best  # of equals, the best of all types
    return OfType(
        kind=kind,
        queries=scores.shape[1],
        best=sweep.outcomes[best].name,
        score=own.apparent,
        best_of_all=best_of_all,
        held_out=own.expected,
        held_out_of_all=float(held_out_of_all),
    )
