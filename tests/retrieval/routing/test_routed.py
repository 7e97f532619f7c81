"""Routing as a retriever: what each query is ranked by, and that its own judgments have no say in it."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from letters import LetterEncoder

from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.core.store import NO_STORE
from ragsweep.retrieval import (
    NOTHING,
    CentroidClassifier,
    DenseRetriever,
    FusedRetriever,
    HnswIndex,
    LogisticClassifier,
    Names,
    RoutedRetriever,
    Search,
    SparseRetriever,
    rank,
    ranked,
    trace,
)
from ragsweep.retrieval.encoders.embeddings import encoding_ms
from ragsweep.retrieval.folds import folds_of
from ragsweep.retrieval.lessons import Judgments, dealing
from ragsweep.retrieval.ranking import sample
from ragsweep.testing import RankerContract

DENSE, SPARSE = DenseRetriever(LetterEncoder(), NO_STORE), SparseRetriever(NO_STORE)
ROUTES = {"dense": DENSE, "sparse": SPARSE, "both": FusedRetriever({"dense": DENSE, "sparse": SPARSE})}
WORDS = "iron tablet tea malaria test fever child worm blood zinc water milk".split()


@dataclass(frozen=True)
class Judged(Search):
    """A search, and the judgments that a task deals out while `by` is at work."""

    judgments: Judgments | None = field(default=None, compare=False)


def by(call, search, *arguments):
    """What a function or method makes of a search while its judgments are dealt out."""
    with dealing(search.judgments):
        return call(search, *arguments)


def judged(search, types, relevant, digest=None):
    """A search with types of queries, and the passage that is relevant for each, None for a query without judgments."""

    def names():
        passages = tuple(f"d{number}" for number in range(len(search.passages)))
        queries = tuple(f"q{number}" for number in range(len(search.queries)))
        return Names(queries, passages, passages, passages)

    def values(ranking, metric):
        assert metric == "ndcg"
        hits = (
            ranking.passages[:, :10] == np.array([NOTHING - 1 if each is None else each for each in relevant])[:, None]
        )
        values = (hits / np.log2(np.arange(2, 2 + hits.shape[1]))).sum(axis=1)
        return np.where([each is None for each in relevant], np.nan, values)

    return Judged(search.passages, search.queries, names, digest, judgments=Judgments(values, tuple(types)))


def small_search(seed=0, queries=30):
    """Texts of random words; queries with a word that mostly tells their type; passages that are relevant by chance."""
    rng = np.random.default_rng(seed)
    passages = tuple(" ".join(rng.choice(WORDS, 6)) for _ in range(25))
    types = rng.integers(0, 3, queries)
    told = np.where(rng.random(queries) < 0.3, rng.integers(0, 3, queries), types)
    texts = tuple(f"{'xyz'[each] * int(rng.integers(3, 9))} {' '.join(rng.choice(WORDS, 2))}" for each in told)
    relevant = rng.integers(0, 25, queries).tolist()
    return judged(Search(passages, texts), [f"type {each}" for each in types], relevant)


@dataclass(frozen=True)
class RandomRanker:
    """Ranks all passages in an order of its own; fast."""

    seed: int

    def rank(self, search, depth):
        scores = np.random.default_rng(self.seed).random((len(search.queries), len(search.passages)))
        return ranked(np.tile(np.arange(len(search.passages)), (len(search.queries), 1)), scores, depth)


RANDOM = {f"random {seed}": RandomRanker(seed) for seed in range(3)}


def routed(**settings):
    return RoutedRetriever(**{"routes": ROUTES, "classifier": CentroidClassifier(LetterEncoder()), **settings})


def same(one, other):
    return np.array_equal(one.passages, other.passages) and np.array_equal(one.scores, other.scores)


class TestRouted(RankerContract):
    component = RoutedRetriever
    settings: ClassVar = {"routes": ROUTES, "classifier": CentroidClassifier(LetterEncoder()), "folds": 2}
    search = judged(RankerContract.search, ["when", "which", "which", None, "what", "when"], [1, 9, 8, None, 0, 6])

    @pytest.fixture(autouse=True)
    def _judged(self):
        with dealing(self.search.judgments):
            yield

    test_a_query_is_ranked_the_same_beside_any_others = None  # its route is learnt from the others
    test_a_corpus_of_one_passage_can_be_searched = None  # that search has no judgments
    test_another_corpus_does_not_take_the_ranking_of_this_one = None  # nor has that one


def test_every_query_is_ranked_by_its_route():
    search = small_search()
    made = routed()
    ranking, routes = by(partial(rank, made), search, 10), by(made.details, search)["route"]
    assert len({*routes}) > 1
    for query, route in enumerate(routes):
        expected = rank(ROUTES[route], search, 10).row(query)
        assert same(ranking.row(query), expected) or ranking.passages[query].tolist() == [
            *expected.passages[0],
            *[NOTHING] * (10 - expected.passages.shape[1]),
        ]


def changed(search, rows, value):
    """The same search with other judgments of some queries."""

    def values(ranking, metric):
        values = search.judgments.values(ranking, metric)
        values[rows] = value(values[rows])
        return values

    return replace(search, judgments=Judgments(values, search.judgments.types))


CHANGES = {
    "inverted": lambda values: 1 - values,
    "reversed": lambda values: values[::-1],
    "none": lambda values: values * np.nan,
    "large": lambda values: values * 1e6,
}


@settings(max_examples=15)
@given(st.integers(0, 30), st.integers(0, 4), st.sampled_from([*CHANGES]), st.sampled_from(["centroid", "logistic"]))
def test_judgments_of_a_folds_queries_do_not_change_their_rankings(seed, held, change, classifier):
    made = routed(
        routes=RANDOM,
        classifier={"centroid": CentroidClassifier, "logistic": LogisticClassifier}[classifier](LetterEncoder()),
    )
    search = small_search(seed)
    types = np.array([int(of[-1]) for of in search.judgments.types])
    rows = np.flatnonzero(folds_of(search.queries, types, 5, seed=0) == held)
    before, after = by(made.rank, search, 5), by(made.rank, changed(search, rows, CHANGES[change]), 5)
    for row in rows:
        assert same(before.row(row), after.row(row))


@given(st.integers(0, 30), st.integers(0, 29), st.sampled_from([*CHANGES]))
def test_the_judgments_of_a_query_never_change_its_own_ranking(seed, query, change):
    search = small_search(seed)
    made = routed(routes=RANDOM)
    before, after = (by(made.rank, each, 5).row(query) for each in (search, changed(search, [query], CHANGES[change])))
    assert same(before, after)


def test_the_judgments_of_a_query_change_the_rankings_of_others():
    """So the tests above do not hold for lack of any effect."""
    search = small_search()
    other = changed(search, [0, 1, 2, 3], CHANGES["large"])
    assert not same(by(routed().rank, search, 5), by(routed().rank, other, 5))


def test_the_judgments_of_a_query_do_not_reach_it_through_a_query_of_the_same_text():
    search = small_search()
    search = judged(
        replace(search, queries=search.queries + search.queries),
        search.judgments.types * 2,
        np.random.default_rng(1).integers(0, 25, 60).tolist(),
    )
    made = routed(routes=RANDOM)
    for query in range(30):
        before, after = by(made.rank, search, 5), by(made.rank, changed(search, [query], CHANGES["large"]), 5)
        assert same(before.row(query + 30), after.row(query + 30))


def test_a_route_sees_no_judgments():
    """Within a route they would come from queries of any fold."""
    with pytest.raises(ConfigError, match="not within another component that learns"):
        by(routed(routes={"inner": routed(), "sparse": SPARSE}).check, small_search())


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
    search = small_search(2)
    assert not same(by(routed().rank, search, 10), by(routed(**setting).rank, search, 10))


def test_the_metric_is_the_one_that_is_asked_for():
    asked = []
    search = small_search()
    values, types = search.judgments.values, search.judgments.types
    judgments = Judgments(lambda ranking, metric: asked.append(metric) or values(ranking, "ndcg"), types)
    search = replace(search, judgments=judgments)
    by(routed(metric="recall").rank, search, 5)
    assert {*asked} == {"recall"}


def test_with_no_confidence_in_any_type_all_queries_of_a_fold_take_the_single_route():
    search, made = small_search(), routed(confidence=1.0, classifier=LogisticClassifier(LetterEncoder()))
    types = np.array([int(of[-1]) for of in search.judgments.types])
    fold = folds_of(search.queries, types, 5, seed=0)
    routes = np.array(by(made.details, search)["route"])
    assert all(len({*routes[fold == each]}) == 1 for each in range(5))


def test_a_query_costs_at_least_its_encoding_and_its_route():
    search, made = small_search(), routed()
    ranking = by(made.rank, search, 100)
    rows = sample(len(search.queries))
    assert ranking.latency_ms.shape == rows.shape
    assert (ranking.latency_ms > 0).all()


@dataclass(frozen=True)
class TimedRanker:
    """Ranks as BM25 does, and says that every query takes so long."""

    ms: float

    def rank(self, search, depth):
        return replace(SPARSE.rank(search, depth), latency_ms=np.full(len(sample(len(search.queries))), self.ms))


def test_the_latency_is_that_of_the_route_that_a_query_takes(store):
    search = small_search()
    encoder = LetterEncoder()
    made = routed(
        routes={"slow": TimedRanker(5000.0), "fast": TimedRanker(1000.0)}, classifier=CentroidClassifier(encoder, store)
    )
    ms = by(made.rank, search, 5).latency_ms
    encoding = encoding_ms(encoder, store, search.queries)
    assert ((ms - encoding > 5000) & (ms - encoding < 6000)).all()  # of equal routes, the first


def test_a_route_that_is_not_timed_leaves_the_latency_unknown():
    @dataclass(frozen=True)
    class Untimed:
        def rank(self, search, depth):
            return replace(SPARSE.rank(search, depth), latency_ms=np.empty(0))

    assert not len(by(routed(routes={"timed": SPARSE, "untimed": Untimed()}).rank, small_search(), 5).latency_ms)


def test_routes_without_an_approximate_index_have_a_recall_of_1():
    search, made = (
        small_search(),
        routed(routes={"graph": DenseRetriever(LetterEncoder(), NO_STORE, HnswIndex()), "sparse": SPARSE}),
    )
    recall, routes = by(made.rank, search, 5).recall_of_exact, by(made.details, search)["route"]
    assert {*recall[[route == "sparse" for route in routes]]} == {1.0}
    assert not len(by(routed().rank, search, 5).recall_of_exact)


def test_routes_are_ranked_once_for_queries_that_have_names():
    ranked = []

    @dataclass(frozen=True)
    class Counting:
        def rank(self, search, depth):
            ranked.append(depth)
            return SPARSE.rank(search, depth)

    search, made = small_search(), routed(routes={"mine": Counting()})
    search = replace(search, names_digest="these")
    by(made.rank, search, 150)
    by(made.details, search)
    by(made.sections, search)
    by(made.trace, search, 0)
    assert ranked == [150]


def test_the_table_of_queries_has_type_confidence_and_route():
    search = small_search()
    details = by(routed().details, search)
    assert {*details} == {"type_predicted", "type_confidence", "route"}
    assert {*details["type_predicted"]} <= {"type 0", "type 1", "type 2"}
    assert all(1 / 3 - 0.001 <= float(each) <= 1 for each in details["type_confidence"])


def test_the_report_says_how_well_types_are_predicted_and_what_routing_gains():
    """Numbers are counted again from the details."""
    search, made = small_search(), routed()
    details, sentences = by(made.details, search), " ".join(by(made.sections, search)["Routing"])
    types, predicted = search.judgments.types, details["type_predicted"]
    right = np.mean([one == other for one, other in zip(types, predicted, strict=True)])
    assert f" {right:.0%} of 30 queries were right (95 % interval " in sentences
    pairs = [*zip(types, predicted, strict=True)]
    for of in {*types}:
        for other in {*predicted}:
            count = pairs.count((of, other))
            line = sentences.partition(f"the {types.count(of)} {of} queries: ")[2].partition(".")[0]
            assert (f"{count} as {other}" in line) == (count > 0)
    assert "routing changes ndcg by " in sentences
    assert "If all types were predicted rightly, the change would be " in sentences


def test_queries_without_type_or_judgments_are_routed_and_not_counted():
    search = small_search()
    types, relevant = [*search.judgments.types], np.random.default_rng(0).integers(0, 25, 30).tolist()
    types[:4], relevant[2:9] = [None] * 4, [None] * 7
    search = judged(search, types, relevant)
    made = routed()
    by(partial(rank, made), search, 5)
    assert all(by(made.details, search)["type_predicted"])
    sentences = " ".join(by(made.sections, search)["Routing"])
    assert "of 26 queries were right" in sentences
    assert "on 23 queries that had no part in the choice" in sentences


def test_a_trace_names_the_type_the_confidence_and_the_stages_of_the_route():
    search, made = small_search(), routed()
    details = by(made.details, search)
    query = details["route"].index("both")
    stages = by(partial(trace, made), search, query).stages
    kind, sure = details["type_predicted"][query], float(details["type_confidence"][query])
    assert stages == {
        "classifier": f"CentroidClassifier, predicts {kind} with confidence {sure:.2f}",
        "routes.both.dense": "DenseRetriever",
        "routes.both.sparse": "SparseRetriever",
        "routes.both.fusion": "WeightedSum",
    }


SMALL = small_search()


@pytest.mark.parametrize(
    ("search", "settings", "message"),
    [
        (replace(SMALL, judgments=None), {}, "works with task=ranking"),
        (judged(SMALL, [None] * 30, [0] * 30), {}, "the dataset has no query types, expected at least two"),
        (judged(SMALL, ["one"] * 30, [0] * 30), {}, "the dataset has 1 query type, expected at least two"),
        (judged(SMALL, ["a", "b"] * 3 + [None] * 24, [0] * 30), {"folds": 7}, "folds: found 7 for 6 different queries"),
    ],
    ids=["answers", "no types", "one type", "folds"],
)
def test_what_cannot_be_learnt_from_is_one_clear_line(search, settings, message):
    with pytest.raises(ConfigError, match=message) as error:
        by(routed(**settings).check, search)
    assert "\n" not in str(error.value)


def test_a_search_without_any_judgments_is_an_error():
    with pytest.raises(RetrieverError, match="no query has a relevance judgment"):
        by(routed().rank, judged(SMALL, SMALL.judgments.types, [None] * 30), 5)


def test_what_is_no_ranker_or_classifier_is_an_error():
    with pytest.raises(ConfigError, match="routes: found none"):
        routed(routes={})
    with pytest.raises(ConfigError, match=r"routes.mine: .* has no method 'rank'"):
        routed(routes={"mine": object()})
    with pytest.raises(ConfigError, match=r"classifier: .* has no method 'learn'"):
        routed(classifier=object())


def test_types_that_mean_nothing_are_predicted_by_chance_and_gain_nothing(manual_pages):
    """The questions of the manual with types drawn at random."""
    rng = np.random.default_rng(0)
    queries = tuple(query.text for query in manual_pages.queries)
    types = [f"type {each}" for each in rng.integers(0, 4, len(queries))]
    relevant = dict(zip(manual_pages.qrels.query.tolist(), manual_pages.qrels.unit.tolist(), strict=True))
    unit = [relevant.get(query) for query in range(len(queries))]
    search, made = judged(Search(manual_pages.texts, queries), types, unit), routed()
    predicted = by(made.details, search)["type_predicted"]
    right = np.mean([one == other for one, other in zip(types, predicted, strict=True)])
    assert abs(right - 0.25) < 3 * np.sqrt(0.25 * 0.75 / len(queries))
    assert "Routing shows no gain here" in " ".join(by(made.sections, search)["Routing"])
