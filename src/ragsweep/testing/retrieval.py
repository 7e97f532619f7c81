"""What must hold of the stages of retrieval."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from ragsweep.models.encoders.embeddings import check_embeddings
from ragsweep.retrieval import NOTHING, Ranker, Ranking, Search, SparseRetriever, Trace, rank
from ragsweep.retrieval.stages import fuse, rerank
from ragsweep.store.identity import identity
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.testing.component import ComponentContract

SEARCH = Search(
    passages=(
        "Anaemia in pregnancy is a haemoglobin below 11 g/dl; below 7 g/dl it is severe.",
        "Iron and folic acid tablets are taken daily from the second trimester, not with tea.",
        "A child with fast breathing and chest indrawing has pneumonia and is referred at once.",
        "Oral rehydration salts are given after each loose stool; zinc for fourteen days.",
        "Measure blood pressure at every visit: 140/90 or more needs a second reading.",
        "Vaccines are kept between 2 and 8 degrees; a frozen vial is shaken and discarded.",
        "Iron and folic acid tablets are taken daily from the second trimester, not with tea.",
        "Exclusive breastfeeding for six months; nothing else, not even water.",
        "À 38,5 °C, on donne du paracétamol : 15 mg/kg.",
        "Malaria is found with a rapid test. Treat at once and give the whole course.",
        "—",
        "Dengue makes the platelets fall. Watch for bleeding and belly pain.",
    ),
    queries=(
        "When are iron tablets taken?",
        "Which test finds malaria?",
        "paracétamol 38,5 °C",
        "???",
        "A woman is pale and tired: what is her haemoglobin?",
        "When are iron tablets taken?",
    ),
)


def same(one: Ranking, other: Ranking) -> bool:
    """Whether two rankings have the same passages and scores, to the last bit."""
    return np.array_equal(one.passages, other.passages) and np.array_equal(one.scores, other.scores)


class StageContract(ComponentContract):
    """What must hold of every stage."""

    def test_what_it_computed_can_be_found_again(self, store: Store) -> None:
        """The same settings give the same key of the store."""
        assert identity(self.make(store)) == identity(self.make(store))


class RankerContract(StageContract):
    """What must hold of a ranker.

    Attributes:
        search: The corpus and the queries.
        tolerance: How far a score may differ beside other queries, as fast libraries of linear algebra round.
    """

    search: ClassVar[Search] = SEARCH
    tolerance: ClassVar[float] = 0

    @pytest.mark.parametrize("depth", [1, 5, 1000])
    def test_it_returns_a_ranking_of_any_depth(self, made: Ranker, depth: int) -> None:
        """Shape, range, order and duplicates are checked."""
        assert rank(made, self.search, depth).passages.shape[1] <= depth

    def test_it_finds_nothing_where_it_says_why(self, made: Ranker) -> None:
        """One that says why nothing is found says it of each query, and only where its ranking is empty."""
        silences = made.silences(self.search)
        assert len(silences) == len(self.search.queries)
        empty = (made.rank(self.search, 5).passages == NOTHING).all(axis=1)
        assert all(empty[row] for row, silence in enumerate(silences) if silence is not None and silence.whole)

    def test_it_ranks_the_same_way_each_time(self) -> None:
        """Two objects of the same settings give the same bits."""
        first, second = (self.make(NO_STORE).rank(self.search, 5) for _ in range(2))
        assert same(first, second)

    def test_a_query_is_ranked_the_same_beside_any_others(self, made: Ranker) -> None:
        """A ranking depends on nothing but its query and the corpus."""
        together = _rows(made.rank(self.search, 5))
        for query in range(len(self.search.queries)):
            [alone] = _rows(made.rank(self.search.row(query), 5))
            assert [passage for passage, _ in alone] == [passage for passage, _ in together[query]]
            scores = [score for _, score in together[query]]
            assert [score for _, score in alone] == pytest.approx(scores, abs=self.tolerance, rel=0)

    def test_a_lower_depth_is_the_beginning_of_a_higher_one(self, made: Ranker) -> None:
        """So a ranking can be cut at several cutoffs."""
        if made.chooses_by_depth:
            pytest.skip("chooses as many candidates as are asked for")
        low, high = made.rank(self.search, 3), made.rank(self.search, 10)
        assert [row[:3] for row in _rows(high)] == _rows(low)

    def test_a_corpus_of_one_passage_can_be_searched(self, made: Ranker) -> None:
        """The smallest corpus that there is."""
        self._needs_no_other_corpus(made)
        rank(made, Search(self.search.passages[:1], self.search.queries), 5)

    def test_a_stored_ranking_is_the_one_that_was_computed(self, store: Store) -> None:
        """Computed, kept and read again, the ranking is the same."""
        made, kept = (rank(self.make(store), self.search, 5) for _ in range(2))
        assert same(made, kept)
        assert same(kept, rank(self.make(NO_STORE), self.search, 5))

    def test_another_corpus_does_not_take_the_ranking_of_this_one(self, store: Store) -> None:
        """What is kept is found by the texts that it was computed from."""
        self._needs_no_other_corpus(self.make(NO_STORE))
        other = Search(self.search.passages[::-1], self.search.queries)
        rank(self.make(store), self.search, 5)
        assert same(rank(self.make(store), other, 5), rank(self.make(NO_STORE), other, 5))

    def _needs_no_other_corpus(self, made: Ranker) -> None:
        if made.finds_by_name:
            pytest.skip("ranks for a corpus of its own")

    def test_it_says_something_of_each_query(self, made: Ranker) -> None:
        """As far as it says anything: details, how a query got its ranking."""
        made.check(self.search)
        assert {len(texts) for texts in made.details(self.search).values()} <= {len(self.search.queries)}
        assert isinstance(made.trace(self.search, 0), Trace)


class FusionContract(StageContract):
    """What must hold of a fusion.

    Attributes:
        rankings: How many rankings it is given.
    """

    rankings: ClassVar[int] = 3

    @pytest.fixture
    def given(self) -> list[Ranking]:
        """Rankings of the same queries, of different depths; some have nothing for some queries."""
        variants = [SparseRetriever(NO_STORE), SparseRetriever(NO_STORE, b=0.0), SparseRetriever(NO_STORE, k1=0.1)]
        return [variants[each % 3].rank(SEARCH, 3 + each) for each in range(self.rankings)]

    def test_it_returns_a_ranking_of_what_was_ranked(self, made: Any, given: list[Ranking]) -> None:
        """Each passage comes from one of the rankings."""
        fused = fuse(made, given, SEARCH, 100)
        for query, row in enumerate(_rows(fused)):
            assert {passage for passage, _ in row} <= {each for ranking in given for each, _ in _rows(ranking)[query]}

    def test_a_query_is_fused_the_same_beside_any_others(self, made: Any, given: list[Ranking]) -> None:
        """A fused ranking depends on nothing but the rankings of its query."""
        together = _rows(made.fuse(given))
        for query in range(len(SEARCH.queries)):
            assert _rows(made.fuse([ranking.row(query) for ranking in given]))[0] == together[query]


class RerankerContract(StageContract):
    """What must hold of a reranker.

    Attributes:
        search: The corpus and the queries.
    """

    search: ClassVar[Search] = SEARCH

    @pytest.fixture
    def given(self) -> Ranking:
        """A ranking by BM25, which has nothing for one of the queries."""
        return SparseRetriever(NO_STORE).rank(self.search, 8)

    @pytest.mark.parametrize("depth", [1, 5, 100])
    def test_it_returns_a_ranking_of_what_it_was_given(self, made: Any, given: Ranking, depth: int) -> None:
        """Each passage is one of those to rerank, and there are at most as many as asked for."""
        rerank(made, self.search, given, depth)

    def test_a_query_is_reranked_the_same_beside_any_others(self, made: Any, given: Ranking) -> None:
        """A ranking depends on nothing but its query and that query's candidates."""
        together = _rows(made.rerank(self.search, given, 5))
        for query in range(len(self.search.queries)):
            assert _rows(made.rerank(self.search.row(query), given.row(query), 5))[0] == together[query]

    def test_it_reranks_the_same_way_each_time(self, given: Ranking) -> None:
        """Two objects of the same settings give the same bits."""
        first, second = (self.make(NO_STORE).rerank(self.search, given, 5) for _ in range(2))
        assert same(first, second)

    def test_a_stored_ranking_is_the_one_that_was_computed(self, store: Store, given: Ranking) -> None:
        """Computed, kept and read again, the ranking is the same."""
        made, kept = (rerank(self.make(store), self.search, given, 5) for _ in range(2))
        assert same(made, kept)
        assert same(kept, rerank(self.make(NO_STORE), self.search, given, 5))

    def test_a_lower_depth_is_the_beginning_of_a_higher_one(self, made: Any, given: Ranking) -> None:
        """So a ranking can be cut at several cutoffs."""
        low, high = (made.rerank(self.search, given, depth) for depth in (2, 6))
        assert [row[:2] for row in _rows(high)] == _rows(low)


