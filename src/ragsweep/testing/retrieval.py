"""Tests of the stages of retrieval, of systems that retrieve elsewhere, and of what is returned."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from ragsweep.models.encoders.embeddings import check_embeddings
from ragsweep.retrieval import NOTHING, Ranker, Ranking, Search, SparseRetriever, Trace, rank
from ragsweep.retrieval.stages import fuse, rerank, rewrite
from ragsweep.store.identity import identity
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.testing.component import SEARCH, ComponentContract


def equal(one: Ranking, other: Ranking) -> bool:
    """Whether two rankings have the same passages and scores, to the last bit."""
    return np.array_equal(one.passages, other.passages) and np.array_equal(one.scores, other.scores)


class StageContract(ComponentContract):
    """Tests of every stage."""

    def test_what_it_computed_can_be_found_again(self, store: Store) -> None:
        assert identity(self.make(store)) == identity(self.make(store))


class OrderContract(StageContract):
    """Tests of a stage that orders passages.

    Attributes:
        search: The corpus and the queries.
        tolerance: How far a score may differ beside other queries, as fast libraries of linear algebra round.
    """

    search: ClassVar[Search] = SEARCH
    tolerance: ClassVar[float] = 0

    def ordered(self, made: Any, queries: Any, depth: int) -> Ranking:
        """What it returns itself for some of the queries."""
        raise NotImplementedError

    def checked(self, made: Any, search: Search, depth: int) -> Ranking:
        """What is kept of it for a search, if it has a store; its shape, range, order and duplicates are checked."""
        raise NotImplementedError

    def chooses_by_depth(self, made: Any) -> bool:
        """Whether it orders only as many candidates as are asked for, so that a lower depth may begin otherwise."""
        return False

    @pytest.mark.parametrize("depth", [1, 5, 1000])
    def test_it_returns_a_ranking_of_any_depth(self, made: Any, depth: int) -> None:
        assert self.checked(made, self.search, depth).passages.shape[1] <= depth

    def test_it_ranks_the_same_way_each_time(self) -> None:
        every = range(len(self.search.queries))
        first, second = (self.ordered(self.make(NO_STORE), every, 5) for _ in range(2))
        assert equal(first, second)

    def test_a_query_is_ranked_the_same_beside_any_others(self, made: Any) -> None:
        together = _rows(self.ordered(made, range(len(self.search.queries)), 5))
        for query, row in enumerate(together):
            [alone] = _rows(self.ordered(made, [query], 5))
            assert [passage for passage, _ in alone] == [passage for passage, _ in row]
            scores = [score for _, score in row]
            assert [score for _, score in alone] == pytest.approx(scores, abs=self.tolerance, rel=0)

    def test_a_lower_depth_is_the_beginning_of_a_higher_one(self, made: Any) -> None:
        if self.chooses_by_depth(made):
            pytest.skip("chooses as many candidates as are asked for")
        low, high = (self.ordered(made, range(len(self.search.queries)), depth) for depth in (3, 6))
        assert [row[:3] for row in _rows(high)] == _rows(low)

    def test_a_stored_ranking_is_the_one_that_was_computed(self, store: Store) -> None:
        made, kept = (self.checked(self.make(store), self.search, 5) for _ in range(2))
        assert equal(made, kept)
        assert equal(kept, self.checked(self.make(NO_STORE), self.search, 5))


class RankerContract(OrderContract):
    """Tests of a ranker."""

    def ordered(self, made: Any, queries: Any, depth: int) -> Ranking:
        """The ranking of these queries."""
        ranking: Ranking = made.rank(self.search.rows(np.array(queries)), depth)
        return ranking

    def checked(self, made: Any, search: Search, depth: int) -> Ranking:
        """The ranking of a search."""
        return rank(made, search, depth)

    def chooses_by_depth(self, made: Any) -> bool:
        """What the ranker says."""
        return bool(made.chooses_by_depth)

    def test_a_corpus_of_one_passage_can_be_searched(self, made: Ranker) -> None:
        self._needs_no_other_corpus(made)
        rank(made, Search(self.search.passages[:1], self.search.queries), 5)

    def test_another_corpus_does_not_take_the_ranking_of_this_one(self, store: Store) -> None:
        self._needs_no_other_corpus(self.make(NO_STORE))
        other = Search(self.search.passages[::-1], self.search.queries)
        rank(self.make(store), self.search, 5)
        assert equal(rank(self.make(store), other, 5), rank(self.make(NO_STORE), other, 5))

    def _needs_no_other_corpus(self, made: Ranker) -> None:
        if made.finds_by_name:
            pytest.skip("ranks for a corpus of its own")

    def test_it_says_something_of_each_query(self, made: Ranker) -> None:
        """As far as it says anything: details, how a query got its ranking."""
        made.check(self.search)
        assert {len(texts) for texts in made.details(self.search).values()} <= {len(self.search.queries)}
        assert isinstance(made.trace(self.search, 0), Trace)


class FusionContract(StageContract):
    """Tests of a fusion.

    Attributes:
        rankings: How many rankings it is given.
    """

    rankings: ClassVar[int] = 3

    @pytest.fixture
    def given(self) -> list[Ranking]:
        """Rankings of the same queries, of different depths; some have nothing for some queries."""
        variants = [SparseRetriever(NO_STORE), SparseRetriever(NO_STORE, b=0.0), SparseRetriever(NO_STORE, k1=0.1)]
        return [variants[number % 3].rank(SEARCH, 3 + number) for number in range(self.rankings)]

    def test_it_returns_a_ranking_of_what_was_ranked(self, made: Any, given: list[Ranking]) -> None:
        """Each passage comes from one of the rankings, and there are no more places than they have together."""
        for depth in (1, 100):
            cut = [Ranking(ranking.passages[:, :depth], ranking.scores[:, :depth]) for ranking in given]
            for query, row in enumerate(_rows(fuse(made, cut, SEARCH, 100))):
                assert {passage for passage, _ in row} <= {hit for ranking in cut for hit, _ in _rows(ranking)[query]}

    def test_a_query_is_fused_the_same_beside_any_others(self, made: Any, given: list[Ranking]) -> None:
        """A fused ranking depends on nothing but the rankings of its query."""
        together = _rows(made.fuse(given))
        for query in range(len(SEARCH.queries)):
            assert _rows(made.fuse([ranking.row(query) for ranking in given]))[0] == together[query]


class RerankerContract(OrderContract):
    """Tests of a reranker. It is given rankings by BM25, which has nothing for one of the queries."""

    def ordered(self, made: Any, queries: Any, depth: int) -> Ranking:
        """The candidates of these queries, reranked."""
        search = self.search.rows(np.array(queries))
        ranking: Ranking = made.rerank(search, SparseRetriever(NO_STORE).rank(search, 8), depth)
        return ranking

    def checked(self, made: Any, search: Search, depth: int) -> Ranking:
        """The candidates of a search, reranked: each passage is one of those that it was given."""
        return rerank(made, search, SparseRetriever(NO_STORE).rank(search, 8), depth)


class EncoderContract(StageContract):
    """Tests of an encoder.

    Attributes:
        search: Has the texts.
        tolerance: How far an embedding may differ beside other texts; 0 for an encoder that computes each alone.
    """

    search: ClassVar[Search] = SEARCH
    tolerance: ClassVar[float] = 1e-5

    @pytest.mark.parametrize("role", ["query", "passage"])
    def test_embeddings_are_of_length_1_and_do_not_depend_on_the_texts_beside_them(self, made: Any, role: str) -> None:
        texts = self.search.passages
        together = check_embeddings(made.encode(texts, role), made, texts)
        for row, text in enumerate(texts):
            np.testing.assert_allclose(made.encode([text], role)[0], together[row], atol=self.tolerance)

    def test_queries_and_passages_have_the_same_dimensions(self, made: Any) -> None:
        assert made.encode(["iron"], "query").shape == made.encode(["iron"], "passage").shape

    def test_the_fingerprint_is_a_text_that_stays(self) -> None:
        first, second = (self.make(NO_STORE).fingerprint for _ in range(2))
        assert isinstance(first, str)
        assert first == second


class RewriterContract(StageContract):
    """Tests of a rewriter.

    Attributes:
        search: Has the queries.
    """

    search: ClassVar[Search] = SEARCH

    def test_every_query_gets_one_text(self, made: Any) -> None:
        assert len(rewrite(made, self.search.queries).queries) == len(self.search.queries)

    def test_a_query_is_rewritten_the_same_beside_any_others(self, made: Any) -> None:
        together = list(made.rewrite(self.search.queries))
        assert together == [made.rewrite([query])[0] for query in self.search.queries]


class ExpanderContract(StageContract):
    """Tests of a rewriter with a method `expand`.

    Attributes:
        search: The corpus and the queries.
        ranker: What it may rank passages with.
    """

    search: ClassVar[Search] = SEARCH
    ranker: ClassVar[Ranker] = SparseRetriever(NO_STORE)

    def test_every_query_is_searched_for_in_the_same_corpus(self, made: Any) -> None:
        """Each search has the passages and as many queries, and it is said of every query what was changed."""
        searches, latency_ms, changes, _ = made.expand(self.search, self.ranker)
        assert len(searches) >= 1
        assert all(search.passages == self.search.passages for search in searches)
        for texts in (*(search.queries for search in searches), changes):
            assert isinstance(texts, tuple)
            assert [type(text) for text in texts] == [str] * len(self.search.queries)
        assert len(latency_ms) in (0, len(self.search.queries))
        assert (latency_ms >= 0).all()

    def test_a_query_is_expanded_the_same_beside_any_others(self, made: Any) -> None:
        """An expansion depends on nothing but its query, the corpus and the ranker."""
        together = made.expand(self.search, self.ranker)
        for query in range(len(self.search.queries)):
            alone = made.expand(self.search.row(query), self.ranker)
            expected = [search.row(query).digest for search in together.searches]
            assert [search.digest for search in alone.searches] == expected
            assert alone.changes == together.changes[query : query + 1]

    def test_it_expands_the_same_way_each_time(self, store: Store) -> None:
        """Computed, kept and read again, the searches are the same, and without a store, too."""
        made = [self.make(keeper).expand(self.search, self.ranker) for keeper in (store, store, NO_STORE)]
        assert len({tuple(search.digest for search in expansion.searches) for expansion in made}) == 1
        assert len({expansion.changes for expansion in made}) == 1

    def test_a_corpus_of_one_passage_can_be_searched(self, made: Any) -> None:
        made.expand(Search(self.search.passages[:1], self.search.queries), self.ranker)


def _rows(ranking: Ranking) -> list[list[tuple[int, float]]]:
    """The passages of each query with their scores."""
    rows = zip(ranking.passages.tolist(), ranking.scores.tolist(), strict=True)
    return [[pair for pair in zip(*row, strict=True) if pair[0] != NOTHING] for row in rows]
