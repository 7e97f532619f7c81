"""Learns which route each query takes, as a function of arrays: what decides for a query is learnt from other folds."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from ragsweep.core.arrays import Indices, Scores
from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import counted
from ragsweep.core.timing import timed
from ragsweep.datasets import Dataset, Query
from ragsweep.models.encoders.embeddings import embed, encoding_ms
from ragsweep.models.encoders.encoder import Embeddings
from ragsweep.retrieval import Ranking, RoutedRetriever
from ragsweep.retrieval.routed import RoutedQueries
from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import EQUAL, confidence_intervals, first_best
from ragsweep.tasks.metric import metric_of
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.task import Measurement

ROUTING, LEARNS = "Routing", "Learning from judgments"  # headings
Z = 1.959964  # standard errors on each side of a 95 % interval


class Routes(NamedTuple):
    """What was predicted and chosen for each query, shape [queries] each.

    Attributes:
        route: The route that it takes.
        single: The route that is best over all types, in the other folds.
        type: The type that was predicted.
        confidence: The probability of that type.
        usual: The most frequent type in the other folds.
    """

    route: Indices
    single: Indices
    type: Indices
    confidence: Scores
    usual: Indices


def routes_of(
    values: Scores, types: Indices, embeddings: Embeddings, kinds: Indices, settings: RoutedRetriever
) -> Routes:
    """Choose a route for each query by the values and types of the queries of other folds.

    Args:
        values: Of the metric, more is better; NaN for a query without judgments, shape [routes, queries].
        types: The type of each query, -1 for one without, shape [queries].
        embeddings: Of the queries.
        kinds: A number that queries share which must be in the same fold, shape [queries].
        settings: Of the routing.
    """
    from sklearn.model_selection import StratifiedGroupKFold  # type: ignore[import-untyped]

    queries = len(types)
    found = Routes(*(np.zeros(queries, dtype) for dtype in (np.int64, np.int64, np.int64, float, np.int64)))
    folds = StratifiedGroupKFold(settings.folds, shuffle=True, random_state=settings.seed % 2**32)
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # of types with fewer queries than folds
        split = [*folds.split(embeddings, types, kinds)]
    for learn, held in split:
        if not len(held):
            continue
        typed = learn[types[learn] >= 0]
        known, counts = np.unique(types[typed], return_counts=True)
        likely = classifier_of(embeddings[typed], types[typed], settings.classifier.c)(embeddings[held])
        found.type[held], found.confidence[held] = known[likely.argmax(axis=1)], likely.max(axis=1)
        found.usual[held] = known[counts.argmax()]
        single, of_type = best_routes(values[:, learn], types[learn], int(types.max()) + 1, settings.least)
        found.single[held] = single
        sure = found.confidence[held] >= settings.confidence
        found.route[held] = np.where(sure, of_type[found.type[held]], single)
    return found


def classifier_of(embeddings: Embeddings, types: Indices, c: float) -> Callable[[Embeddings], Scores]:
    """Learns from queries; gives the probability of each of their types for other queries, shape [queries, types]."""
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

    if len(np.unique(types)) == 1:
        return lambda queries: np.ones((len(queries), 1))
    model = LogisticRegression(C=c, max_iter=1000).fit(embeddings.astype(np.float64), types)
    return lambda queries: model.predict_proba(queries.astype(np.float64))


def best_routes(values: Scores, types: Indices, number_of_types: int, least: int) -> tuple[int, Indices]:
    """The route with the best mean over all queries, and that of each type.

    Equal means, such as those of no query at all, leave the choice to the order of the routes.

    Args:
        values: As of `routes_of`, of the queries that may decide.
        types: Their types.
        number_of_types: How many types there are.
        least: A type with fewer judged queries takes the route that is best over all.
    """
    judged = np.isfinite(values).all(axis=0)
    of = (types[judged, np.newaxis] == np.arange(number_of_types)).astype(np.float64)  # [queries, types]
    counts = of.sum(axis=0)
    best = int(first_best(values[:, judged].sum(axis=1) / max(1, judged.sum())))
    return best, np.where(counts >= least, first_best(values[:, judged] @ of / counts.clip(min=1)), best)


def kinds_of(queries: Sequence[Query]) -> Indices:
    """A number per query, the same for those of the same text or group, over any number of steps, shape [queries].

    Case and white space do not count. The numbers do not depend on the order of the queries.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    texts = np.array([" ".join(query.text.casefold().split()) for query in queries], dtype=object)
    text = np.unique(texts, return_inverse=True)[1]
    group = Groups.named([query.group for query in queries]).of + len(texts)  # nodes after those of the texts
    edges = coo_array((np.ones(len(texts)), (text, group)), shape=(2 * len(texts),) * 2)
    return connected_components(edges, directed=False)[1][text].astype(np.int64)


def types_of(items: Dataset) -> tuple[tuple[str, ...], Indices]:
    """The names of the types in alphabetical order, and the number of each query's type, -1 for one without."""
    types = [query.query_type for query in items.queries]
    names = tuple(sorted({name for name in types if name is not None}))
    return names, np.array([names.index(name) if name is not None else -1 for name in types])


