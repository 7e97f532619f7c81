"""Routing: each query is ranked by the ranker that is best for queries of its type, which a classifier predicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ragsweep.config.run_settings import Seed
from ragsweep.core.arrays import NOTHING, Indices, Milliseconds
from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between, Text
from ragsweep.core.timing import UNTIMED
from ragsweep.models.encoders.encoder import Encoder
from ragsweep.retrieval.kinds import Ranker, Trace, within
from ragsweep.retrieval.ranking import Ranking, Search, TextsRead, in_stage
from ragsweep.retrieval.ranking_checks import check_encoder, checked_ranker
from ragsweep.retrieval.stages import rank, total_bytes
from ragsweep.store.stage_store import NO_STORE, Store


@dataclass(frozen=True)
class LogisticClassifier:
    """Predicts the type of a query by multinomial logistic regression on its embedding, that of scikit-learn.

    Attributes:
        encoder: Gives the embeddings of the queries.
        store: Keeps them.
        c: The inverse of the strength of the L2 penalty. A small one gives probabilities that are nearly equal.
    """

    libraries: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    encoder: Encoder
    store: Store = NO_STORE
    c: Annotated[float, Between(1e-6, 1e6)] = 10.0

    def __post_init__(self) -> None:
        check_encoder(self.encoder)


@dataclass(frozen=True)
class RoutedRetriever(Ranker):
    """Predicts the type of each query, and ranks by the route that is best for that type.

    Types and routes are learnt from the types and judgments of other queries. The task does that, as no retriever sees
    any: it splits the queries into folds, and what ranks for a fold was learnt on the others. Routes are compared by
    their own rankings, before any later stage. A run's digest has the queries, their types and the judgments.

    The folds' routes are chosen from mostly the same queries, so the queries' values depend on each other. Tests of a
    sweep take them for independent: in simulations, they find a difference from a fixed retriever, where there is none,
    9 % of the time instead of 5 %. The section of the report has an interval that allows for it.

    A query costs its encoding, its classification and the route that it takes. An encoder or an index that several
    routes share counts each time.

    Attributes:
        routes: Rankers, by names of your choice. Of equal ones, the first is taken.
        classifier: Learns to tell the types apart.
        metric: The name of the metric by which routes are compared.
        folds: How many folds the queries are split into.
        least: A type with fewer judged queries in the other folds takes the route that is best for all of them.
        confidence: A query whose type is predicted with less confidence takes that route, too.
        seed: Of the split into folds.
    """

    learns: ClassVar[bool] = True

    routes: Mapping[str, Ranker]
    classifier: LogisticClassifier
    metric: Text = "ndcg"
    folds: Annotated[int, Between(2, 100)] = 5
    least: Annotated[int, Between(1)] = 5
    confidence: Annotated[float, Between(0, 1)] = 0.0
    seed: Seed = 0

    def __post_init__(self) -> None:
        if not self.routes:
            raise ConfigError("routes: found none, expected at least one")
        for name, ranker in self.routes.items():
            checked_ranker(ranker, f"routes.{name}")

    def texts_of_parts(self, texts: TextsRead) -> Iterator[tuple[object, TextsRead]]:
        """The routes get all, the classifier the queries."""
        yield self.routes, texts
        yield self.classifier, texts._replace(passages=texts.passages[:0])

    def parts(self) -> Mapping[str, Ranker]:
        """The routes."""
        return {f"routes.{name}": ranker for name, ranker in self.routes.items()}

    def check(self, search: Search) -> None:
        """Raise `ConfigError`: where this is asked, nothing has been learnt."""
        raise ConfigError(
            "retriever=routed: learns from the judgments and types of other queries, which are not known here; it is "
            "the retriever of task=ranking, and no part of another one"
        )

    def rank(self, search: Search, depth: int) -> Ranking:
        """Raise `ConfigError`, as `check` does."""
        self.check(search)
        raise AssertionError


@dataclass(frozen=True, eq=False)
class RoutedQueries(Ranker):
    """Ranks each query of a dataset by the route that was chosen for it.

    Attributes:
        settings: The routes and the classifier.
        route: The route of each query, shape [queries].
        choosing_ms: What encoding and classifying each query costs on its own, shape [queries]; empty if not timed.
    """

    settings: RoutedRetriever
    route: Indices
    choosing_ms: Milliseconds

    def parts(self) -> Mapping[str, Ranker]:
        """The routes."""
        return self.settings.parts()

    def rank(self, search: Search, depth: int) -> Ranking:
        """Rank the passages for every query by its route, at most `depth` of them."""
        rankings = [rank(ranker, search, depth) for ranker in self.settings.routes.values()]
        times = [ranking.by_stage for ranking in rankings]
        recalls = [ranking.recall_of_exact for ranking in rankings]
        exact = np.ones(len(self.route))  # the recall of a ranker that searches exactly
        ranking = Ranking(
            _taken([_padded(ranking.passages, depth, NOTHING) for ranking in rankings], self.route),
            _taken([_padded(ranking.scores, depth, -np.inf) for ranking in rankings], self.route),
            recall_of_exact=_taken([recall if len(recall) else exact for recall in recalls], self.route)
            if any(map(len, recalls))
            else np.empty(0),
            index_bytes=total_bytes(rankings),
        )
        taken = _taken([of_stages.T for of_stages in times], self.route).T if all(map(len, times)) else UNTIMED
        return ranking.costing(in_stage("route", self.choosing_ms), taken)

    def trace(self, search: Search, query: int) -> Trace:
        """How a query got its ranking."""
        name = tuple(self.settings.routes)[int(self.route[query])]
        inner = self.settings.routes[name].trace(search, query)
        return replace(inner, stages=within(f"routes.{name}", inner.stages, self.settings.routes[name]))


def _padded(rows: npt.NDArray[Any], width: int, empty: float) -> npt.NDArray[Any]:
    """Rows of this width, filled up."""
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=empty)


def _taken(arrays: Sequence[npt.NDArray[Any]], source: Indices) -> npt.NDArray[Any]:
    """One array whose row i is row i of the array with the number `source[i]`."""
    rows: npt.NDArray[Any] = np.stack(arrays)[source, np.arange(len(source))]
    return rows
