"""Feedback: RM3 and Rocchio, held against their formulas written out as loops, and who uses it."""

import re
import time

import numpy as np
import pytest
from letters import LetterEncoder
from rank_bm25 import BM25Okapi

from ragsweep.core.errors import ConfigError
from ragsweep.retrieval import (
    NOTHING,
    DenseRetriever,
    Feedback,
    FusedRetriever,
    HnswIndex,
    HybridRetriever,
    PipelineRetriever,
    PseudoRelevanceFeedback,
    RunFileRetriever,
    Search,
    SparseRetriever,
    WeightedSum,
    rank,
    trace,
)
from ragsweep.store.stage_store import NO_STORE
from ragsweep.testing import ExpanderContract, RankerContract
from ragsweep.testing.retrieval import SEARCH

SPARSE = SparseRetriever(NO_STORE)


def words(text):
    return re.findall(r"\w+", text.lower())


def expanded(search, ranker=SPARSE, **settings):
    return PseudoRelevanceFeedback(**settings).expand(search, ranker)


def rm3_by_hand(texts, query, ranking, *, terms, common, weight):
    """The weights of terms, after Anserini's Rm3Reranker, one term at a time."""
    sets = [set(text) for text in texts]
    model = {}
    for passage, score in ranking:
        usual = {term for term in texts[passage] if sum(term in text for text in sets) / len(texts) <= common}
        top = sorted(usual, key=lambda term: (-texts[passage].count(term), term))[:terms]
        norm = sum(texts[passage].count(term) for term in top)
        for term in top:
            model[term] = model.get(term, 0) + texts[passage].count(term) / norm * score
    top = sorted(model, key=lambda term: (-round(model[term], 12), term))[:terms]
    total = sum(model[term] for term in top)
    weights = {term: (1 - weight) * model[term] / total for term in top}
    asked = words(query)
    for term in asked:
        weights[term] = weights.get(term, 0) + (weight if top else 1) / len(asked)
    return weights


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    "settings",
    [
        {"passages": 10, "terms": 10, "common": 0.1, "weight": 0.5},
        {"passages": 2, "terms": 3, "common": 0.5, "weight": 0.8},
        {"passages": 5, "terms": 40, "common": 1.0, "weight": 0.0},
    ],
    ids=str,
)
def test_a_sparse_query_gets_the_terms_of_rm3(manual_search, settings):
    first = SPARSE.rank(manual_search, settings["passages"])
    found = SPARSE.rank(expanded(manual_search, **settings).searches[0], 20)
    texts = [words(text) for text in manual_search.passages]
    bm25 = BM25Okapi(texts)
    rest = {key: value for key, value in settings.items() if key != "passages"}
    for query in range(0, len(manual_search.queries), 12):
        pairs = zip(first.passages[query].tolist(), first.scores[query].tolist(), strict=True)
        ranking = [pair for pair in pairs if pair[0] != NOTHING]
        weights = rm3_by_hand(texts, manual_search.queries[query], ranking, **rest)
        scores = sum(weight * bm25.get_scores([term]) for term, weight in weights.items())
        np.testing.assert_allclose(found.scores[query], np.sort(scores)[::-1][:20], rtol=0, atol=1e-9)
        np.testing.assert_allclose(scores[found.passages[query]], found.scores[query], rtol=0, atol=1e-9)


@pytest.mark.parametrize("variant", ["lucene", "bm25+"])
def test_a_weighted_query_scores_the_sum_of_its_weighted_terms(variant):
    """A term of weight 2 counts as if the query had it twice."""
    index = SparseRetriever(NO_STORE, backend="bm25s", variant=variant).index(SEARCH.passages)
    texts = ["iron iron tablets zinc", "and and in in in", "unknown", ""]
    weights = [{"iron": 2.0, "tablets": 1.0, "zinc": 1.0}, {"and": 2.0, "in": 3.0}, {"unknown": 1.0}, {}]
    np.testing.assert_allclose(index.scores(weights), index.scores(texts), rtol=0, atol=1e-12)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("settings", [{}, {"passages": 3, "weight": 0.9}, {"weight": 0.0}], ids=str)
