"""What must hold of the stages of retrieval, of systems that retrieve elsewhere, and of what is returned."""

from __future__ import annotations

from math import isfinite
from typing import Any, ClassVar

import numpy as np
import pytest

from ragsweep.core.timing import sample
from ragsweep.datasets import Collection, Dataset, Document, Query, RecursiveChunker
from ragsweep.datasets.model.chunking import Chunker
from ragsweep.models.encoders.embeddings import check_embeddings
from ragsweep.retrieval import NOTHING, Ranker, Ranking, Search, SparseRetriever, Trace, rank
from ragsweep.retrieval.ingest.ingest import indexed
from ragsweep.retrieval.ranking_checks import checked_answers
from ragsweep.retrieval.results import Matching
from ragsweep.retrieval.returned_units.merging import Enlarging
from ragsweep.retrieval.stages import fuse, rerank, rewrite
from ragsweep.store.code import name_of
from ragsweep.store.identity import identity
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.testing.component import SEARCH, ComponentContract
from ragsweep.testing.datasets import DOCUMENT_TEXTS

DOCUMENTS = (
    Document.from_pages(
        "guide.md",
        [
            ("1", "guide.md#1", f"# Guide\n\n{SEARCH.passages[0]}\n\n## Treatment\n\n{SEARCH.passages[1]}"),
            ("2", "guide.md#2", f"{SEARCH.passages[2]}\n\n### Children\n\n{SEARCH.passages[3]}\n\n# Malaria"),
        ],
    ),
    Document.from_pages("no headings.txt", [("1", "no headings.txt#1", " ".join(SEARCH.passages[4:9]))]),
    Document.from_pages("17", [("1", "17", SEARCH.passages[10])]),
)
RESULTS = 3  # that a system is asked for


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


class RewriterContract(StageContract):
    """What must hold of a rewriter.

    Attributes:
        search: Has the queries.
    """

    search: ClassVar[Search] = SEARCH

    def test_every_query_gets_one_text(self, made: Any) -> None:
        """The number and the types of what comes back are checked."""
        assert len(rewrite(made, self.search.queries).queries) == len(self.search.queries)

    def test_a_query_is_rewritten_the_same_beside_any_others(self, made: Any) -> None:
        """A text depends on nothing but its query."""
        together = list(made.rewrite(self.search.queries))
        assert together == [made.rewrite([query])[0] for query in self.search.queries]


