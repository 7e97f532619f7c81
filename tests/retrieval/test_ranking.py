"""Ordering candidates, timing single queries, and passages of too low a score, which are not retrieved."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rankings import SPARSE, order_of, pairs_of, ranking_of

from ragsweep.core.timing import sample
from ragsweep.retrieval import (
    NOTHING,
    DenseRetriever,
    FusedRetriever,
    HybridRetriever,
    PipelineRetriever,
    ReciprocalRankFusion,
    Search,
    SparseRetriever,
    rank,
    ranked,
)
from ragsweep.retrieval.ranking import reaching
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.testing.component import SEARCH

CANDIDATES = st.dictionaries(st.integers(0, 9), st.integers(-2, 2), min_size=1)


@given(CANDIDATES, st.integers(1, 10))
def test_the_order_is_score_descending_then_corpus_order(candidates, depth):
    expected = sorted(candidates, key=lambda passage: (-candidates[passage], passage))[:depth]
    scores = np.array([[*candidates.values()]], float)
    assert order_of(ranked(np.array([[*candidates]]), scores, depth)) == [expected]


def test_nothing_stands_behind_every_passage_whatever_its_score():
    ranking = ranked(np.array([[NOTHING, 5]]), np.array([[9.0, -3]]), 100)
    assert (ranking.passages.tolist(), ranking.scores.tolist()) == ([[5, NOTHING]], [[-3, -np.inf]])


def test_a_latency_sample_is_at_most_16_queries_from_first_to_last():
    assert [sample(queries).tolist() for queries in (1, 3, 31)] == [[0], [0, 1, 2], [*range(0, 31, 2)]]
    for queries in (133, 100_000):
        chosen = sample(queries).tolist()
        assert (len(chosen), chosen[0], chosen[-1]) == (16, 0, queries - 1)


def test_other_texts_are_another_search():
    texts = [(("ab", "c"), ("q",)), (("a", "bc"), ("q",)), (("ab", "c"), ("p",)), (("ab", "c", "q"), ())]
    assert len({Search(*of_search).digest for of_search in texts}) == len(texts)


@pytest.mark.parametrize("rows", [[3], [0, 5, 7]])
def test_some_queries_of_a_search_keep_what_is_left_out_for_them(rows):
    queries = tuple("abcdefgh")
    unranked = np.array([[0, 1], [5, 2], [5, 3], [6, 4]])
    some = Search(("one", "two", "three", "four", "five"), queries, unranked=unranked).rows(np.array(rows))
    assert some.queries == tuple(queries[row] for row in rows)
    expected = [(place, passage) for place, row in enumerate(rows) for query, passage in unranked if query == row]
    assert list(map(tuple, some.unranked.tolist())) == expected


# Too low a score


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=8), st.integers(-4, 4))
def test_what_is_left_reaches_the_threshold(scores, threshold):
    ranking = ranking_of(dict(enumerate(scores)))
    assert pairs_of(reaching(ranking, threshold)) == [[pair for pair in pairs_of(ranking)[0] if pair[1] >= threshold]]
    assert reaching(ranking, None) is ranking


def test_a_threshold_cuts_the_ranking_at_its_score_whatever_ranks(letters):
    dense = DenseRetriever(letters, NO_STORE)
    for make in (
        partial(DenseRetriever, letters, NO_STORE),
        partial(SparseRetriever, NO_STORE),
        partial(HybridRetriever, dense, SPARSE, 0.3),
        partial(HybridRetriever, dense, SPARSE, 0),
        partial(HybridRetriever, dense, SPARSE, fusion=ReciprocalRankFusion()),
        partial(FusedRetriever, {"dense": dense, "sparse": SPARSE}),
        partial(PipelineRetriever, SPARSE),
    ):
        without = pairs_of(rank(make(), SEARCH, 10))
        threshold = float(np.median([score for row in without for _, score in row]))
        cut = pairs_of(rank(make(score_threshold=threshold), SEARCH, 10))
        assert cut == [[pair for pair in row if pair[1] >= threshold] for row in without] != without, make


def test_all_thresholds_share_one_ranking_in_the_store(tmp_path):
    store = Store(str(tmp_path))
    for threshold in (None, 1.0, 2.0):
        rank(SparseRetriever(store, score_threshold=threshold), SEARCH, 3)
    assert len([*tmp_path.glob("sparse/*/scores.npy")]) == 1
