"""Dense and sparse together."""

import numpy as np
import pytest

from ragsweep.core.errors import ConfigError
from ragsweep.retrieval import (
    NOTHING,
    CombMax,
    DenseRetriever,
    HybridRetriever,
    ReciprocalRankFusion,
    Search,
    SparseRetriever,
    WeightedSum,
    rank,
    trace,
)


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


def test_the_ranking_is_the_weighted_sum_over_each_ones_candidates(hybrid, dense, sparse, manual_search):
    fused = []
    for query in range(len(manual_search.queries)):
        sums = {}
        for weight, retriever in ((0.3, dense), (0.7, sparse)):
            found = retriever.rank(manual_search, 20).row(query)
            scores = dict(zip(found.passages[0].tolist(), found.scores[0].tolist(), strict=True))
            scores.pop(NOTHING, None)
            low, high = min(scores.values()), max(scores.values())
            for passage, score in scores.items():
                sums[passage] = sums.get(passage, 0) + weight * (score - low) / (high - low)
        fused.append(sorted(sums, key=lambda passage: (-round(sums[passage], 12), passage))[:10])
    assert hybrid(alpha=0.3, candidates=20).rank(manual_search, 10).passages.tolist() == fused


@pytest.mark.parametrize(
    "setting", [{"alpha": 0.3}, {"candidates": 5}, {"fusion": ReciprocalRankFusion()}], ids=" ".join
)
def test_every_setting_changes_the_ranking(hybrid, manual_search, setting):
    default = hybrid().rank(manual_search, 10)
    assert not np.array_equal(hybrid(**setting).rank(manual_search, 10).passages, default.passages)


def test_candidates_null_takes_the_whole_corpus(hybrid, manual_search):
    whole = hybrid(candidates=len(manual_search.passages)).rank(manual_search, 10)
    assert same(hybrid(candidates=None).rank(manual_search, 10), whole)


def test_a_query_that_one_retriever_cannot_answer_keeps_the_others_order(hybrid, dense):
    search = Search(("iron tablet", "zinc", "birth"), ("anemia",))  # no word in common, but letters
    assert np.array_equal(hybrid().rank(search, 3).passages, dense.rank(search, 3).passages)


def test_a_query_costs_at_least_what_both_retrievers_cost(hybrid, dense, sparse, manual_search):
    parts = rank(dense, manual_search, 100).latency_ms + rank(sparse, manual_search, 100).latency_ms
    assert (hybrid().rank(manual_search, 10).latency_ms >= parts).all()


def test_alpha_is_the_weight_of_any_fusion_that_takes_weights(hybrid, dense, sparse, manual_search):
    found = hybrid(alpha=0.3, fusion=ReciprocalRankFusion(constant=5)).rank(manual_search, 10)
    for query in range(len(manual_search.queries)):
        sums = {}
        for weight, retriever in ((0.3, dense), (0.7, sparse)):
            passages = retriever.rank(manual_search, 100).row(query).passages[0]
            for rank_, passage in enumerate(passages[passages != NOTHING].tolist(), start=1):
                sums[passage] = sums.get(passage, 0) + weight / (5 + rank_)
        assert found.passages[query].tolist() == sorted(sums, key=lambda each: (-sums[each], each))[:10]


def test_alpha_has_no_effect_on_a_fusion_without_weights(hybrid, manual_search):
    one, other = (hybrid(alpha=alpha, fusion=CombMax()) for alpha in (0.3, 0.7))
    assert same(one.rank(manual_search, 10), other.rank(manual_search, 10))
    assert one.without_effect == ("alpha",)
    assert hybrid(alpha=0.3).without_effect == ()
    assert hybrid(alpha=1, fusion=CombMax()).without_effect == ("sparse", "candidates", "fusion")


def test_weights_beside_alpha_are_refused(hybrid):
    with pytest.raises(ConfigError, match=r"fusion\.weights: found \[0\.5, 0\.5\], expected null, as alpha gives"):
        hybrid(fusion=WeightedSum([0.5, 0.5]))


@pytest.mark.parametrize(
    ("fusion", "formula"),
    [
        (WeightedSum(), "0.7 * norm of dense + 0.3 * norm of sparse"),
        (ReciprocalRankFusion(), "0.7 / (60 + rank in dense) + 0.3 / (60 + rank in sparse)"),
        (CombMax(), "the largest norm of dense, sparse"),
    ],
)
def test_the_trace_says_how_the_score_is_made(hybrid, manual_search, fusion, formula):
    assert trace(hybrid(fusion=fusion), manual_search, 0).formula == formula
