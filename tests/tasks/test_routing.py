"""Types of queries and routes: what decides for a query is learnt from other folds, and what is said of it is true."""

import itertools
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from letters import LetterEncoder
from rankings import SPARSE, collection_of, paged, ranking_task, unpaged
from simulated import at_most

from ragsweep.core.errors import ConfigError
from ragsweep.datasets import Query
from ragsweep.evaluation import ndcg, recall
from ragsweep.retrieval import (
    DenseRetriever,
    FusedRetriever,
    LogisticClassifier,
    Ranker,
    RoutedRetriever,
    Search,
    TypeCutoff,
    rank,
)
from ragsweep.retrieval.ranking import STAGES
from ragsweep.retrieval.routed import RoutedQueries
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.tasks.ranking.query_types import HEADING, QueryTypes, kinds_of, predicted_types, words_of
from ragsweep.tasks.ranking.routing import best_routes, interval_of_gain, routes_of
from ragsweep.testing import RankerContract
from ragsweep.testing.component import SEARCH
from ragsweep.testing.retrieval import StageContract

DENSE = DenseRetriever(LetterEncoder(), NO_STORE)
ROUTES = {"dense": DENSE, "sparse": SPARSE, "both": FusedRetriever({"dense": DENSE, "sparse": SPARSE})}
WORDS = "iron tablet tea malaria test fever child worm blood zinc water milk".split()


def routed(**settings):
    return RoutedRetriever(**{"routes": ROUTES, "classifier": LogisticClassifier(LetterEncoder()), **settings})


def collection(typed=30):
    """Documents of random words; queries with a word that mostly tells their type; what is relevant is chance."""
    rng = np.random.default_rng(0)
    documents = [unpaged(f"d{row}", " ".join(rng.choice(WORDS, 6))) for row in range(25)]
    types = rng.integers(0, 3, 30)
    shown = np.where(rng.random(30) < 0.3, rng.integers(0, 3, 30), types)
    texts = [f"{'xyz'[kind] * int(rng.integers(3, 9))} {' '.join(rng.choice(WORDS, 2))}" for kind in shown]
    queries = [Query(f"q{row}", text, f"type {types[row]}" if row < typed else None) for row, text in enumerate(texts)]
    relevant = rng.integers(0, 25, 30)
    return collection_of(documents, queries, {(f"q{row}", f"d{relevant[row]}"): 1 for row in range(30)}, "document")


def task_of(retriever=SPARSE, queries=None, **settings):
    """A task on queries of two types, or on these."""
    metrics = {"ndcg": ndcg, "recall": recall}
    return ranking_task(retriever, metrics, 10, collection=queries or asked(), resamples=50, **settings)


def measured(retriever=SPARSE, queries=None, **settings):
    task = task_of(retriever, queries, **settings)
    task.check(items := task.load())
    return task.measure(items)


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


def test_every_query_is_ranked_by_its_route_whose_stages_it_names_and_whose_time_it_takes():
    ranking = TestRoutedQueries().make(NO_STORE).rank(SEARCH, 10)
    for query, name in enumerate(["dense", "sparse", "both"] * 2):
        expected = rank(ROUTES[name], SEARCH, 10).row(query)
        width = expected.passages.shape[1]
        assert ranking.passages[query, :width].tolist() == expected.passages[0].tolist()
        assert (ranking.passages[query, width:] == -1).all()
    learnt = TestRoutedQueries().make(NO_STORE)
    assert learnt.trace(SEARCH, 2).stages == {
        "routes.both.dense": "DenseRetriever",
        "routes.both.sparse": "SparseRetriever",
        "routes.both.fusion": "WeightedSum",
    }

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


def test_what_is_measured_is_ranked_by_the_routes_of_the_table_and_the_report_says_what_that_gains():
    measurement = measured(routed(), collection())
    text, table = " ".join(measurement.sections["Routing"]), measurement.per_item
    assert {*table["type_predicted"]} <= {"type 0", "type 1", "type 2"}
    assert all(1 / 3 - 0.001 <= float(confidence) <= 1 for confidence in table["type_confidence"])
    values = {name: measured(ranker, collection()).per_item["ndcg"] for name, ranker in ROUTES.items()}
    assert len({*table["route"]}) > 1
    assert [values[route][row] for row, route in enumerate(table["route"])] == pytest.approx(table["ndcg"].tolist())
    right = (table["query_type"] == table["type_predicted"]).mean()
    assert f" {right:.0%} of 30 queries were right (95 % interval " in text
    assert all(f"{name} by {count} quer" in text for name, count in table["route"].value_counts().items())
    assert "routing changes ndcg by " in text
    assert measurement.facts["learns_from_judgments"] == ["retriever"]
    assert "learns from the relevance judgments" in measurement.sections["Learning from judgments"][0]
    assert [*measurement.summary] == [*measurement.sections["Routing"]]


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


