"""Routing as a retriever: what each query is ranked by, and that its own judgments have no say in it."""

from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from letters import LetterEncoder

from ragsweep.core.errors import ConfigError
from ragsweep.core.timing import sample
from ragsweep.models.encoders.embeddings import encoding_ms
from ragsweep.retrieval import (
    NOTHING,
    DenseRetriever,
    FusedRetriever,
    HnswIndex,
    LogisticClassifier,
    Ranker,
    RoutedRetriever,
    Search,
    SparseRetriever,
    rank,
    ranked,
)
from ragsweep.retrieval.folds import folds_of
from ragsweep.retrieval.judgments import dealing
from ragsweep.retrieval.routing.query_words import Routing, sentences
from ragsweep.store.stage_store import NO_STORE
from ragsweep.testing import LearnerContract
from ragsweep.testing.learner_contract import JudgedSearch

DENSE, SPARSE = DenseRetriever(LetterEncoder(), NO_STORE), SparseRetriever(NO_STORE)
ROUTES = {"dense": DENSE, "sparse": SPARSE, "both": FusedRetriever({"dense": DENSE, "sparse": SPARSE})}
WORDS = "iron tablet tea malaria test fever child worm blood zinc water milk".split()


def small_search(seed=0, queries=30):
    """Texts of random words; queries with a word that mostly tells their type; passages that are relevant by chance."""
    rng = np.random.default_rng(seed)
    passages = tuple(" ".join(rng.choice(WORDS, 6)) for _ in range(25))
    types = rng.integers(0, 3, queries)
    told = np.where(rng.random(queries) < 0.3, rng.integers(0, 3, queries), types)
    texts = tuple(f"{'xyz'[each] * int(rng.integers(3, 9))} {' '.join(rng.choice(WORDS, 2))}" for each in told)
    relevant = rng.integers(0, 25, queries).tolist()
    return JudgedSearch(Search(passages, texts), tuple(f"type {each}" for each in types), relevant)


@dataclass(frozen=True)
class RandomRanker(Ranker):
    """Ranks all passages in an order of its own; fast."""

    seed: int

    def rank(self, search, depth):
        scores = np.random.default_rng(self.seed).random((len(search.queries), len(search.passages)))
        return ranked(np.tile(np.arange(len(search.passages)), (len(search.queries), 1)), scores, depth)


RANDOM = {f"random {seed}": RandomRanker(seed) for seed in range(3)}


def routed(**settings):
    return RoutedRetriever(**{"routes": ROUTES, "classifier": LogisticClassifier(LetterEncoder()), **settings})


def same(one, other):
    return np.array_equal(one.passages, other.passages) and np.array_equal(one.scores, other.scores)


@pytest.mark.usefixtures("long_work")
class TestRouted(LearnerContract):
    component = RoutedRetriever
    settings: ClassVar = {"routes": ROUTES, "classifier": LogisticClassifier(LetterEncoder()), "folds": 3}


@contextmanager
def learning(made, judged):
    """Deal out judgments to a retriever; gives back what it ranks, says and explains with them."""
    dealt = judged.dealt(made)
    with dealing(dealt):
        rank(made, judged.search, 100)
        yield SimpleNamespace(details=made.details(judged.search), dealt=dealt)


def report(made, judged):
    """What the report says of routing."""
    with learning(made, judged) as found:
        learnt = found.dealt.of(made, judged.search, rank)
    values = judged.values_of(np.arange(len(judged.types)))
    return " ".join(sentences(Routing.of(learnt.rankers, learnt.fold, judged.types, values)))


def details(made, judged):
    with learning(made, judged) as found:
        return found.details


@pytest.mark.usefixtures("long_work")
def test_every_query_is_ranked_by_its_route():
    judged, made = small_search(), routed()
    ranking, routes = judged.rank(made, 10), details(made, judged)["route"]
    assert len({*routes}) > 1
    for query, route in enumerate(routes):
        expected = rank(ROUTES[route], judged.search, 10).row(query)
        assert same(ranking.row(query), expected) or ranking.passages[query].tolist() == [
            *expected.passages[0],
            *[NOTHING] * (10 - expected.passages.shape[1]),
        ]


CHANGES = {
    "none": lambda relevant: [None] * len(relevant),
    "reversed": lambda relevant: relevant[::-1],
    "another": lambda relevant: [(each + 7) % 25 for each in relevant],
}


def changed(judged, rows, change):
    """The same search with other judgments of some queries."""
    relevant = np.array(judged.relevant, dtype=object)
    relevant[rows] = CHANGES[change](relevant[rows].tolist())
    return replace(judged, relevant=relevant.tolist())


@pytest.mark.usefixtures("long_work")
@settings(max_examples=8)
@given(st.integers(0, 30), st.integers(0, 4), st.sampled_from([*CHANGES]))
def test_judgments_of_a_folds_queries_do_not_change_their_rankings(seed, held, change):
    made = routed(routes=RANDOM)
    judged = small_search(seed)
    rows = np.flatnonzero(fold_of(judged) == held)
    before, after = judged.rank(made, 5), changed(judged, rows, change).rank(made, 5)
    for row in rows:
        assert same(before.row(row), after.row(row))


