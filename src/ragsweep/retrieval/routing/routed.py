"""Routes each query to the ranker that is best for queries of its kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from ragsweep.config.run_settings import Seed
from ragsweep.core.arrays import Indices, Milliseconds
from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between, Text
from ragsweep.core.timing import UNTIMED, sample, timed
from ragsweep.models.encoders.embeddings import embed, encoding_ms
from ragsweep.models.encoders.encoder import Embeddings
from ragsweep.models.encoders.similarity import of_length_1
from ragsweep.retrieval.folds import numbered
from ragsweep.retrieval.judgments import rows_of, taken
from ragsweep.retrieval.kinds import Ranker, Trace, within
from ragsweep.retrieval.lessons import LearnsFromJudgments, Lesson
from ragsweep.retrieval.ranking import Ranking, Search
from ragsweep.retrieval.ranking_checks import expect_method, expect_ranker
from ragsweep.retrieval.routing.classifiers import Classifier
from ragsweep.retrieval.routing.route_choice import Choice, Predictions, choose, predict
from ragsweep.retrieval.stages import total_bytes, total_ms
from ragsweep.store.code import name_of


@dataclass(frozen=True)
class RoutedRetriever(LearnsFromJudgments):
    """Predicts the type of each query, and ranks by the route that is best for that type.

    It learns from judgments, as `LearnsFromJudgments` says: the classifier and the choice of routes are learnt from the
    types and judgments of other queries, and the task deals those out. So the scores are those of unseen queries.
    Routes are compared by their own rankings, before any later stage.

    A ranking depends on the judgments of other queries, so it is never kept; those of the routes are. A run's digest
    has the queries, their types, the judgments, and all of the settings here, so `tracking.resume` and `reproduce`
    never mix runs of other judgments.

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
            expect_ranker(ranker, f"routes.{name}")
        expect_method(self.classifier, "learn", "classifier")
        expect_method(self.classifier.encoder, "encode", "classifier.encoder")

    def parts(self) -> Mapping[str, Ranker]:
        """The routes."""
        return {f"routes.{name}": ranker for name, ranker in self.routes.items()}

    def check_lesson(self, lesson: Lesson) -> None:
        """Raise `ConfigError` for fewer than two types of queries."""
        if lesson.number_of_types < 2:
            found = f"{lesson.number_of_types or 'no'} query type{'s' if lesson.number_of_types != 1 else ''}"
            raise ConfigError(
                f"retriever=routed: the dataset has {found}, expected at least two; use one of the routes"
            )

    def learn_from_judgments(self, lesson: Lesson) -> RoutedQueries:
        """Learn to tell types apart, and which route is best for each."""
        queries = len(lesson.search.queries)
        rankings = [lesson.rank(ranker, lesson.depth) for ranker in self.routes.values()]
        types = np.full(queries, -1)
        names, types[lesson.learn_from] = numbered(lesson.types)
        values = np.full((len(rankings), queries), np.nan)
        values[:, lesson.learn_from] = [lesson.values(ranking, self.metric) for ranking in rankings]
        encoder = self.classifier.encoder
        embeddings = of_length_1(embed(encoder, self.classifier.store, lesson.search.queries, "query"), encoder)
        predicted = predict(self.classifier, embeddings, types, lesson.rank_for)
        choice = choose(values, types, len(names), self.least)
        route = np.full(queries, choice.single)
        sure = np.where(predicted.confidence >= self.confidence, predicted.types, -1)
        route[lesson.rank_for] = choice.routes(sure)
        return RoutedQueries(self, rankings, embeddings, lesson.rank_for, names, predicted, choice, route)


@dataclass(frozen=True, eq=False)
class RoutedQueries(Ranker):
    """Ranks the queries of a fold by their routes.

    Attributes:
        settings: What has learnt.
        rankings: Of all queries by each route.
        embeddings: Of all queries.
        queries: Those of the fold.
        types: Names of the types that were learnt.
        predicted: The types of the queries of the fold.
        choice: The routes of the types.
        route: The route of each query, shape [all queries].
    """

    settings: RoutedRetriever
    rankings: Sequence[Ranking]
    embeddings: Embeddings
    queries: Indices
    types: tuple[str, ...]
    predicted: Predictions
    choice: Choice
    route: Indices

    def rank(self, search: Search, depth: int) -> Ranking:
        """Rank the passages for every query by its route, at most `depth` of them."""
        ranking = rows_of(self.rankings, self.route, depth)
        return replace(ranking, latency_ms=self._latency_ms(search), index_bytes=total_bytes(self.rankings))

    def details(self, search: Search) -> Mapping[str, Sequence[str]]:
        """The predicted type of each query of the fold, the confidence in it, and the route."""
        columns = {name: [""] * len(search.queries) for name in ("type_predicted", "type_confidence", "route")}
        for query, kind, sure in zip(self.queries, self.predicted.types, self.predicted.confidence, strict=True):
            row = (self.types[kind], f"{sure:.3f}", self._name(query))
            for column, text in zip(columns.values(), row, strict=True):
                column[query] = text
        return columns

    def trace(self, search: Search, query: int) -> Trace:
        """How a query of the fold got its ranking."""
        name, [place] = self._name(query), np.flatnonzero(self.queries == query)
        kind, sure = self.types[self.predicted.types[place]], self.predicted.confidence[place]
        ranker, classifier = self.settings.routes[name], name_of(self.settings.classifier)
        inner = ranker.trace(search, query)
        stages = {"classifier": f"{classifier}, predicts {kind} with confidence {sure:.2f}"}
        return replace(inner, stages=stages | within(f"routes.{name}", inner.stages, ranker))

    def _name(self, query: int) -> str:
        """The name of the route of a query."""
        return tuple(self.settings.routes)[int(self.route[query])]

    def _latency_ms(self, search: Search) -> Milliseconds:
        """What a query costs: encoding it, classifying it, and its route; empty if a route was not timed."""
        rows, classifier = sample(len(search.queries)), self.settings.classifier
        if {len(ranking.latency_ms) for ranking in self.rankings} != {len(rows)}:
            return UNTIMED
        ms = timed(lambda row: self.predicted.classify(self.embeddings[[row]]), len(search.queries))
        route_ms = taken([ranking.latency_ms for ranking in self.rankings], self.route[rows])
        return total_ms([encoding_ms(classifier.encoder, classifier.store, search.queries), ms, route_ms])