@given(st.integers(0, 30), st.integers(0, 4), st.sampled_from(["none", "reversed", "other"]))
def test_judgments_of_a_folds_queries_do_not_change_their_routes(seed, held, change):
    values, types, embeddings, kinds = arrays(seed)
    before = routes_of(values, types, embeddings, kinds, routed())
    rows = folds_of(types, embeddings, kinds, routed()) == held
    changed = {"none": np.nan, "reversed": values[:, rows][:, ::-1], "other": 1 - values[:, rows]}[change]
    changed_values = values.copy()
    changed_values[:, rows] = changed
    after = routes_of(changed_values, types, embeddings, kinds, routed())
    for one, other in zip(columns_of(before), columns_of(after), strict=True):
        assert np.array_equal(one[rows], other[rows])


def test_judgments_of_a_query_change_neither_its_ranking_nor_its_k_but_the_routes_of_others():
    task = task_of(routed(), collection())
    before = task.measure(items := task.load()).per_item
    for row, unit in ((0, "d3"), (7, "d7"), (28, "d3")):
        unit_of = np.where(items.qrels.query == row, items.units.index(unit), items.qrels.unit)
        after = task.measure(replace(items, qrels=replace(items.qrels, unit=unit_of))).per_item
        for column in ("retrieved", "route", "type_predicted", "type_confidence"):
            assert after[column][row] == before[column][row]
    before = measured(dynamic_k=TypeCutoff(metric="ndcg")).per_item
    for row in (0, 5):
        after = measured(SPARSE, asked(moved=row), dynamic_k=TypeCutoff(metric="ndcg")).per_item
        assert after["k_of_type"][row] == before["k_of_type"][row]
    # So the test above does not hold for lack of any effect.
    values, *arguments = arrays()
    changed = np.where(np.arange(60) < 20, 1 - values, values)
    assert not np.array_equal(
        routes_of(values, *arguments, routed()).route, routes_of(changed, *arguments, routed()).route
    )


@given(st.integers(0, 30), st.sampled_from([1, 7]))
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


def test_every_setting_changes_what_is_chosen():
    strict = LogisticClassifier(LetterEncoder(), c=1e-4)
    before = columns_of(routes_of(*arrays(3, 120), routed()))
    for setting in ({"folds": 2}, {"least": 30}, {"confidence": 0.9}, {"seed": 1}, {"classifier": strict}):
        after = columns_of(routes_of(*arrays(3, 120), routed(**setting)))
        assert any(not np.array_equal(*pair) for pair in zip(before, after, strict=True)), setting


REFUSED = [
    (0, routed(), "the dataset has no query types, expected at least two"),
    (5, routed(folds=7), "folds: found 7 for 5 different queries"),
    (30, routed(metric="mrr"), r"no such metric is measured: mrr \(there is ndcg, recall\)"),
    (30, FusedRetriever({"routed": routed(), "sparse": SPARSE}), "no part of another one"),
]


def test_what_cannot_be_learnt_from_is_refused_in_one_line_before_anything_runs():
    for typed, retriever, message in REFUSED:
        task = task_of(retriever, collection(typed))
        with pytest.raises(ConfigError, match=message) as error:
            task.check(task.load())
        assert "\n" not in str(error.value)
    for routes, message in (({}, "routes: found none"), ({"mine": object()}, r"routes\.mine: .*retrieval\.Ranker")):
        with pytest.raises(ConfigError, match=message):
            routed(routes=routes)
    for retriever, cutoff, queries, message in NOT_LEARNT:
        task = task_of(retriever, queries, dynamic_k=cutoff)
        with pytest.raises(ConfigError, match=message):
            task.check(task.load())
    with pytest.raises(ConfigError, match="dynamic_k=by_type"):
        TypeCutoff().check(Search(("iron",), ("iron",)))


def simulated(rng, effect=0.0):
    """What each query gains by its route."""
    queries, routes = 133, 3
    types = rng.integers(0, 4, queries)
    shared = rng.normal(size=queries)
    values = (0.6 + 0.25 * (shared + rng.normal(size=(routes, queries)))).clip(0, 1)
    values += effect * (types == np.arange(routes)[:, np.newaxis])
    embeddings = 2 * np.eye(4)[types] + rng.normal(size=(queries, 4)) * 0.8
    made = routed(seed=int(rng.integers(1000)), classifier=LogisticClassifier(LetterEncoder(), c=1.0))
    chosen, rows = routes_of(values, types, embeddings, np.arange(queries), made), np.arange(queries)
    return values[chosen.route, rows] - values[chosen.single, rows]


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(("effect", "seed"), [(0.0, 0), (0.1, 1)])
def test_the_interval_covers_the_expected_gain_about_as_often_as_it_says(times, effect, seed):
    """Of routes whose values are clipped normal variables, correlated over queries.

    Types are predicted with an accuracy of about 80 %. Without an effect there is no gain on average.
    """
    rng = np.random.default_rng(seed)
    gains = [simulated(rng, effect) for _ in range(times(100))]
    means = np.array([gain.mean() for gain in gains])
    expected = means.mean() if effect else 0.0
    assert means.mean() > 0.01 if effect else abs(means.mean()) < 3 * means.std() / np.sqrt(len(means))
    missed = [not low <= expected <= high for low, high in (interval_of_gain(gain, 5) for gain in gains)]
    assert np.mean(missed) <= at_most(0.05, len(missed))


