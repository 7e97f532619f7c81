"""Routing: what decides for a query is learnt from the queries of other folds, and what is said of it is true."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from letters import LetterEncoder

from ragsweep.core.errors import ConfigError
from ragsweep.datasets import Collection, DatasetFormat, Document, Judgment, PageChunker, Query
from ragsweep.evaluation import ndcg, recall
from ragsweep.retrieval import (
    DenseRetriever,
    FusedRetriever,
    LogisticClassifier,
    Ranker,
    RoutedRetriever,
    SparseRetriever,
    rank,
)
from ragsweep.retrieval.ranking import STAGES
from ragsweep.retrieval.routed import RoutedQueries
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.ranking.query_types import kinds_of
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.ranking_task import RankingTask
from ragsweep.tasks.ranking.routing import best_routes, interval_of_gain, routes_of
from ragsweep.tasks.search import search_of
from ragsweep.testing import RankerContract
from ragsweep.testing.component import SEARCH
from ragsweep.testing.retrieval import StageContract

DENSE, SPARSE = DenseRetriever(LetterEncoder(), NO_STORE), SparseRetriever(NO_STORE)
ROUTES = {"dense": DENSE, "sparse": SPARSE, "both": FusedRetriever({"dense": DENSE, "sparse": SPARSE})}
WORDS = "iron tablet tea malaria test fever child worm blood zinc water milk".split()


def routed(**options):
    return RoutedRetriever(**{"routes": ROUTES, "classifier": LogisticClassifier(LetterEncoder()), **options})


class Small(DatasetFormat):
    """Documents of random words; queries with a word that mostly tells their type; what is relevant is chance."""

    def __init__(self, seed=0, queries=30, typed=lambda row: True, judged=lambda row: True):
        rng = np.random.default_rng(seed)
        documents = tuple(
            Document.from_pages(f"d{row}", [("1", f"d{row}", " ".join(rng.choice(WORDS, 6)))]) for row in range(25)
        )
        types = rng.integers(0, 3, queries)
        told = np.where(rng.random(queries) < 0.3, rng.integers(0, 3, queries), types)
        asked = tuple(
            Query(
                f"q{row}",
                f"{'xyz'[told[row]] * int(rng.integers(3, 9))} {' '.join(rng.choice(WORDS, 2))}",
                f"type {types[row]}" if typed(row) else None,
            )
            for row in range(queries)
        )
        relevant = rng.integers(0, 25, queries)
        judgments = tuple(Judgment(f"q{row}", f"d{relevant[row]}", 1) for row in range(queries) if judged(row))
        self.collection = Collection("small", "document", documents, asked, judgments)

    def load(self):
        return self.collection


def task_of(retriever, dataset=None, **options):
    evaluation = EvaluationSettings("after_cutoff", 1, "linear", 50, {"ndcg": ndcg, "recall": recall})
    return RankingTask(dataset or Small(), PageChunker(), retriever, evaluation, 10, 0, NO_STORE, **options)


def measured(retriever, dataset=None, **options):
    made = task_of(retriever, dataset, **options)
    return made.measure(made.load())


class TestRoutedRetriever(StageContract):
    component = RoutedRetriever
    settings: ClassVar = {"routes": ROUTES, "classifier": LogisticClassifier(LetterEncoder())}


class TestLogisticClassifier(StageContract):
    component = LogisticClassifier
    settings: ClassVar = {"encoder": LetterEncoder()}


class TestRoutedQueries(RankerContract):
    """Of routes that are chosen already."""

    component = RoutedQueries
    settings: ClassVar = {"settings": routed(), "route": np.arange(6) % 3, "choosing_ms": np.zeros(6)}

    def test_a_query_is_ranked_the_same_beside_any_others(self):
        """Its route is that of its place."""

    def test_every_setting_has_an_annotation(self):
        """It is no setting of a configuration."""

    def test_what_it_computed_can_be_found_again(self):
        """It is never kept."""


def test_every_query_is_ranked_by_its_route():
    made = TestRoutedQueries().make(NO_STORE)
    ranking = made.rank(SEARCH, 10)
    for query, name in enumerate(["dense", "sparse", "both"] * 2):
        expected = rank(ROUTES[name], SEARCH, 10).row(query)
        width = expected.passages.shape[1]
        assert ranking.passages[query, :width].tolist() == expected.passages[0].tolist()
        assert (ranking.passages[query, width:] == -1).all()


def test_what_is_measured_is_ranked_by_the_routes_of_the_table():
    table = measured(routed()).per_item
    assert {*table["type_predicted"]} <= {"type 0", "type 1", "type 2"}
    assert all(1 / 3 - 0.001 <= float(each) <= 1 for each in table["type_confidence"])
    values = {name: measured(ranker).per_item["ndcg"] for name, ranker in ROUTES.items()}
    assert len({*table["route"]}) > 1
    assert [values[route][row] for row, route in enumerate(table["route"])] == pytest.approx(table["ndcg"].tolist())


# What decides


def arrays(seed=0, queries=60, routes=3):
    """Values of routes with ties and unjudged queries, types with untyped queries, and embeddings that tell them."""
    rng = np.random.default_rng(seed)
    values = rng.choice([0.0, 0.25, 0.5, 1.0], size=(routes, queries))
    values[:, rng.random(queries) < 0.1] = np.nan
    types = rng.integers(-1, 3, queries)
    embeddings = (np.eye(4)[types + 1] + rng.normal(size=(queries, 4))).astype(np.float32)
    return values, types, embeddings, np.arange(queries)


def columns_of(routes):
    """All that was chosen and predicted, an array each."""
    return [routes.route, routes.single, *routes.predicted]


def folds_of(types, embeddings, kinds, made):
    """The fold of each query, by what it has in common with the others: the single route is learnt once a fold."""
    from sklearn.model_selection import StratifiedGroupKFold

    fold = np.empty(len(types), dtype=int)
    split = StratifiedGroupKFold(made.folds, shuffle=True, random_state=made.seed).split(embeddings, types, kinds)
    for number, (_, held) in enumerate(split):
        fold[held] = number
    return fold


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 30), st.integers(0, 4), st.sampled_from(["none", "reversed", "other"]))
def test_judgments_of_a_folds_queries_do_not_change_their_routes(seed, held, change):
    values, types, embeddings, kinds = arrays(seed)
    before = routes_of(values, types, embeddings, kinds, routed())
    rows = folds_of(types, embeddings, kinds, routed()) == held
    changed = {"none": np.nan, "reversed": values[:, rows][:, ::-1], "other": 1 - values[:, rows]}[change]
    others = values.copy()
    others[:, rows] = changed
    after = routes_of(others, types, embeddings, kinds, routed())
    for one, other in zip(columns_of(before), columns_of(after), strict=True):
        assert np.array_equal(one[rows], other[rows])


def test_the_judgments_of_queries_change_the_routes_of_others():
    """So the test above does not hold for lack of any effect."""
    values, *others = arrays()
    changed = np.where(np.arange(60) < 20, 1 - values, values)
    assert not np.array_equal(routes_of(values, *others, routed()).route, routes_of(changed, *others, routed()).route)


def test_the_judgments_of_a_query_do_not_change_its_ranking():
    made, relevant = task_of(routed()), ["d3", "d7"]
    before = made.measure(items := made.load()).per_item
    for row in range(0, 30, 7):
        for unit in relevant:
            qrels = items.qrels
            unit_of = np.where(qrels.query == row, items.units.index(unit), qrels.unit)
            after = made.measure(replace(items, qrels=replace(qrels, unit=unit_of))).per_item
            for column in ("retrieved", "route", "type_predicted", "type_confidence"):
                assert after[column][row] == before[column][row]


def test_queries_of_a_text_or_a_group_share_a_fold_over_any_number_of_steps():
    texts = ["one", "two", "ONE ", "three", "two", "four"]
    queries = [
        Query(str(row), text, None, group=group) for row, (text, group) in enumerate(zip(texts, "abbbcd", strict=True))
    ]
    kinds = kinds_of(queries).tolist()
    assert kinds == [kinds[0]] * 5 + [kinds[5]]
    assert kinds[5] != kinds[0]


def test_a_query_is_classified_by_what_was_learnt_from_other_folds():
    """The types are chance, so only a classifier that had seen a query would be right about it."""
    values, types, _, kinds = arrays(queries=400)
    found = routes_of(
        values, types, np.random.default_rng(1).normal(size=(400, 300)).astype(np.float32), kinds, routed()
    )
    assert abs((found.predicted.type == types)[types >= 0].mean() - 1 / 3) < 0.1


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("least", [1, 7])
def test_the_choice_is_that_of_a_loop(seed, least):
    values, types, *_ = arrays(seed, 40)
    single, of_type = best_routes(values, types, 3, least)

    def best(queries):
        means = [np.mean([row[query] for query in queries]) for row in values]
        return next(route for route, mean in enumerate(means) if mean > max(means) - 1e-9)

    judged = [query for query in range(40) if not np.isnan(values[0, query])]
    assert single == best(judged)
    for kind in range(3):
        mine = [query for query in judged if types[query] == kind]
        assert of_type[kind] == (best(mine) if len(mine) >= least else single)


@pytest.mark.parametrize(
    "setting",
    [{"folds": 2}, {"least": 30}, {"confidence": 0.9}, {"seed": 1}, {"classifier": 1e-4}],
    ids=lambda setting: next(iter(setting)),
)
def test_every_setting_changes_what_is_chosen(setting):
    if "classifier" in setting:
        setting = {"classifier": LogisticClassifier(LetterEncoder(), c=setting["classifier"])}
    before, after = (routes_of(*arrays(3, 120), routed(**options)) for options in ({}, setting))
    pairs = zip(columns_of(before), columns_of(after), strict=True)
    assert any(not np.array_equal(one, other) for one, other in pairs)


# What is said


def test_the_report_says_how_well_types_are_predicted_and_what_routing_gains():
    found = measured(routed())
    text, table = " ".join(found.sections["Routing"]), found.per_item
    right = (table["query_type"] == table["type_predicted"]).mean()
    assert f" {right:.0%} of 30 queries were right (95 % interval " in text
    assert all(f"{name} by {count} quer" in text for name, count in table["route"].value_counts().items())
    assert "routing changes ndcg by " in text
    assert found.facts["learns_from_judgments"] == ["retriever"]
    assert "learns from the relevance judgments" in found.sections["Learning from judgments"][0]
    assert [*found.summary] == [*found.sections["Routing"]]


def test_an_explanation_names_the_type_and_the_stages_of_the_route():
    made = task_of(routed())
    items = made.load()
    table = made.measure(items).per_item
    query = table["query_id"][table["route"].tolist().index("both")]
    learnt = made._routed(items, made.retriever)
    stages = learnt.ranker.trace(search_of(items), int(query[1:])).stages
    assert stages == {
        "routes.both.dense": "DenseRetriever",
        "routes.both.sparse": "SparseRetriever",
        "routes.both.fusion": "WeightedSum",
    }


def test_a_query_costs_its_encoding_and_the_route_that_it_takes():
    class Timed(Ranker):
        def __init__(self, ms):
            self.ms = ms

        def rank(self, search, depth):
            return replace(SPARSE.rank(search, depth), latency_ms=np.full(len(search.queries), self.ms))

    def latency(**routes):
        settings = routed(routes=routes)
        return RoutedQueries(settings, np.arange(6) % 2, np.full(6, 7.0)).rank(SEARCH, 5)

    ranking = latency(slow=Timed(5000.0), fast=Timed(1000.0))
    assert ranking.latency_ms.tolist() == [5007.0, 1007.0] * 3
    by_stage = dict(zip(STAGES, ranking.by_stage.tolist(), strict=True))
    assert (by_stage["route"], by_stage["search"]) == ([7.0] * 6, [5000.0, 1000.0] * 3)


@pytest.mark.parametrize(
    ("typed", "options", "message"),
    [
        (lambda row: False, {}, "the dataset has no query types, expected at least two"),
        (lambda row: row < 5, {"folds": 7}, "folds: found 7 for 5 different queries"),
        (lambda row: True, {"metric": "mrr"}, r"no such metric is measured: mrr \(there is ndcg, recall\)"),
    ],
    ids=["no types", "folds", "metric"],
)
def test_what_cannot_be_learnt_from_is_one_clear_line(typed, options, message):
    made = task_of(routed(**options), Small(typed=typed))
    with pytest.raises(ConfigError, match=message) as error:
        made.check(made.load())
    assert "\n" not in str(error.value)


def test_what_is_no_route_is_an_error_and_a_routed_retriever_is_no_part_of_another():
    with pytest.raises(ConfigError, match="routes: found none"):
        routed(routes={})
    with pytest.raises(ConfigError, match=r"routes.mine: .* does not inherit from ragsweep.retrieval.Ranker"):
        routed(routes={"mine": object()})
    made = task_of(FusedRetriever({"routed": routed(), "sparse": SPARSE}))
    with pytest.raises(ConfigError, match="no part of another one"):
        made.check(made.load())


# Simulated: routes whose values are clipped normal variables, correlated over queries; types that are predicted with
# an accuracy of about 80 %.


def simulated(rng, queries=133, routes=3, effect=0.0):
    types = rng.integers(0, 4, queries)
    shared = rng.normal(size=queries)
    values = (0.6 + 0.25 * (shared + rng.normal(size=(routes, queries)))).clip(0, 1)
    values += effect * (types == np.arange(routes)[:, np.newaxis])
    embeddings = 2 * np.eye(4)[types] + rng.normal(size=(queries, 4)) * 0.8
    made = routed(seed=int(rng.integers(1000)), classifier=LogisticClassifier(LetterEncoder(), c=1.0))
    found, rows = routes_of(values, types, embeddings, np.arange(queries), made), np.arange(queries)
    return values, types, values[found.route, rows] - values[found.single, rows]


@pytest.fixture(scope="module")
def without_signal():
    rng = np.random.default_rng(0)
    return [simulated(rng) for _ in range(100)]


@pytest.mark.usefixtures("long_work")
def test_without_signal_there_is_no_gain_on_average(without_signal):
    gains = np.array([gain.mean() for *_, gain in without_signal])
    assert abs(gains.mean()) < 3 * gains.std() / np.sqrt(len(gains))


@pytest.mark.usefixtures("long_work")
def test_the_interval_covers_no_gain_about_as_often_as_it_says(without_signal):
    intervals = [interval_of_gain(gain, 5) for *_, gain in without_signal]
    assert np.mean([low <= 0 <= high for low, high in intervals]) >= 0.93


@pytest.mark.usefixtures("long_work")
def test_the_interval_covers_the_expected_gain_where_there_is_one():
    rng = np.random.default_rng(1)
    gains = [simulated(rng, effect=0.1)[2] for _ in range(100)]
    expected = np.mean([gain.mean() for gain in gains])
    assert expected > 0.01
    assert np.mean([low <= expected <= high for low, high in (interval_of_gain(gain, 5) for gain in gains)]) >= 0.93
