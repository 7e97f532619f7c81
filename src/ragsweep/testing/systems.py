"""What must hold of every retriever that runs elsewhere and brings passages of its own."""

from __future__ import annotations

from math import isfinite
from typing import ClassVar

from ragsweep.retrieval.ranking_checks import checked_answers
from ragsweep.retrieval.results import Matching
from ragsweep.store.code import name_of
from ragsweep.store.stage_store import Store
from ragsweep.testing.component import ComponentContract

DEPTH = 3


class SystemContract(ComponentContract):
    """What must hold of every retriever that brings passages.

    Attributes:
        queries: What is asked; each has a result.
    """

    queries: ClassVar[tuple[str, ...]] = ("What clears worms?", "Why is iron not taken with tea?")

    def test_every_query_has_results(self, store: Store) -> None:
        """In the order of the queries, and each of them a `Result`."""
        made = self.make(store)
        answers = checked_answers(made.answers(self.queries, DEPTH), len(self.queries), name_of(made))
        for results in answers.results:
            assert results
            for each in results:
                assert any((*each.ids, each.source, each.text)), "a result says nothing of itself"

    def test_scores_are_numbers(self, store: Store) -> None:
        """Or None, where there is none."""
        answers = self.make(store).answers(self.queries, DEPTH)
        assert all(each.score is None or isfinite(each.score) for results in answers.results for each in results)

    def test_latency_is_that_of_some_of_the_queries(self, store: Store) -> None:
        """In milliseconds, and empty where it is not known."""
        latency = self.make(store).answers(self.queries, DEPTH).latency_ms
        assert len(latency) <= len(self.queries)
        assert (latency >= 0).all()

    def test_the_answer_to_a_query_does_not_depend_on_the_others(self, store: Store) -> None:
        """Nor on their order."""
        together = self.make(store).answers(self.queries, DEPTH).results
        for query, expected in zip(self.queries, together, strict=True):
            [alone] = self.make(store).answers([query], DEPTH).results
            assert [*alone] == [*expected]

    def test_it_says_how_its_results_are_matched(self, store: Store) -> None:
        """By the number of the first page, and by how alike texts must be."""
        matching = self.make(store).matching
        assert isinstance(matching, Matching)
        assert matching.first_page in (0, 1)
        assert 0 <= matching.fuzzy_threshold <= 1
