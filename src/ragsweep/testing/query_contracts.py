"""What must hold of what changes queries before they are searched for."""

from __future__ import annotations

from typing import Any, ClassVar

from ragsweep.core.timing import sample
from ragsweep.retrieval import Ranker, Search, SparseRetriever
from ragsweep.retrieval.stages import rewrite
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.testing.retrieval import SEARCH, StageContract


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