def fold_of(judged):
    types = np.array([int(of[-1]) for of in judged.types])
    return folds_of(judged.search.queries, types, 5, seed=0)


@pytest.mark.usefixtures("long_work")
def test_the_judgments_of_a_query_change_the_rankings_of_others():
    """So the test above does not hold for lack of any effect."""
    judged = small_search()
    assert not same(judged.rank(routed(), 5), changed(judged, [*range(8)], "another").rank(routed(), 5))


@pytest.mark.usefixtures("long_work")
def test_the_judgments_of_a_query_do_not_reach_it_through_a_query_of_the_same_text():
    judged = small_search()
    judged = JudgedSearch(
        replace(judged.search, queries=judged.search.queries * 2),
        judged.types * 2,
        np.random.default_rng(1).integers(0, 25, 60).tolist(),
    )
    made = routed(routes=RANDOM)
    for query in range(0, 30, 3):
        before, after = judged.rank(made, 5), changed(judged, [query], "another").rank(made, 5)
        assert same(before.row(query + 30), after.row(query + 30))


def test_a_route_sees_no_judgments():
    """Within a route they would come from queries of any fold."""
    made = routed(routes={"inner": routed(), "sparse": SPARSE})
    with pytest.raises(ConfigError, match="not within another retriever that learns"):
        small_search().rank(made, 5)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    "setting",
    [
        {"classifier": LogisticClassifier(LetterEncoder(), c=0.01)},
        {"folds": 2},
        {"least": 12},
        {"confidence": 0.9},
        {"seed": 1},
        {"routes": {"sparse": SPARSE, "dense": DENSE}},
    ],
    ids=lambda setting: next(iter(setting)),
)
def test_every_setting_changes_the_ranking(setting):
    judged = small_search(2)
    assert not same(judged.rank(routed(), 10), judged.rank(routed(**setting), 10))


def test_the_metric_is_the_one_that_is_asked_for():
    asked, judged = [], small_search()
    dealt = judged.dealt(made := routed(metric="recall"))

    def values_of(queries):
        values = judged.values_of(queries)
        return lambda ranking, metric: asked.append(metric) or values(ranking, metric)

    with dealing(replace(dealt, values_of=values_of)):
        rank(made, judged.search, 5)
    assert {*asked} == {"recall"}


@pytest.mark.usefixtures("long_work")
def test_with_no_confidence_in_any_type_all_queries_of_a_fold_take_the_single_route():
    judged, made = small_search(), routed(confidence=1.0, classifier=LogisticClassifier(LetterEncoder()))
    fold, routes = fold_of(judged), np.array(details(made, judged)["route"])
    assert all(len({*routes[fold == each]}) == 1 for each in range(5))


def test_a_query_costs_at_least_its_encoding_and_its_route():
    judged = small_search()
    ranking = judged.rank(routed(), 100)
    assert ranking.latency_ms.shape == sample(len(judged.types)).shape
    assert (ranking.latency_ms > 0).all()


@dataclass(frozen=True)
class TimedRanker(Ranker):
    """Ranks as BM25 does, and says that every query takes so long."""

    ms: float

    def rank(self, search, depth):
        return replace(SPARSE.rank(search, depth), latency_ms=np.full(len(sample(len(search.queries))), self.ms))


def test_the_latency_is_that_of_the_route_that_a_query_takes(store):
    judged, encoder = small_search(), LetterEncoder()
    made = routed(
        routes={"slow": TimedRanker(5000.0), "fast": TimedRanker(1000.0)}, classifier=LogisticClassifier(encoder, store)
    )
    ms = judged.rank(made, 5).latency_ms
    encoding = encoding_ms(encoder, store, judged.search.queries)
    assert ((ms - encoding > 5000) & (ms - encoding < 6000)).all()  # of equal routes, the first


def test_a_route_that_is_not_timed_leaves_the_latency_unknown():
    @dataclass(frozen=True)
    class Untimed(Ranker):
        def rank(self, search, depth):
            return replace(SPARSE.rank(search, depth), latency_ms=np.empty(0))

    assert not len(small_search().rank(routed(routes={"timed": SPARSE, "untimed": Untimed()}), 5).latency_ms)


@pytest.mark.usefixtures("long_work")
def test_routes_without_an_approximate_index_have_a_recall_of_1():
    judged = small_search()
    made = routed(routes={"graph": DenseRetriever(LetterEncoder(), NO_STORE, HnswIndex()), "sparse": SPARSE})
    recall, routes = judged.rank(made, 5).recall_of_exact, details(made, judged)["route"]
    assert {*recall[[route == "sparse" for route in routes]]} == {1.0}
    assert not len(judged.rank(routed(), 5).recall_of_exact)


