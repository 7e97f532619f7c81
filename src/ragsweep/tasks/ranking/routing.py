"""Learns which route each query takes, as a function of arrays: what decides for a query is learnt from other folds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from ragsweep.core.arrays import Indices, Scores
from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import counted
from ragsweep.core.timing import timed
from ragsweep.datasets import Dataset
from ragsweep.models.encoders.embeddings import embed, encoding_ms
from ragsweep.models.encoders.encoder import Embeddings
from ragsweep.retrieval import Ranking, RoutedRetriever
from ragsweep.retrieval.routed import RoutedQueries
from ragsweep.statistics.intervals import EQUAL, first_best
from ragsweep.tasks.metric import metric_of
from ragsweep.tasks.ranking.query_types import (
    Learnt,
    PredictedTypes,
    accuracy_of_types,
    classifier_of,
    kinds_of,
    learning_section,
    predicted_types,
    types_of,
)
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings

ROUTING = "Routing"  # a heading
Z = 1.959964  # standard errors on each side of a 95 % interval


class Routes(NamedTuple):
    """What was chosen and predicted for each query.

    Attributes:
        route: The route that it takes, shape [queries].
        single: The route that is best over all types, in the other folds, shape [queries].
        predicted: Its type.
    """

    route: Indices
    single: Indices
    predicted: PredictedTypes


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
    predicted = predicted_types(
        embeddings, types, kinds, folds=settings.folds, c=settings.classifier.c, seed=settings.seed
    )
    route, single = chosen_of(values, types, predicted, settings.least, settings.confidence)
    return Routes(route, single, predicted)


def chosen_of(
    values: Scores, types: Indices, predicted: PredictedTypes, least: int, confidence: float = 0
) -> tuple[Indices, Indices]:
    """What is best for each query by its predicted type, and what is best over all types, by other folds.

    Args:
        values: As of `routes_of`.
        types: The type of each query, -1 for one without, shape [queries].
        predicted: What was predicted for each query.
        least: As of `best_routes`.
        confidence: A query whose type is predicted with less of it gets what is best over all types.

    Returns:
        The positions in the first dimension of `values`, each of shape [queries].
    """
    route, single = np.zeros(len(types), np.int64), np.zeros(len(types), np.int64)
    for fold in np.unique(predicted.fold):
        learn, held = np.flatnonzero(predicted.fold != fold), np.flatnonzero(predicted.fold == fold)
        best, of_type = best_routes(values[:, learn], types[learn], int(types.max()) + 1, least)
        single[held] = best
        sure = predicted.confidence[held] >= confidence
        route[held] = np.where(sure, of_type[predicted.type[held]], best)
    return route, single


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


def check_routing(settings: RoutedRetriever, items: Dataset, evaluation: EvaluationSettings) -> None:
    """Raise `ConfigError` for queries that cannot be routed."""
    names, types = types_of(items)
    if len(names) < 2:
        there_is = f"{len(names) or 'no'} query type{'s' if len(names) != 1 else ''}"
        raise ConfigError(f"retriever=routed: the dataset has {there_is}, expected at least two; use one of the routes")
    kinds = len({*kinds_of(items.queries)[types >= 0].tolist()})
    if kinds < settings.folds:
        problem = f"found {settings.folds} for {kinds} different queries with a type"
        raise ConfigError(f"retriever.folds: {problem}, expected at most one for each")
    check_metric("retriever.metric", settings.metric, evaluation)


def check_metric(setting: str, name: str, evaluation: EvaluationSettings) -> None:
    """Raise `ConfigError` if no metric of this name is measured."""
    if name not in evaluation.metrics:
        there_is = ", ".join(evaluation.metrics)
        raise ConfigError(f"{setting}: no such metric is measured: {name} (there is {there_is})")


def routed(
    settings: RoutedRetriever, items: Dataset, rankings: Sequence[Ranking], evaluation: EvaluationSettings, k: int
) -> Learnt:
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
    values = np.concatenate([values_at(items, ranking, settings.metric, evaluation, [k]) for ranking in rankings])
    chosen = routes_of(values, types, embeddings, kinds_of(items.queries), settings)
    is_typed = types >= 0
    classify = classifier_of(embeddings[is_typed], types[is_typed], classifier.c)  # to time it, and for nothing else
    classifying_ms = timed(lambda row: classify(embeddings[[row]]), len(texts))
    latency_ms = encoding_ms(classifier.encoder, classifier.store, texts) + classifying_ms
    routes = tuple(settings.routes)
    details = {
        "type_predicted": [names[kind] for kind in chosen.predicted.type],
        "type_confidence": [f"{confidence:.3f}" for confidence in chosen.predicted.confidence],
        "route": [routes[route] for route in chosen.route],
    }
    of_routes = sentences(chosen, values, names, types, settings)
    learning = learning_section("retriever (RoutedRetriever)", "What ranks for a query", settings.folds)
    ranker = RoutedQueries(settings, chosen.route, latency_ms)
    return Learnt("retriever", ranker, items, details, {ROUTING: of_routes} | learning, of_routes)


def values_at(
    items: Dataset, ranking: Ranking, metric: str, evaluation: EvaluationSettings, cutoffs: Sequence[int]
) -> Scores:
    """A metric of each query at cutoffs, higher is better, NaN without judgments; shape [cutoffs, queries]."""
    judged = evaluation.judged(items, ranking, max(cutoffs))
    values = np.full((len(cutoffs), len(items.queries)), np.nan)
    sign = 1 if metric_of(metric, evaluation.metrics[metric]).higher_is_better else -1
    values[:, judged.queries] = [sign * evaluation.metrics[metric](judged, cutoff) for cutoff in cutoffs]
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


def gain_of(chosen: Indices, single: Indices, values: Scores, folds: int) -> tuple[str, int]:
    """What the choice by type gains over the best single one, in words; and whether that is more (1), less (-1) or 0.

    Args:
        chosen: The position of what was chosen for each query in the first dimension of `values`, shape [queries].
        single: That of what is best over all types, in the other folds.
        values: As of `routes_of`.
        folds: How many there were.
    """
    judged = np.flatnonzero(np.isfinite(values).all(axis=0))
    gain = values[chosen[judged], judged] - values[single[judged], judged]
    least, most = interval_of_gain(gain, folds)
    text = (
        f"{gain.mean():+.3f} (95 % interval {least:+.3f} to {most:+.3f}, which allows for what folds share; a sweep's "
        f"tests do not), on {counted(len(gain), 'query')} that had no part in the choice"
    )
    return text, int(least > EQUAL) - int(most < -EQUAL)


def sentences(
    chosen: Routes, values: Scores, types_named: Sequence[str], types: Indices, settings: RoutedRetriever
) -> list[str]:
    """How well types are predicted, which routes are taken, and whether that is worth it."""
    names = tuple(settings.routes)
    taken = [f"{names[route]} by {counted(count, 'query')}" for route, count in Counter(chosen.route.tolist()).items()]
    singles = [names[route] for route in dict.fromkeys(chosen.single.tolist())]
    gain, direction = gain_of(chosen.route, chosen.single, values, settings.folds)
    verdict = (
        "shows no gain here: the single route is simpler",
        "is better here",
        "is worse here: use the single route",
    )
    return [
        *accuracy_of_types(types_named, types, chosen.predicted, settings.folds, settings.seed),
        f"Routes taken: {', '.join(taken)}.",
        f"Against the best single route of the same folds ({', '.join(singles)}), routing changes {settings.metric} by "
        f"{gain}. Routing {verdict[direction]}.",
    ]