KINDS = ("what", "why")
ROUTED = RoutedRetriever({"one": SPARSE, "two": SPARSE}, LogisticClassifier(LetterEncoder()))


def asked(rare=0, typed=24, moved=None):
    """Queries of two types that their first word tells, of three that are rare if wanted, and what answers them.

    What answers a `what` is the page that has its words; of a `why`, so are the next two pages of its document. The
    judgments of one query can be moved to another page.
    """
    pairs = [" ".join(pair) for pair in itertools.combinations(WORDS, 2)][:24]
    types = [(KINDS[row % 2] if row >= rare else "rare") if row < typed else None for row in range(24)]
    queries = [Query(f"q{row}", f"{KINDS[row % 2]} {text}", types[row]) for row, text in enumerate(pairs)]
    judgments = {
        (f"q{row}", "d20#3" if row == moved else f"d{row}#{page}"): 1
        for row in range(24)
        for page in ((1,), (1, 2, 3))[row % 2]
    }
    return collection_of([paged(f"d{row}", *[text] * 3) for row, text in enumerate(pairs)], queries, judgments)


def test_every_run_has_the_predicted_types_and_says_how_many_are_right():
    measurement = measured()
    table = measurement.per_item
    right = table["type_predicted"] == table["query_type"]
    assert right.mean() > 0.8
    assert table["type_confidence"].astype(float).between(0.5, 1).all()
    accuracy, by_type = measurement.sections[HEADING]
    assert f"{right.mean():.0%} of 24 queries were right" in accuracy
    assert all(f"{kind} {right[table['query_type'] == kind].sum()} of 12" in by_type for kind in KINDS)
    routed = measured(ROUTED)
    assert {"type_predicted", "route"} <= {*routed.per_item}  # those that its router predicted
    assert HEADING not in routed.sections


def test_what_has_too_few_queries_to_learn_from_is_not_predicted_and_named():
    measurement = measured(SPARSE, asked(rare=4))
    table = measurement.per_item
    assert table["type_predicted"].tolist()[:4] == [""] * 4
    assert {*table["type_predicted"][4:]} <= {*KINDS}
    assert "rare (4)" in measurement.sections[HEADING][-1]
    for typed, says in ((0, False), (1, True)):  # no two types
        measurement = measured(SPARSE, asked(typed=typed))
        assert "type_predicted" not in measurement.per_item
        assert (HEADING in measurement.sections) == says


def test_types_are_predicted_from_other_folds_alone_which_no_text_or_group_shares(tmp_path, monkeypatch):
    """The types are chance, so only a classifier that had seen a query would be right about it."""
    rng = np.random.default_rng(0)
    types = rng.integers(0, 2, 200)
    features = words_of([f"word{row} {WORDS[row % 12]}" for row in range(200)])
    predicted = predicted_types(features, types, np.arange(200), folds=5, c=10.0, seed=0)
    assert abs((predicted.type == types).mean() - 0.5) < 0.12
    items = task_of(SPARSE, asked()).load()
    first = QueryTypes.of(items, Store(str(tmp_path)))
    monkeypatch.setattr("ragsweep.tasks.ranking.query_types.words_of", None)
    again = QueryTypes.of(items, Store(str(tmp_path)))
    assert all(np.array_equal(*pair) for pair in zip(first.predicted, again.predicted, strict=True))
    texts = ["one", "two", "ONE ", "three", "two", "four"]
    queries = [
        Query(str(row), text, None, group=group) for row, (text, group) in enumerate(zip(texts, "abbbcd", strict=True))
    ]
    kinds = kinds_of(queries).tolist()
    assert kinds == [kinds[0]] * 5 + [kinds[5]]
    assert kinds[5] != kinds[0]


def lengths(table):
    return [len(retrieved.split("; ")) for retrieved in table["retrieved"]]


def test_a_given_k_is_that_of_the_predicted_type_and_a_learnt_one_the_best_by_type_on_other_folds():
    table = measured(dynamic_k=TypeCutoff(k={"what": 2})).per_item
    assert lengths(table) == [2 if kind == "what" else 10 for kind in table["type_predicted"]]  # else that of the run
    measurement = measured(dynamic_k=TypeCutoff(metric="recall", most=6))
    table = measurement.per_item
    assert lengths(table) == table["k_of_type"].astype(int).tolist()
    assert max(lengths(table)) <= 6
    assert measurement.facts["learns_from_judgments"] == ["dynamic_k"]
    by_type = table.groupby("type_predicted")["k_of_type"].agg(lambda ks: ks.astype(int).mean())
    assert by_type["why"] > by_type["what"]


NOT_LEARNT = [
    (SPARSE, TypeCutoff(k={"who": 3}), asked(), r"dynamic_k\.k: .*who \(there is what, why\)"),
    (SPARSE, TypeCutoff(metric="mrr"), asked(), r"dynamic_k\.metric: .*mrr"),
    (SPARSE, TypeCutoff(metric="ndcg"), asked(typed=0), "no query types can be learnt"),
    (ROUTED, TypeCutoff(metric="ndcg"), asked(), "dynamic_k=by_type"),  # no other stage may learn
]