def test_a_dense_query_moves_to_the_mean_of_the_passages(letters, manual_search, settings):
    dense = DenseRetriever(letters, NO_STORE)
    found = dense.rank(expanded(manual_search, dense, **settings).searches[0], 10)
    corpus = letters.encode(manual_search.passages, "passage").astype(float)
    weight = settings.get("weight", 0.5)
    for query, text in enumerate(manual_search.queries):
        asked = letters.encode([text], "query")[0].astype(float)
        nearest = np.argsort(-(corpus @ asked), kind="stable")[: settings.get("passages", 10)]
        moved = weight * asked + (1 - weight) * sum(corpus[each] for each in nearest) / len(nearest)
        scores = corpus @ (moved / np.sqrt(sum(moved**2)))
        np.testing.assert_allclose(found.scores[query], np.sort(scores)[::-1][:10], atol=1e-5)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("ranker", ["sparse", "dense"])
def test_the_whole_weight_on_the_query_changes_no_ranking(letters, manual_search, ranker):
    made = {"sparse": SPARSE, "dense": DenseRetriever(letters, NO_STORE)}[ranker]
    found = made.rank(expanded(manual_search, made, weight=1.0).searches[0], 10)
    plain = made.rank(manual_search, 10)
    np.testing.assert_allclose(found.scores / found.scores[:, :1], plain.scores / plain.scores[:, :1], atol=1e-6)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("setting", "ranker"),
    [
        ({"passages": 3}, "sparse"),
        ({"passages": 3}, "dense"),
        ({"terms": 3}, "sparse"),
        ({"common": 0.5}, "sparse"),
        ({"weight": 0.9}, "sparse"),
        ({"weight": 0.9}, "dense"),
        ({"weight": 0.9}, "hybrid"),
    ],
    ids=str,
)
def test_every_setting_changes_the_ranking(letters, manual_search, setting, ranker):
    dense = DenseRetriever(letters, NO_STORE)
    made = {"sparse": SPARSE, "dense": dense, "hybrid": HybridRetriever(dense, SPARSE)}[ranker]
    default, other = (made.rank(expanded(manual_search, made, **each).searches[0], 10) for each in ({}, setting))
    assert not np.array_equal(default.scores, other.scores)


def test_a_query_that_finds_nothing_has_no_feedback():
    search = Search(SEARCH.passages, ("unknown words",))
    [changed], _, changes = expanded(search)
    assert changes == ("",)
    assert (SPARSE.rank(changed, 5).passages == NOTHING).all()


def test_what_was_changed_is_told_in_words():
    search = Search(("iron zinc zinc", "iron salts", "rice", "tea", "milk"), ("iron",))
    [changed], _, changes = expanded(search, common=0.5, terms=2)
    first, second = (2.5 / (1 + 1.5 * (0.25 + 0.75 * length / 1.6)) for length in (3, 2))  # BM25 over its IDF
    zinc, iron = first * 2 / 3, first / 3 + second / 2  # more than "salts" has
    assert changes == (f"2 passages as feedback: + zinc {0.5 * zinc / (zinc + iron):.3f}".replace("0.", "."),)
    assert trace(SPARSE, changed, 0).words.added.keys() == {"iron", "zinc"}
    np.testing.assert_allclose(
        sum(trace(SPARSE, changed, 0).words.added.values())[[0, 1]], np.sort(SPARSE.rank(changed, 2).scores[0])[::-1]
    )