def check_routing(settings: RoutedRetriever, items: Dataset, evaluation: EvaluationSettings) -> None:
    """Raise `ConfigError` for queries that cannot be routed."""
    names, types = types_of(items)
    if len(names) < 2:
        found = f"{len(names) or 'no'} query type{'s' if len(names) != 1 else ''}"
        raise ConfigError(f"retriever=routed: the dataset has {found}, expected at least two; use one of the routes")
    kinds = len({*kinds_of(items.queries)[types >= 0].tolist()})
    if kinds < settings.folds:
        found = f"found {settings.folds} for {kinds} different queries with a type"
        raise ConfigError(f"retriever.folds: {found}, expected at most one for each")
    if settings.metric not in evaluation.metrics:
        there_is = ", ".join(evaluation.metrics)
        raise ConfigError(f"retriever.metric: no such metric is measured: {settings.metric} (there is {there_is})")


class Routed(NamedTuple):
    """What was learnt.

    Attributes:
        ranker: Ranks each query by its route.
        queries: Those of the dataset.
        details: The predicted type of each query, the confidence in it, and the route, as columns of texts.
        sections: What a report says.
    """

    ranker: RoutedQueries
    queries: Sequence[Query]
    details: Mapping[str, Sequence[str]]
    sections: Mapping[str, Sequence[str]]

    def measured(self, measurement: Measurement) -> Measurement:
        """What was measured with this ranker, with what is said of it."""
        rows = {query.query_id: row for row, query in enumerate(self.queries)}
        asked = [rows[query] for query in measurement.items["query_id"]]
        details = {name: [texts[row] for row in asked] for name, texts in self.details.items()}
        return replace(
            measurement,
            details={**measurement.details, **details},
            sections={**self.sections, **measurement.sections},
            summary=measurement.summary or self.sections[ROUTING],
            facts={**measurement.facts, "learns_from_judgments": ["retriever"]},
        )


def routed(
    settings: RoutedRetriever, items: Dataset, rankings: Sequence[Ranking], evaluation: EvaluationSettings, k: int
) -> Routed:
    """What ranks each query by its route, and what a report says of it.

    Args:
        settings: Of the routing.
        items: The dataset.
        rankings: Of all queries by each route.
        evaluation: What is measured.
        k: The cutoff.
    """
    names, types = types_of(items)
    classifier, texts = settings.classifier, [query.text for query in items.queries]
    embeddings = classifier.encoder.of_length_1(embed(classifier.encoder, classifier.store, texts, "query"))
    values = np.array([_values(items, ranking, settings.metric, evaluation, k) for ranking in rankings])
    chosen = routes_of(values, types, embeddings, kinds_of(items.queries), settings)
    classify = classifier_of(
        embeddings[types >= 0], types[types >= 0], classifier.c
    )  # to time it, and for nothing else
    classifying_ms = timed(lambda row: classify(embeddings[[row]]), len(texts))
    latency_ms = encoding_ms(classifier.encoder, classifier.store, texts) + classifying_ms
    routes = tuple(settings.routes)
    details = {
        "type_predicted": [names[kind] for kind in chosen.type],
        "type_confidence": [f"{confidence:.3f}" for confidence in chosen.confidence],
        "route": [routes[route] for route in chosen.route],
    }
    learns = (
        "retriever (RoutedRetriever) learns from the relevance judgments and types of queries. What ranks for a query "
        f"was learnt from the queries of the {counted(settings.folds - 1, 'other fold')}, never from this query."
    )
    sections = {ROUTING: sentences(chosen, values, types, settings), LEARNS: [learns]}
    return Routed(RoutedQueries(settings, chosen.route, latency_ms), items.queries, details, sections)


def _values(items: Dataset, ranking: Ranking, metric: str, evaluation: EvaluationSettings, k: int) -> Scores:
    """The value of a metric at k for each query, higher is better, NaN without judgments; shape [queries]."""
    judged = evaluation.judged(items, ranking, k)
    values = np.full(len(items.queries), np.nan)
    sign = 1 if metric_of(metric, evaluation.metrics[metric]).higher_is_better else -1
    values[judged.queries] = sign * evaluation.metrics[metric](judged, k)
    return values


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


def sentences(chosen: Routes, values: Scores, types: Indices, settings: RoutedRetriever) -> list[str]:
    """How well types are predicted, which routes are taken, and whether that is worth it."""
    typed, judged = types >= 0, np.flatnonzero(np.isfinite(values).all(axis=0))
    right = (chosen.type == types)[typed].astype(np.float64)
    low, high = confidence_intervals(right, seed=settings.seed)
    usual, sure = (chosen.usual == types)[typed].mean(), chosen.confidence[typed].mean()
    names = tuple(settings.routes)
    taken = [f"{names[route]} by {counted(count, 'query')}" for route, count in Counter(chosen.route.tolist()).items()]
    singles = [names[route] for route in dict.fromkeys(chosen.single.tolist())]
    gain = values[chosen.route[judged], judged] - values[chosen.single[judged], judged]
    least, most = interval_of_gain(gain, settings.folds)
    verdict = "Routing shows no gain here: the single route is simpler."
    if least > EQUAL or most < -EQUAL:
        verdict = "Routing is better here." if least > 0 else "Routing is worse here: use the single route."
    return [
        f"The type of each query was predicted from the queries of the {settings.folds - 1} other folds. "
        f"{right.mean():.0%} of {counted(len(right), 'query')} were right (95 % interval {low:.0%} to {high:.0%}), "
        f"with a mean confidence of {sure:.0%}; always the most frequent type would be right for {usual:.0%}.",
        f"Routes taken: {', '.join(taken)}.",
        f"Against the best single route of the same folds ({', '.join(singles)}), routing changes "
        f"{settings.metric} by {gain.mean():+.3f} (95 % interval {least:+.3f} to {most:+.3f}, which allows for what "
        f"folds share; a sweep's tests do not), on {counted(len(gain), 'query')} that had no part in the choice. "
        f"{verdict}",
    ]