class ExpanderContract(StageContract):
    """What must hold of a rewriter with a method `expand`.

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
        assert all(each.passages == self.search.passages for each in searches)
        for texts in (*(each.queries for each in searches), changes):
            assert isinstance(texts, tuple)
            assert [type(text) for text in texts] == [str] * len(self.search.queries)
        assert len(latency_ms) in (0, len(sample(len(self.search.queries))))
        assert (latency_ms >= 0).all()

    def test_a_query_is_expanded_the_same_beside_any_others(self, made: Any) -> None:
        """An expansion depends on nothing but its query, the corpus and the ranker."""
        together = made.expand(self.search, self.ranker)
        for query in range(len(self.search.queries)):
            alone = made.expand(self.search.row(query), self.ranker)
            assert [each.digest for each in alone.searches] == [each.row(query).digest for each in together.searches]
            assert alone.changes == together.changes[query : query + 1]

    def test_it_expands_the_same_way_each_time(self, store: Store) -> None:
        """Computed, kept and read again, the searches are the same, and without a store, too."""
        made = [self.make(each).expand(self.search, self.ranker) for each in (store, store, NO_STORE)]
        assert len({tuple(search.digest for search in each.searches) for each in made}) == 1
        assert len({each.changes for each in made}) == 1

    def test_a_corpus_of_one_passage_can_be_searched(self, made: Any) -> None:
        """The smallest corpus that there is."""
        made.expand(Search(self.search.passages[:1], self.search.queries), self.ranker)


class IngestContract(StageContract):
    """What must hold of a component that says what is indexed.

    Attributes:
        documents: They are cut into passages of 100 characters.
    """

    documents: ClassVar[tuple[Document, ...]] = DOCUMENTS

    def dataset(self) -> Dataset:
        """The documents, cut into passages."""
        collection = Collection("small", "page", self.documents, (), ())
        return Dataset.from_collection(collection, RecursiveChunker(100, 0), may_lack_judgments=True)

    def test_every_passage_has_one_text(self, made: Any) -> None:
        """None of them is empty."""
        passages = self.dataset().passages
        texts = made.index_texts(self.documents, passages)
        assert len(texts) == len(passages)
        assert all(isinstance(text, str) and text for text in texts)

    def test_a_text_is_the_same_beside_any_others(self, made: Any) -> None:
        """It depends on nothing but its passage and the documents."""
        passages = self.dataset().passages
        together = list(made.index_texts(self.documents, passages))
        assert together == [made.index_texts(self.documents, [each])[0] for each in passages]

    def test_what_is_indexed_is_the_same_each_time(self, store: Store) -> None:
        """Computed, kept and read again, and without a store, too."""
        passages = self.dataset().passages
        made = [indexed(self.make(each), self.documents, passages) for each in (store, store, NO_STORE)]
        assert len({*made}) == 1
        assert [each.stage for each in store.entries() if each.stage == "ingest"] == ["ingest"]

    def test_no_passages_have_no_texts(self, made: Any) -> None:
        """As of a dataset without documents."""
        assert list(made.index_texts([], [])) == []


class ReturnedUnitContract(ComponentContract):
    """What must hold of a class that says what is returned.

    Attributes:
        texts: Those of the pages of two documents.
        chunker: Cuts these into passages.
    """

    texts: ClassVar[tuple[str, ...]] = DOCUMENT_TEXTS
    chunker: ClassVar[Chunker] = RecursiveChunker(size=60, overlap=10)

    def test_what_is_returned_holds_the_passage(self, made: Any) -> None:
        """It is a part of the passage's document."""
        dataset, documents = self._corpus()
        Enlarging(made, documents, dataset.passages)  # raises what is wrong

    def test_it_does_not_depend_on_other_documents(self, made: Any) -> None:
        """A document alone returns the same."""
        dataset, documents = self._corpus()
        all_spans = made.spans({each.source: each for each in documents}, dataset.passages)
        for document in documents:
            its = [row for row, each in enumerate(dataset.passages) if each.source == document.source]
            alone = made.spans({document.source: document}, [dataset.passages[row] for row in its])
            assert [tuple(span) for span in alone] == [tuple(all_spans[row]) for row in its]

    def test_no_character_is_returned_twice(self, made: Any) -> None:
        """If everything is found, parts do not overlap, and everything is returned."""
        dataset, documents = self._corpus()
        found = range(len(dataset.passages))
        parts = Enlarging(made, documents, dataset.passages).at_cutoffs(found, [1.0] * len(found), len(found))[-1]
        returned = [(part.source, at) for part in parts for at in range(part.start, part.end)]
        assert len(returned) == len({*returned})
        assert {(each.source, each.start) for each in dataset.passages} <= {*returned}

    def _corpus(self) -> tuple[Dataset, tuple[Document, ...]]:
        pages = [(str(number), f"#{number}", text) for number, text in enumerate(self.texts, start=1)]
        documents = (Document.from_pages("a", pages[::2]), Document.from_pages("b", pages[1::2]))
        collection = Collection("small", "page", documents, (Query("q", "iron"),), ())
        return Dataset.from_collection(collection, self.chunker, may_lack_judgments=True), documents


class SystemContract(ComponentContract):
    """What must hold of every retriever that brings passages.

    Attributes:
        queries: What is asked; each has a result.
    """

    queries: ClassVar[tuple[str, ...]] = ("What clears worms?", "Why is iron not taken with tea?")

    def test_every_query_has_results(self, store: Store) -> None:
        """In the order of the queries, and each of them a `Result`."""
        made = self.make(store)
        answers = checked_answers(made.answers(self.queries, RESULTS), len(self.queries), name_of(made))
        for results in answers.results:
            assert results
            for each in results:
                assert any((*each.ids, each.source, each.text)), "a result says nothing of itself"

    def test_scores_are_numbers(self, store: Store) -> None:
        """Or None, where there is none."""
        answers = self.make(store).answers(self.queries, RESULTS)
        assert all(each.score is None or isfinite(each.score) for results in answers.results for each in results)

    def test_latency_is_that_of_some_of_the_queries(self, store: Store) -> None:
        """In milliseconds, and empty where it is not known."""
        latency = self.make(store).answers(self.queries, RESULTS).latency_ms
        assert len(latency) <= len(self.queries)
        assert (latency >= 0).all()

    def test_the_answer_to_a_query_does_not_depend_on_the_others(self, store: Store) -> None:
        """Nor on their order."""
        together = self.make(store).answers(self.queries, RESULTS).results
        for query, expected in zip(self.queries, together, strict=True):
            [alone] = self.make(store).answers([query], RESULTS).results
            assert [*alone] == [*expected]

    def test_it_says_how_its_results_are_matched(self, store: Store) -> None:
        """By the number of the first page, and by how alike texts must be."""
        matching = self.make(store).matching
        assert isinstance(matching, Matching)
        assert matching.first_page in (0, 1)
        assert 0 <= matching.fuzzy_threshold <= 1


def _rows(ranking: Ranking) -> list[list[tuple[int, float]]]:
    """The passages of each query with their scores."""
    rows = zip(ranking.passages.tolist(), ranking.scores.tolist(), strict=True)
    return [[pair for pair in zip(*row, strict=True) if pair[0] != NOTHING] for row in rows]
