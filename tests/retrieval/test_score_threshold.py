"""Passages of too low a score are not retrieved, whatever ranks them."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.retrieval import (
    NOTHING,
    DenseRetriever,
    FusedRetriever,
    HybridRetriever,
    PipelineRetriever,
    ReciprocalRankFusion,
    SparseRetriever,
    rank,
    ranked,
)
from ragsweep.retrieval.ranking import reaching
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.testing.component import SEARCH

SPARSE = SparseRetriever(NO_STORE)


def pairs(ranking):
    """Passage and score of every rank of every query, without the empty ones."""
    rows = zip(ranking.passages.tolist(), ranking.scores.tolist(), strict=True)
    return [[pair for pair in zip(*row, strict=True) if pair[0] != NOTHING] for row in rows]


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=8), st.integers(-4, 4))
def test_what_is_left_reaches_the_threshold(scores, threshold):
    ranking = ranked(np.arange(len(scores))[np.newaxis], np.array([scores], float), len(scores))
    assert pairs(reaching(ranking, threshold)) == [[pair for pair in pairs(ranking)[0] if pair[1] >= threshold]]
    assert reaching(ranking, None) is ranking


@pytest.fixture
def rankers(letters, tmp_path):
    """How to make each kind of ranker with a threshold."""
    dense = DenseRetriever(letters, NO_STORE)
    return {
        "dense": partial(DenseRetriever, letters, NO_STORE),
        "sparse": partial(SparseRetriever, NO_STORE),
        "hybrid": partial(HybridRetriever, dense, SPARSE, 0.3),
        "pure": partial(HybridRetriever, dense, SPARSE, 0),
        "ranks": partial(HybridRetriever, dense, SPARSE, fusion=ReciprocalRankFusion()),
        "fused": partial(FusedRetriever, {"dense": dense, "sparse": SPARSE}),
        "pipeline": partial(PipelineRetriever, SPARSE),
    }


@pytest.mark.parametrize("name", ["dense", "sparse", "hybrid", "pure", "ranks", "fused", "pipeline"])
def test_a_threshold_cuts_the_ranking_at_its_score(rankers, name):
    without = pairs(rank(rankers[name](), SEARCH, 10))
    threshold = float(np.median([score for row in without for _, score in row]))
    cut = pairs(rank(rankers[name](score_threshold=threshold), SEARCH, 10))
    assert cut == [[pair for pair in row if pair[1] >= threshold] for row in without]
    assert cut != without


def test_all_thresholds_share_one_ranking_in_the_store(tmp_path):
    store = Store(str(tmp_path))
    for threshold in (None, 1.0, 2.0):
        rank(SparseRetriever(store, score_threshold=threshold), SEARCH, 3)
    assert len([*tmp_path.glob("sparse/*/scores.npy")]) == 1
