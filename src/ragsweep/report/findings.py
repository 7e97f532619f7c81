"""What a sweep tells beyond its means: hard and disputed queries, query types, and what is odd about the dataset."""

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
    """A query that some configurations answer and others do not."""

    query: pd.Series
    highest: Outcome
    high: float
    lowest: Outcome
    low: float


class OfType(NamedTuple):
    """The queries of one type: how many, the best configuration for them, and how the best of all does on them."""

    kind: str
    queries: int
    best: str
    score: float
    best_of_all: float
    held_out: float
    held_out_of_all: float


def unanswered(sweep: Sweep) -> pd.DataFrame:
    """The queries for which every configuration has the worst value that the metric can have."""
    about = sweep.about[sweep.decided_by]
    worst = about.low if about.higher_is_better else about.high
    if not sweep.is_mean(sweep.decided_by):
        return sweep.queries.iloc[:0]
    return sweep.queries.iloc[np.flatnonzero((sweep.scores(sweep.decided_by) == worst).all(axis=0))]


def disputed(sweep: Sweep) -> list[Dispute]:
    """The queries whose scores differ most between configurations, most of all first.

    Of configurations with the best's k where there are several: a larger k lowers F1 and precision of every query.
    """
    if not sweep.is_mean(sweep.decided_by):
        return []
    rows = _comparable(sweep)
    scores = sweep.scores(sweep.decided_by)[rows]
    deviation = scores.std(axis=0)
    order = [query for query in np.argsort(-deviation, kind="stable").tolist() if deviation[query] > EQUAL]
    return [_dispute(sweep, [sweep.outcomes[row] for row in rows], scores, query) for query in order[:MOST_DISPUTED]]


def disputed_in_words(sweep: Sweep) -> str:
    """Which configurations `disputed` is about."""
    some = len(_comparable(sweep)) < len(sweep.outcomes)
    return f"The configurations{f' with k={sweep.best.k}, as the best,' if some else ''} disagree most on these:"


def _comparable(sweep: Sweep) -> list[int]:
    same_k = sweep.table[sweep.table["k"] == sweep.best["k"]]["outcome"].tolist() if "k" in sweep.table else []
    return same_k if len(same_k) > 1 else sweep.table["outcome"].tolist()


def _dispute(sweep: Sweep, outcomes: Sequence[Outcome], scores: Array, query: int) -> Dispute:
    """Of configurations that score alike, the better one overall counts as highest, the worse as lowest."""
    high = int(scores[:, query].argmax())
    low = len(scores) - 1 - int(scores[::-1, query].argmin())
    return Dispute(
        sweep.queries.iloc[query], outcomes[high], float(scores[high, query]), outcomes[low], float(scores[low, query])
    )


def by_type(sweep: Sweep) -> list[OfType]:
    """A row per query type, where there are several."""
    decision = sweep.decision
    if decision.by_type is None:
        return []
    types = np.array(sweep.types, dtype=object)
    scores = sweep.scores(sweep.decided_by)
    for_all = decision.by_type.for_all
    return [
        _of_type(sweep, kind, scores[:, types == kind], own, for_all.per_query[types == kind].mean())
        for kind, own in zip(decision.by_type.types, decision.by_type.by_type, strict=True)
    ]


def _of_type(sweep: Sweep, kind: str, scores: np.ndarray, own: Selection, held_out_of_all: float) -> OfType:
    return OfType(
        kind=kind,
        queries=scores.shape[1],
        best=sweep.outcomes[own.best].name,
        score=own.apparent,
        best_of_all=float(scores[sweep.decision.best].mean()),
        held_out=own.expected,
        held_out_of_all=float(held_out_of_all),
    )
