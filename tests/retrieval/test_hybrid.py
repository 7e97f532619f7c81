"""Dense and sparse together."""

import re
from dataclasses import dataclass
from itertools import chain

import bm25s
import numpy as np
import pytest
from rank_bm25 import BM25Okapi

from ragsweep.core.errors import ConfigError
from ragsweep.retrieval import (
    DenseRetriever,
    Fusion,
    HybridRetriever,
    ReciprocalRankFusion,
    Search,
    SparseRetriever,
    WeightedSum,
)
from ragsweep.store.stage_store import NO_STORE


@pytest.fixture
def dense(letters, store):
    return DenseRetriever(letters, store)


@pytest.fixture
def sparse(store):
    return SparseRetriever(store)


@pytest.fixture
def hybrid(dense, sparse):
    def hybrid(alpha=0.7, candidates=100, **settings):
        return HybridRetriever(dense, sparse, alpha=alpha, candidates=candidates, **settings)

    return hybrid


def same(one, other):
    return np.array_equal(one.passages, other.passages) and np.array_equal(one.scores, other.scores)


def test_alpha_1_is_the_dense_ranking(hybrid, dense, manual_search):
    assert same(hybrid(alpha=1).rank(manual_search, 10), dense.rank(manual_search, 10))


def test_alpha_0_is_the_sparse_ranking(hybrid, sparse, manual_search):
    assert same(hybrid(alpha=0).rank(manual_search, 10), sparse.rank(manual_search, 10))


@dataclass(frozen=True)
class FirstRanking(Fusion):
    """A fusion without weights."""

    def fuse(self, rankings):
        return rankings[0]


@pytest.mark.usefixtures("long_work")
def test_alpha_has_no_effect_on_a_fusion_without_weights(hybrid, manual_search):
    one, other = (hybrid(alpha=alpha, fusion=FirstRanking()) for alpha in (0.3, 0.7))
    assert same(one.rank(manual_search, 10), other.rank(manual_search, 10))
    assert one.without_effect == ("alpha",)
    assert hybrid(alpha=0.3).without_effect == ()
    assert hybrid(alpha=1, fusion=FirstRanking()).without_effect == ("sparse", "candidates", "fusion")


def test_weights_beside_alpha_are_refused(hybrid):
    with pytest.raises(ConfigError, match=r"fusion\.weights: found \[0\.5, 0\.5\], expected null, as alpha gives"):
        hybrid(fusion=WeightedSum([0.5, 0.5]))


TEXTS = (
    "Iron and folic acid tablets are taken daily.",
    "A rapid test finds malaria.",
    "Iron is taken with lemon water, not with tea.",
    "Zinc is given for fourteen days.",
    "The iron test: pale palms, pale eyelids.",
    "Breast milk only, for six months.",
)
ASKED = ("Are iron tablets taken with tea?", "Which test finds malaria?", "xyz", "iron iron test")


def terms(text):
    return re.findall(r"\w+", text.lower())


def okapi(search):
    bm25 = BM25Okapi([terms(text) for text in search.passages])
    return [bm25.get_scores(terms(text)) for text in search.queries]


def lucene(search):
    bm25 = bm25s.BM25(method="lucene", k1=1.5, b=0.75, dtype="float64")
    corpus = [terms(text) for text in search.passages]
    bm25.index(corpus, show_progress=False)
    vocabulary = {*chain.from_iterable(corpus)}
    asked = [[term for term in terms(text) if term in vocabulary] for text in search.queries]
    return [bm25.get_scores(query) if query else np.zeros(len(corpus)) for query in asked]


def cosines(search, encoder):
    passages, queries = (encoder.encode(texts, "").astype(float) for texts in (search.passages, search.queries))
    return [passages @ query for query in queries]


def loop_over_whole_vectors(dense, sparse, alpha):
    """The fused scores of all passages, a query at a time."""
    for vectors in zip(dense, sparse, strict=True):
        scaled = [(v - v.min()) / (v.max() - v.min()) if v.max() > v.min() else np.ones(len(v)) for v in vectors]
        yield alpha * scaled[0] + (1 - alpha) * scaled[1]


@pytest.mark.parametrize(("backend", "scores_of"), [("rank_bm25", okapi), ("bm25s", lucene)])
def test_without_a_limit_the_scores_of_all_passages_are_normalised(letters, backend, scores_of):
    search = Search(TEXTS, ASKED)
    whole, sparse = scores_of(search), SparseRetriever(NO_STORE, backend=backend)
    ranking = HybridRetriever(DenseRetriever(letters, NO_STORE), sparse, 0.4, candidates=None).rank(search, len(TEXTS))
    expected = [*loop_over_whole_vectors(cosines(search, letters), whole, 0.4)]
    for query, scores in enumerate(expected):
        order = sorted(range(len(TEXTS)), key=lambda passage: (-round(scores[passage], 9), passage))
        assert ranking.passages[query].tolist() == order
        assert ranking.scores[query] == pytest.approx(scores[order], abs=1e-6)


def test_a_fusion_by_ranks_gives_no_rank_to_what_was_not_retrieved(letters):
    hybrid = HybridRetriever(
        DenseRetriever(letters, NO_STORE), SparseRetriever(NO_STORE), candidates=None, fusion=ReciprocalRankFusion()
    )
    assert hybrid.rank(Search(TEXTS, ("xyz",)), 1).scores.tolist() == [[0.7 / 61]]
