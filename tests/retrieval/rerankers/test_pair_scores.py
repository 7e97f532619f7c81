"""Scores of pairs are kept, whatever ranking they were needed for."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ragsweep.core.errors import RetrieverError
from ragsweep.retrieval import NOTHING, Ranking, Search, SparseRetriever
from ragsweep.retrieval.rerankers import pair_scores as module
from ragsweep.retrieval.rerankers.pair_scores import pair_scores
from ragsweep.store.stage_store import NO_STORE


class Shared:
    """Scores a pair by the letters that its texts share, and remembers what it scored."""

    def __init__(self, fails_after=None):
        self.asked, self.fails_after = [], fails_after

    def __call__(self, pairs):
        if self.fails_after is not None and len(self.asked) >= self.fails_after:
            raise KeyboardInterrupt
        self.asked += pairs
        return np.array([self.of(*pair) for pair in pairs])

    @staticmethod
    def of(query, passage):
        return float(len({*query} & {*passage}) / len({*passage}))


@pytest.fixture
def first(manual_search):
    return SparseRetriever(NO_STORE).rank(manual_search, 20)


def by_hand(search, ranking):
    rows = zip(search.queries, ranking.passages.tolist(), strict=True)
    of = [[-np.inf if p == NOTHING else Shared.of(query, search.passages[p]) for p in row] for query, row in rows]
    return np.array(of)


@pytest.mark.usefixtures("long_work")
def test_each_candidate_gets_the_score_of_its_pair_which_is_scored_once(store, manual_search, first):
    scores = pair_scores(manual_search, first, Shared(), NO_STORE, "shared")
    np.testing.assert_array_equal(scores, by_hand(manual_search, first))
    fewer = Ranking(first.passages[:, :5], first.scores[:, :5])
    shared = Shared()
    for ranking in (fewer, first, fewer):
        scores = pair_scores(manual_search, ranking, shared, store, "shared")
        np.testing.assert_array_equal(scores, by_hand(manual_search, ranking))
    assert len(shared.asked) == len(set(shared.asked))
    again = Shared()
    pair_scores(manual_search, first, again, store, "shared")
    assert again.asked == []


def test_a_copy_of_a_passage_is_scored_once(store):
    search = Search(("iron", "tea", "iron"), ("iron",))
    shared = Shared()
    scores = pair_scores(search, Ranking(np.array([[2, 1, 0]]), np.zeros((1, 3))), shared, store, "shared")
    assert scores[0, 0] == scores[0, 2]
    assert len(shared.asked) == 2


@pytest.mark.usefixtures("long_work")
def test_a_process_that_ends_loses_a_piece_at_most(store, manual_search, first, monkeypatch):
    monkeypatch.setattr(module, "PAIRS_AT_ONCE", 16)
    ended, resumed, whole = Shared(fails_after=64), Shared(), Shared()
    with pytest.raises(KeyboardInterrupt):
        pair_scores(manual_search, first, ended, store, "shared")
    scores = pair_scores(manual_search, first, resumed, store, "shared")
    pair_scores(manual_search, first, whole, NO_STORE, "shared")
    assert len(ended.asked) == 64
    assert ended.asked + resumed.asked == whole.asked
    np.testing.assert_array_equal(scores, by_hand(manual_search, first))


@pytest.mark.usefixtures("long_work")
def test_the_longest_passages_come_first_and_each_at_one_time(manual_search, first):
    shared = Shared()
    pair_scores(manual_search, first, shared, NO_STORE, "shared")
    passages = [passage for _, passage in shared.asked]
    assert [len(passage) for passage in passages] == sorted(map(len, passages), reverse=True)
    changes = sum(one != other for one, other in pairwise(passages))
    assert changes == len(set(passages)) - 1


def test_a_score_that_is_no_number_is_refused_and_not_kept(store, manual_search, first):
    with pytest.raises(RetrieverError, match=r"^reranker: scores a pair nan, expected a number \(query: '"):
        pair_scores(manual_search, first, lambda pairs: np.full(len(pairs), np.nan), store, "nan")
    assert not list(Path(store.path).glob("pairs-*/*/scores.npy"))