class EncoderContract(StageContract):
    """What must hold of an encoder.

    Attributes:
        search: Has the texts.
        tolerance: How far an embedding may differ beside other texts; 0 for an encoder that computes each alone.
    """

    search: ClassVar[Search] = SEARCH
    tolerance: ClassVar[float] = 1e-5

    @pytest.mark.parametrize("role", ["query", "passage"])
    def test_embeddings_are_of_length_1_and_do_not_depend_on_the_texts_beside_them(self, made: Any, role: str) -> None:
        """So a corpus can grow, and only what is new is encoded."""
        texts = self.search.passages
        together = check_embeddings(made.encode(texts, role), made, texts)
        for row, text in enumerate(texts):
            np.testing.assert_allclose(made.encode([text], role)[0], together[row], atol=self.tolerance)

    def test_queries_and_passages_have_the_same_dimensions(self, made: Any) -> None:
        """Else they could not be compared."""
        assert made.encode(["iron"], "query").shape == made.encode(["iron"], "passage").shape

    def test_the_fingerprint_is_a_text_that_stays(self) -> None:
        """Stored embeddings are found by it."""
        first, second = (self.make(NO_STORE).fingerprint for _ in range(2))
        assert isinstance(first, str)
        assert first == second


def _rows(ranking: Ranking) -> list[list[tuple[int, float]]]:
    """The passages of each query with their scores."""
    rows = zip(ranking.passages.tolist(), ranking.scores.tolist(), strict=True)
    return [[pair for pair in zip(*row, strict=True) if pair[0] != NOTHING] for row in rows]
