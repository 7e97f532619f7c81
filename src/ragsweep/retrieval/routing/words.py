"""What a report says of routing, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from ragsweep.core.terminal import counted
from ragsweep.retrieval.ranking import Indices, Scores
from ragsweep.retrieval.routing.choice import Choice, Predictions
from ragsweep.statistics.intervals import EQUAL, confidence_intervals

Z = 1.959964  # standard errors on each side of a 95 % interval


@dataclass(frozen=True)
class Routing:
    """How the queries of a search were routed.

    Attributes:
        names: Of the routes.
        types: Names of the query types.
        type_of: The type of each query, -1 for one without, shape [queries].
        fold: The fold of each query, shape [queries].
        predicted: The type of each query as predicted.
        choice: The routes of each fold.
        route: The route that each query took, shape [queries].
        values: Of the metric for each route and query, NaN for a query without judgments, shape [routes, queries].
        metric: Name of the metric.
        seed: Of the bootstrap.
    """

    names: tuple[str, ...]
    types: tuple[str, ...]
    type_of: Indices
    fold: Indices
    predicted: Predictions
    choice: Choice
    route: Indices
    values: Scores
    metric: str
    seed: int

    @property
    def confusion(self) -> Indices:
        """How many queries of each type were taken for each type, shape [types, types predicted]."""
        typed = self.type_of >= 0
        counts = np.zeros((len(self.types), len(self.types)), dtype=np.int64)
        np.add.at(counts, (self.type_of[typed], self.predicted.types[typed]), 1)
        return counts

    def gain(self, route: Indices) -> Scores:
        """How much more each judged query scores on this route than on the best single one of its fold."""
        queries = np.flatnonzero(np.isfinite(self.values).all(axis=0))
        single = self.choice.single[self.fold]
        gain: Scores = self.values[route[queries], queries] - self.values[single[queries], queries]
        return gain


def interval_of_gain(gain: Scores, folds: int) -> tuple[float, float]:
    """The 95 % interval of a mean gain over queries that were routed in folds.

    The routes of two folds are chosen from mostly the same queries, so the gains depend on each other. In simulations
    without any expected gain, an interval for independent queries covers 0 only 87 % of the time. Nadeau and Bengio
    (2003) widen it by sqrt(1 + folds * queries held out / queries learnt from). So widened, it covers 0 99 % of the
    time with 5 folds, and 95 % with 10.

    Args:
        gain: Of each query, shape [queries].
        folds: How many there were.
    """
    if len(gain) < 2:
        return -inf, inf
    half = Z * sqrt((1 + folds / (folds - 1)) / len(gain)) * float(gain.std(ddof=1))
    return float(gain.mean()) - half, float(gain.mean()) + half


def sentences(routing: Routing) -> list[str]:
    """How well types are predicted, which route each takes, and whether that is worth it."""
    return [*_classifier(routing), *_confusion(routing), *_routes(routing), *_gain(routing)]


def _classifier(routing: Routing) -> Iterator[str]:
    typed = routing.type_of >= 0
    right = (routing.predicted.types == routing.type_of)[typed].astype(np.float64)
    low, high = confidence_intervals(right, seed=routing.seed)
    usual = (routing.predicted.usual == routing.type_of)[typed].mean()
    sure = routing.predicted.confidence[typed].mean()
    yield (
        f"The type of each query was predicted from the queries of the {len(routing.choice.single) - 1} other folds. "
        f"{right.mean():.0%} of {counted(len(right), 'query')} were right (95 % interval {low:.0%} to {high:.0%}); "
        f"always the most frequent type would be right for {usual:.0%}."
    )
    judged = "less sure than" if sure < low else "surer than" if sure > high else "about as sure as"
    yield f"The classifier's mean confidence is {sure:.0%}: it is {judged} it is right."


def _confusion(routing: Routing) -> Iterator[str]:
    for name, row in zip(routing.types, routing.confusion, strict=True):
        order = np.argsort(-row, kind="stable")
        predicted = ", ".join(f"{row[each]} as {routing.types[each]}" for each in order if row[each])
        yield f"Predictions for the {row.sum()} {name} queries: {predicted}."


def _routes(routing: Routing) -> Iterator[str]:
    for name, chosen in zip(routing.types, routing.choice.of_type.T, strict=True):
        yield f"Route of queries predicted as {name}: {_by_folds(routing, chosen)}."


def _gain(routing: Routing) -> Iterator[str]:
    gain = routing.gain(routing.route)
    low, high = interval_of_gain(gain, len(routing.choice.single))
    allows = "which allows for what folds share; a sweep's tests do not"
    found = f"{routing.metric} by {gain.mean():+.3f} (95 % interval {low:+.3f} to {high:+.3f}, {allows})"
    verdict = "Routing shows no gain here: the single route is simpler."
    if low > EQUAL:
        verdict = "Routing is better here."
    elif high < -EQUAL:
        verdict = "Routing is worse here: use the single route."
    yield (
        f"Against the best single route of the same folds ({_by_folds(routing, routing.choice.single)}), routing "
        f"changes {found}, on {counted(len(gain), 'query')} that had no part in the choice. {verdict}"
    )
    with_types = routing.gain(routing.choice.routes(routing.type_of, routing.fold)).mean()
    yield f"If all types were predicted rightly, the change would be {with_types:+.3f}."


def _by_folds(routing: Routing, chosen: Indices) -> str:
    """A route chosen by each fold, in words."""
    counts = Counter(routing.names[each] for each in chosen.tolist()).most_common()
    if len(counts) == 1:
        return f"{counts[0][0]} in all {len(chosen)} folds"
    return ", ".join(f"{name} in {count} of {len(chosen)} folds" for name, count in counts)
