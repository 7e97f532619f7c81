"""Times that a store has are taken again without ranking again."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from ragsweep.core.timing import Circumstances, noting, timed
from ragsweep.retrieval import PipelineRetriever, Ranking, Search, SparseRetriever, rank, ranked
from ragsweep.retrieval.ranking import Names
from ragsweep.store.stage_store import Store

WORDS = ("iron", "worm", "fever", "pale", "tea", "test", "blood", "belly", "child", "hot")
SEARCH = Search(
    tuple(f"{one} {other}" for one in WORDS for other in WORDS), tuple(f"{word} {word}" for word in 4 * WORDS)
)
LATER = 1e11  # all stored times are from before


@dataclass(frozen=True)
class Counted:
    """A user's ranker, or reranker, that notes how many queries it is asked."""

    store: Store
    asked: list[int] = field(default_factory=list, compare=False)
    times_itself: bool = True
    without_effect = ("asked",)

    def rank(self, search: Search, depth: int) -> Ranking:
        self.asked.append(len(search.queries))
        scores = np.array([[-abs(len(query) - 9) * place for place in range(100)] for query in search.queries])
        ms = timed(lambda row: None, len(search.queries)) if self.times_itself else np.ones(2)
        return ranked(np.tile(np.arange(100), (len(scores), 1)), scores, depth, ms)

    def rerank(self, search: Search, ranking: Ranking, depth: int) -> Ranking:
        self.asked.append(len(search.queries))
        return ranked(ranking.passages, ranking.scores / 2, depth)


def ranked_noting(ranker, before: float = 0) -> tuple[Ranking, list[Circumstances]]:
    with noting(before) as noted:
        return rank(ranker, SEARCH, 20), noted


def assert_same(one: Ranking, other: Ranking) -> None:
    assert np.array_equal(one.passages, other.passages)
    assert np.array_equal(one.scores, other.scores)
    assert np.array_equal(one.others, other.others)


def test_only_the_sampled_queries_are_asked_again_and_the_new_times_are_stored(store):
    ranker = Counted(store)
    first, [taken] = ranked_noting(ranker)
    again, [taken_again] = ranked_noting(ranker, before=LATER)
    assert ranker.asked == [40, 16]
    assert_same(first, again)
    assert taken.last < taken_again.first
    kept, noted = ranked_noting(ranker)
    assert ranker.asked == [40, 16]
    assert noted == [taken_again]
    assert kept.latency_ms.tolist() == again.latency_ms.tolist()


def test_times_that_were_taken_since_are_not_taken_again(store):
    ranker = Counted(store)
    _, [taken] = ranked_noting(ranker)
    _, noted = ranked_noting(ranker, before=taken.first)
    assert (ranker.asked, noted) == ([40], [taken])


def test_every_stage_of_a_pipeline_is_timed_again(store):
    reranker = Counted(store)
    pipeline = PipelineRetriever(SparseRetriever(store), reranker=reranker)
    first, [before] = ranked_noting(pipeline)
    asked = len(reranker.asked)
    again, [after] = ranked_noting(pipeline, before=LATER)
    assert_same(first, again)
    assert before.last < after.first  # the first of both stages
    assert reranker.asked[asked:] == [16, *[1] * 17]  # the pipeline times it


def test_a_ranker_that_measures_its_own_times_has_unknown_circumstances(store):
    own = Counted(store, times_itself=False)
    for _ in range(2):
        assert [each.machines for each in ranked_noting(own)[1]] == [()]


def test_names_that_a_ranker_reads_do_not_lose_the_circumstances(store):
    class Reading(Counted):
        def rank(self, search: Search, depth: int) -> Ranking:
            assert search.names().queries == tuple(f"q{text}" for text in search.queries)
            return super().rank(search, depth)

    def names() -> Names:
        passages = SEARCH.passages
        return Names(tuple(f"q{text}" for text in SEARCH.queries), passages, passages, passages)

    search = Search(SEARCH.passages, SEARCH.queries, names, "digest")
    ranker = Reading(store)
    for before, asked in ((0, [40]), (0, [40]), (LATER, [40, 16])):
        with noting(before) as noted:
            rank(ranker, search, 20)
        assert ranker.asked == asked
        assert all(each.machines for each in noted)


@pytest.mark.parametrize("rows", [[3], [0, 5, 7]])
def test_some_queries_of_a_search_keep_what_is_left_out_for_them(rows):
    unranked = np.array([[0, 1], [5, 2], [5, 3], [6, 4]])
    search = Search(SEARCH.passages, SEARCH.queries, unranked=unranked)
    some = search.rows(np.array(rows))
    assert some.queries == tuple(SEARCH.queries[row] for row in rows)
    expected = [(place, passage) for place, row in enumerate(rows) for query, passage in unranked if query == row]
    assert list(map(tuple, some.unranked.tolist())) == expected
