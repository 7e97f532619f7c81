"""What a report says of routing, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from ragsweep.core.arrays import Indices, Scores
from ragsweep.core.terminal import counted
from ragsweep.retrieval.folds import numbered
from ragsweep.retrieval.ranking import Ranking
from ragsweep.retrieval.routing.routed import RoutedQueries
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
        predicted: The type of each query as predicted, shape [queries].
        confidence: The probability that the classifier gives that type, shape [queries].
        usual: The most frequent type of the other folds, shape [folds].
        of_type: The route of each type, shape [folds, types].
        single: The route that is best over all types, shape [folds].
        route: The route that each query took, shape [queries].
        values: Of the metric for each route and query, NaN for a query without judgments, shape [routes, queries].
        metric: Name of the metric.
        seed: Of the bootstrap.
    """

    names: tuple[str, ...]
    types: tuple[str, ...]
    type_of: Indices
    fold: Indices
    predicted: Indices
    confidence: Scores
    usual: Indices
    of_type: Indices
    single: Indices
    route: Indices
    values: Scores
    metric: str
    seed: int

    @classmethod
    def of(
        cls,
        folds: Sequence[RoutedQueries],
        fold: Indices,
        types: Sequence[str | None],
        values: Callable[[Ranking, str], Scores],
    ) -> Routing:
        """Routes that were taken, held against the judgments of all queries.

        Args:
            folds: What each fold was ranked by.
            fold: The fold of each query.
            types: The type of each query, None for one without.
            values: As in `Lesson`, for all queries.
        """
        settings = folds[0].settings
        names, type_of = numbered(types)
        predicted, route, confidence = np.empty_like(fold), np.empty_like(fold), np.empty(len(fold))
        of_type = np.array([[each.choice.single] * len(names) for each in folds])
        for number, each in enumerate(folds):
            known = np.array([names.index(name) for name in each.types])
            predicted[each.queries], confidence[each.queries] = known[each.predicted.types], each.predicted.confidence
            route[each.queries] = each.route[each.queries]
            of_type[number, known] = each.choice.of_type
        return cls(
            names=tuple(settings.routes),
            types=names,
            type_of=type_of,
            fold=fold,
            predicted=predicted,
            confidence=confidence,
            usual=np.array([names.index(each.types[each.predicted.usual]) for each in folds]),
            of_type=of_type,
            single=np.array([each.choice.single for each in folds]),
            route=route,
            values=np.stack([values(ranking, settings.metric) for ranking in folds[0].rankings]),
            metric=settings.metric,
            seed=settings.seed,
        )

    @property
    def confusion(self) -> Indices:
        """How many queries of each type were taken for each type, shape [types, types predicted]."""
        typed = self.type_of >= 0
        counts = np.zeros((len(self.types), len(self.types)), dtype=np.int64)
        np.add.at(counts, (self.type_of[typed], self.predicted[typed]), 1)
        return counts

    def gain(self, route: Indices) -> Scores:
        """How much more each judged query scores on this route than on the best single one of its fold."""
        queries = np.flatnonzero(np.isfinite(self.values).all(axis=0))
        single = self.single[self.fold]
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
    right = (routing.predicted == routing.type_of)[typed].astype(np.float64)
    low, high = confidence_intervals(right, seed=routing.seed)
    usual = (routing.usual[routing.fold] == routing.type_of)[typed].mean()
    sure = routing.confidence[typed].mean()
    yield (
        f"The type of each query was predicted from the queries of the {len(routing.single) - 1} other folds. "
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
    for name, chosen in zip(routing.types, routing.of_type.T, strict=True):
        yield f"Route of queries predicted as {name}: {_by_folds(routing, chosen)}."


def _gain(routing: Routing) -> Iterator[str]:
    gain = routing.gain(routing.route)
    low, high = interval_of_gain(gain, len(routing.single))
    allows = "which allows for what folds share; a sweep's tests do not"
    found = f"{routing.metric} by {gain.mean():+.3f} (95 % interval {low:+.3f} to {high:+.3f}, {allows})"
    verdict = "Routing shows no gain here: the single route is simpler."
    if low > EQUAL:
        verdict = "Routing is better here."
    elif high < -EQUAL:
        verdict = "Routing is worse here: use the single route."
    yield (
        f"Against the best single route of the same folds ({_by_folds(routing, routing.single)}), routing "
        f"changes {found}, on {counted(len(gain), 'query')} that had no part in the choice. {verdict}"
    )
    by_type = np.where(
        routing.type_of >= 0, routing.of_type[routing.fold, routing.type_of], routing.single[routing.fold]
    )
    with_types = routing.gain(by_type).mean()
    yield f"If all types were predicted rightly, the change would be {with_types:+.3f}."


def _by_folds(routing: Routing, chosen: Indices) -> str:
    """A route chosen by each fold, in words."""
    counts = Counter(routing.names[each] for each in chosen.tolist()).most_common()
    if len(counts) == 1:
        return f"{counts[0][0]} in all {len(chosen)} folds"
    return ", ".join(f"{name} in {count} of {len(chosen)} folds" for name, count in counts)
