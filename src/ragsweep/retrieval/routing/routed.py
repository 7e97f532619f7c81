"""Routes each query to the ranker that is best for queries of its kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ragsweep.core.code import name_of
from ragsweep.core.constraints import Between, Text
from ragsweep.core.digest import digest
from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.core.run_settings import Seed
from ragsweep.retrieval.checks import expect_method
from ragsweep.retrieval.encoders.embeddings import embed, encoding_ms
from ragsweep.retrieval.encoders.encoder import Embeddings
from ragsweep.retrieval.folds import same_text
from ragsweep.retrieval.lessons import dealing, lessons_for
from ragsweep.retrieval.ranking import (
    NOTHING,
    UNTIMED,
    Indices,
    Milliseconds,
    Ranker,
    Ranking,
    Search,
    sample,
    timed,
)
from ragsweep.retrieval.routing.choice import choose, predict
from ragsweep.retrieval.routing.classifiers import Classifier
from ragsweep.retrieval.routing.words import Routing, sentences
from ragsweep.retrieval.stages import check_search, rank, total_bytes, total_ms
from ragsweep.retrieval.trace import Trace, trace, within

DEPTH = 100  # routes are compared by at least so many passages, so that a lower depth changes no choice


@dataclass(frozen=True)
class RoutedRetriever:
    """Predicts the type of each query, and ranks by the route that is best for that type.

    The classifier and the choice of routes are learnt from relevance judgments, but never from those of the query that
    they are used for: queries are split into folds, and what is used for a fold is learnt from the other folds. So the
    scores are those of unseen queries. Routes are compared by their own rankings, before any later stage.

    A ranking depends on the judgments of other queries, and keys of the store have no judgments. So this class has no
    `store`, and its rankings are never kept; those of its routes are. A run's digest has the queries, their types, the
    judgments, and all of the settings here, so `tracking.resume` and `reproduce` never mix runs of other judgments.

    The folds' routes are chosen from mostly the same queries, so the queries' values depend on each other. Tests of a
    sweep take them for independent: in simulations, they find a difference from a fixed retriever, where there is none,
    9 % of the time instead of 5 %. The section of the report has an interval that allows for it.

    A query costs its encoding, its classification and the route that it takes. An encoder or an index that several of
    these share counts each time.

    Attributes:
        routes: Rankers, by names of your choice. Of equal ones, the first is taken.
        classifier: Learns to tell the types apart.
        metric: The name of the metric by which routes are compared.
        folds: How many folds the queries are split into.
        least: A type with fewer judged queries in the other folds takes the route that is best for all of them.
        confidence: A query whose type is predicted with less confidence takes that route, too.
        seed: Of the split into folds.
    """

    learns_from_judgments: ClassVar[bool] = True

    routes: Mapping[str, Ranker]
    classifier: Classifier
    metric: Text = "ndcg"
    folds: Annotated[int, Between(2, 100)] = 5
    least: Annotated[int, Between(1)] = 5
    confidence: Annotated[float, Between(0, 1)] = 0.0
    seed: Seed = 0

    def __post_init__(self) -> None:
        if not self.routes:
            raise ConfigError("routes: found none, expected at least one")
        for name, ranker in self.routes.items():
            expect_method(ranker, "rank", f"routes.{name}")
        expect_method(self.classifier, "learn", "classifier")
        expect_method(self.classifier.encoder, "encode", "classifier.encoder")

    def check(self, search: Search) -> None:
        """Refuse what cannot be learnt from, and let each route refuse what it cannot search.

        Raises:
            ConfigError: There are no judgments, fewer than two types of queries, or fewer queries than folds.
        """
        lessons = lessons_for(self, search)
        types = lessons.types
        if len(types) < 2:
            found = f"{len(types) or 'no'} query type{'s' if len(types) != 1 else ''}"
            raise ConfigError(
                f"retriever=routed: the dataset has {found}, expected at least two; use one of the routes"
            )
        texts = len({*same_text(search.queries)[_joined(lessons.type_of, lessons.fold) >= 0].tolist()})
        if texts < self.folds:
            found = f"found {self.folds} for {texts} different queries with a type"
            raise ConfigError(f"retriever.folds: {found}, expected at most one for each")
        with dealing(None):  # a route that learnt from judgments would know those of the query that it ranks
            for ranker in self.routes.values():
                check_search(ranker, search)

    def rank(self, search: Search, depth: int) -> Ranking:
        """Rank the passages for every query by its route, at most `depth` of them."""
        rankings = self._rankings(search, max(depth, DEPTH))
        routing = self._routing(search, rankings)
        recalls = [ranking.recall_of_exact for ranking in rankings]
        exact = np.ones(len(search.queries))  # the recall of a route that searches exactly
        recall = _taken([recall if len(recall) else exact for recall in recalls], routing.route)
        return Ranking(
            _taken([_padded(ranking.passages, depth, NOTHING) for ranking in rankings], routing.route),
            _taken([_padded(ranking.scores, depth, -np.inf) for ranking in rankings], routing.route),
            self._latency_ms(search, rankings, routing),
            recall if any(map(len, recalls)) else np.empty(0),
            total_bytes(rankings),
        )

    def details(self, search: Search) -> Mapping[str, Sequence[str]]:
        """The predicted type of each query, the confidence in it, and the route."""
        routing = self._routing(search, self._rankings(search))
        return {
            "type_predicted": [routing.types[each] for each in routing.predicted.types],
            "type_confidence": [f"{each:.3f}" for each in routing.predicted.confidence],
            "route": [routing.names[each] for each in routing.route],
        }

    def sections(self, search: Search) -> Mapping[str, Sequence[str]]:
        """How well types are predicted, and whether routing is worth it."""
        return {"Routing": sentences(self._routing(search, self._rankings(search)))}

    def trace(self, search: Search, query: int) -> Trace:
        """How a query got its ranking."""
        routing = self._routing(search, self._rankings(search))
        name = routing.names[routing.route[query]]
        predicted = routing.types[routing.predicted.types[query]]
        sure = f"predicts {predicted} with confidence {routing.predicted.confidence[query]:.2f}"
        with dealing(None):
            inner = trace(self.routes[name], search, query)
        stages = {"classifier": f"{name_of(self.classifier)}, {sure}"}
        return replace(inner, stages=stages | within(f"routes.{name}", inner.stages, self.routes[name]))

    @cached_property
    def _ranked(self) -> dict[str, list[Ranking]]:
        """The rankings of the routes, by the digest of what was searched."""
        return {}

    def _rankings(self, search: Search, depth: int | None = None) -> list[Ranking]:
        """What each route ranks for all queries, without sight of any judgments; by default what it ranked last."""
        key = digest([search.digest, search.names_digest])
        if search.names_digest is not None and depth is None and key in self._ranked:
            return self._ranked[key]
        with dealing(None):
            found = [rank(ranker, search, depth or DEPTH) for ranker in self.routes.values()]
        self._ranked[key] = found
        return found

    def _embedded(self, search: Search) -> Embeddings:
        return embed(self.classifier.encoder, self.classifier.store, search.queries, "query")

    def _routing(self, search: Search, rankings: Sequence[Ranking]) -> Routing:
        lessons = lessons_for(self, search)
        fold, types = lessons.fold, lessons.types
        values = np.stack([lessons.values(ranking, self.metric) for ranking in rankings], axis=1)
        if not np.isfinite(values).any():
            raise RetrieverError("retriever=routed: no query has a relevance judgment to learn from")
        predicted = predict(self.classifier, self._embedded(search), lessons.type_of, fold)
        choice = choose(values, lessons.type_of, fold, self.least)
        sure = np.where(predicted.confidence >= self.confidence, predicted.types, -1)
        route = choice.routes(sure, fold)
        names = tuple(self.routes)
        of_query, of_route = _joined(lessons.type_of, fold), _joined(values, fold)
        return Routing(names, types, of_query, fold, predicted, choice, route, of_route, self.metric, self.seed)

    def _latency_ms(self, search: Search, rankings: Sequence[Ranking], routing: Routing) -> Milliseconds:
        """What a query costs: encoding it, classifying it, and its route; empty if a route was not timed."""
        rows = sample(len(search.queries))
        if {len(ranking.latency_ms) for ranking in rankings} != {len(rows)}:
            return UNTIMED
        embeddings, classify = self._embedded(search), routing.predicted.classify
        ms = timed(lambda row: classify[routing.fold[row]](embeddings[[row]]), rows.tolist())
        route_ms = _taken([ranking.latency_ms for ranking in rankings], routing.route[rows])
        encoding = encoding_ms(self.classifier.encoder, self.classifier.store, search.queries)
        return total_ms([encoding, ms, route_ms])


def _joined(of_folds: npt.NDArray[Any], fold: Indices) -> npt.NDArray[Any]:
    """What is known of every query when another fold is ranked for: for the report, after everything is ranked.

    Args:
        of_folds: Shape [folds, ..., queries].
        fold: Of each query, shape [queries].
    """
    known: npt.NDArray[Any] = np.moveaxis(of_folds, 0, -1)[..., np.arange(len(fold)), (fold + 1) % len(of_folds)]
    return known


def _padded(rows: npt.NDArray[Any], width: int, empty: float) -> npt.NDArray[Any]:
    """Rows of this width, cut or filled up."""
    return np.pad(rows[:, :width], ((0, 0), (0, max(0, width - rows.shape[1]))), constant_values=empty)


def _taken(of_routes: Sequence[npt.NDArray[Any]], route: Indices) -> npt.NDArray[Any]:
    """Of arrays with a row per query, one array for each route: the row of the route that the query takes."""
    taken: npt.NDArray[Any] = np.stack(of_routes)[route, np.arange(len(route))]
    return taken