def test_routes_are_ranked_once_for_all_folds():
    ranked = []

    @dataclass(frozen=True)
    class Counting(Ranker):
        def rank(self, search, depth):
            ranked.append(depth)
            return SPARSE.rank(search, depth)

    judged, made = small_search(), routed(routes={"mine": Counting()})
    with dealing(judged.dealt(made)):
        rank(made, judged.search, 150)
        made.details(judged.search)
    assert ranked == [150]


def test_the_table_of_queries_has_type_confidence_and_route():
    found = details(routed(), small_search())
    assert {*found} == {"type_predicted", "type_confidence", "route"}
    assert {*found["type_predicted"]} <= {"type 0", "type 1", "type 2"}
    assert all(1 / 3 - 0.001 <= float(each) <= 1 for each in found["type_confidence"])


@pytest.mark.usefixtures("long_work")
def test_the_report_says_how_well_types_are_predicted_and_what_routing_gains():
    """Numbers are counted again from the details."""
    judged, made = small_search(), routed()
    found, text = details(made, judged), report(made, judged)
    types, predicted = judged.types, found["type_predicted"]
    right = np.mean([one == other for one, other in zip(types, predicted, strict=True)])
    assert f" {right:.0%} of 30 queries were right (95 % interval " in text
    pairs = [*zip(types, predicted, strict=True)]
    for of in {*types}:
        for other in {*predicted}:
            count = pairs.count((of, other))
            line = text.partition(f"the {types.count(of)} {of} queries: ")[2].partition(".")[0]
            assert (f"{count} as {other}" in line) == (count > 0)
    assert "routing changes ndcg by " in text
    assert "If all types were predicted rightly, the change would be " in text


@pytest.mark.usefixtures("long_work")
def test_queries_without_type_or_judgments_are_routed_and_not_counted():
    judged = small_search()
    types, relevant = [*judged.types], [*judged.relevant]
    types[:4], relevant[2:9] = [None] * 4, [None] * 7
    judged = JudgedSearch(judged.search, types, relevant)
    made = routed()
    assert all(details(made, judged)["type_predicted"])
    text = report(made, judged)
    assert "of 26 queries were right" in text
    assert "on 23 queries that had no part in the choice" in text


@pytest.mark.usefixtures("long_work")
def test_a_trace_names_the_type_the_confidence_and_the_stages_of_the_route():
    judged, made = small_search(), routed()
    found = details(made, judged)
    query = found["route"].index("both")
    with learning(made, judged):
        stages = made.judged.search.trace(query).stages
    kind, sure = found["type_predicted"][query], float(found["type_confidence"][query])
    said, _, confidence = stages.pop("classifier").rpartition(" ")
    assert said == f"LogisticClassifier, predicts {kind} with confidence"
    assert float(confidence) == pytest.approx(sure, abs=0.006)
    assert stages == {
        "routes.both.dense": "DenseRetriever",
        "routes.both.sparse": "SparseRetriever",
        "routes.both.fusion": "WeightedSum",
    }


SMALL = small_search()


@pytest.mark.parametrize(
    ("types", "settings", "message"),
    [
        ([None] * 30, {}, "the dataset has no query types, expected at least two"),
        (["one"] * 30, {}, "the dataset has 1 query type, expected at least two"),
        (["a", "b"] * 3 + [None] * 24, {"folds": 7}, "folds: found 7 for 6 different queries"),
    ],
    ids=["no types", "one type", "folds"],
)
def test_what_cannot_be_learnt_from_is_one_clear_line(types, settings, message):
    made = routed(**settings)
    with dealing(replace(SMALL, types=types).dealt(made)), pytest.raises(ConfigError, match=message) as error:
        made.check(SMALL.search)
    assert "\n" not in str(error.value)


def test_what_is_no_ranker_or_classifier_is_an_error():
    with pytest.raises(ConfigError, match="routes: found none"):
        routed(routes={})
    with pytest.raises(ConfigError, match=r"routes.mine: .* does not inherit from"):
        routed(routes={"mine": object()})
    with pytest.raises(ConfigError, match=r"classifier: .* has no method 'learn'"):
        routed(classifier=object())


@pytest.mark.usefixtures("long_work")
def test_types_that_mean_nothing_are_predicted_by_chance_and_gain_nothing(manual_pages):
    """The questions of the manual with types drawn at random."""
    rng = np.random.default_rng(0)
    queries = tuple(query.text for query in manual_pages.queries)
    types = [f"type {each}" for each in rng.integers(0, 4, len(queries))]
    relevant = dict(zip(manual_pages.qrels.query.tolist(), manual_pages.qrels.unit.tolist(), strict=True))
    unit = [relevant.get(query) for query in range(len(queries))]
    judged, made = JudgedSearch(Search(manual_pages.texts, queries), types, unit), routed()
    predicted = details(made, judged)["type_predicted"]
    right = np.mean([one == other for one, other in zip(types, predicted, strict=True)])
    assert abs(right - 0.25) < 3 * np.sqrt(0.25 * 0.75 / len(queries))
    assert "Routing shows no gain here" in report(made, judged)