@pytest.mark.usefixtures("long_work")
def test_a_fusion_hands_the_same_passages_to_each_ranker(letters, manual_search):
    dense = DenseRetriever(letters, NO_STORE)
    hybrid = HybridRetriever(dense, SPARSE, 0.3)
    [changed], _, _ = expanded(manual_search, hybrid)
    by_hand = WeightedSum([0.3, 0.7]).fuse([each.rank(changed, 100) for each in (dense, SPARSE)])
    assert np.array_equal(rank(hybrid, changed, 10).scores, by_hand.scores[:, :10])
    assert changed.feedback.passages.tolist() == hybrid.rank(manual_search, 10).passages.tolist()


def test_a_search_with_feedback_has_a_name_of_its_own(store):
    kept = SparseRetriever(store)
    plain = rank(kept, SEARCH, 5)
    changed = expanded(SEARCH, kept, common=0.5).searches[0]
    assert not np.array_equal(rank(kept, changed, 5).scores, plain.scores)
    others = [{"weight": 0.6}, {"terms": 3}, {"passages": 2}, {"common": 0.2}]
    digests = [expanded(SEARCH, kept, **{"common": 0.5, **each}).searches[0].digest for each in ({}, *others)]
    assert len({SEARCH.digest, *digests}) == 6


def test_scores_that_tell_nothing_weigh_passages_alike():
    feedback = Feedback(np.array([[3, 1, NOTHING]]), np.array([[-1.0, -2.0, -np.inf]]), 10, 0.1, 0.5)
    assert feedback.of(0) == {3: 1, 1: 1}


class Deaf:
    def rank(self, search, depth):
        return SPARSE.rank(search, depth)


@pytest.mark.parametrize(
    "ranker",
    [
        Deaf(),
        RunFileRetriever("run.trec"),
        FusedRetriever({"words": SPARSE, "mine": Deaf()}),
        HybridRetriever(Deaf(), SPARSE),
        PipelineRetriever(Deaf()),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_a_ranker_that_would_ignore_the_feedback_is_refused(ranker):
    pipeline = PipelineRetriever(PipelineRetriever(ranker), PseudoRelevanceFeedback())
    with pytest.raises(
        ConfigError, match=r"^query=prf: PipelineRetriever cannot search with feedback; expected sparse"
    ):
        pipeline.check(SEARCH)
    PipelineRetriever(HybridRetriever(Deaf(), SPARSE, 0), PseudoRelevanceFeedback()).check(SEARCH)  # it uses SPARSE


class TestFeedback(ExpanderContract):
    component = PseudoRelevanceFeedback


class TestFeedbackOfAHybrid(ExpanderContract):
    component = PseudoRelevanceFeedback
    settings = {"passages": 3, "common": 0.5}  # noqa: RUF012

    @pytest.fixture(autouse=True)
    def hybrid(self, letters):
        type(self).ranker = HybridRetriever(DenseRetriever(letters, NO_STORE), SPARSE)


class TestPipelineWithFeedback(RankerContract):
    component = PipelineRetriever
    settings = {"ranker": SPARSE, "rewriter": PseudoRelevanceFeedback(common=0.5)}  # noqa: RUF012


class TestApproximateWithFeedback(RankerContract):
    component = DenseRetriever
    tolerance = 1e-6

    @pytest.fixture(autouse=True)
    def approximate(self, letters):
        type(self).settings = {"encoder": letters, "index": HnswIndex()}
        exact = DenseRetriever(letters, NO_STORE)
        type(self).search = PseudoRelevanceFeedback(passages=2).expand(RankerContract.search, exact).searches[0]


@pytest.mark.usefixtures("long_work")
def test_a_search_with_feedback_encodes_no_query_again():
    class Slow(LetterEncoder):
        def encode(self, texts, role):
            time.sleep(0.05 * (role == "query"))
            return super().encode(texts, role)

    dense = DenseRetriever(Slow(), NO_STORE)
    plain = rank(dense, SEARCH, 3).latency_ms
    fed = rank(PipelineRetriever(dense, PseudoRelevanceFeedback(passages=2)), SEARCH, 3).latency_ms
    assert (plain > 50).all()
    assert (fed > 50).all()
    assert np.median(fed) < 100
