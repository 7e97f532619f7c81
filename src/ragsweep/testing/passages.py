"""Tests of what is indexed and of what is returned for passages, and of systems that bring their own."""

from __future__ import annotations

from math import isfinite
from typing import Any, ClassVar

import numpy as np

from ragsweep.datasets import Collection, Dataset, Document, Query, RecursiveChunker
from ragsweep.datasets.model.chunking import Chunker
from ragsweep.retrieval.ingest.ingest import indexed
from ragsweep.retrieval.ranking_checks import checked_answers
from ragsweep.retrieval.results import Matching
from ragsweep.retrieval.returned_units.merging import Enlarging
from ragsweep.store.code import name_of
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.testing.component import SEARCH, ComponentContract
from ragsweep.testing.datasets import DOCUMENT_TEXTS
from ragsweep.testing.retrieval import StageContract

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


class IngestContract(StageContract):
    """Tests of a component that says what is indexed.

    Attributes:
        documents: They are cut into passages of 100 characters.
    """

    documents: ClassVar[tuple[Document, ...]] = DOCUMENTS

    def dataset(self) -> Dataset:
        """The documents, cut into passages."""
        collection = Collection("small", "page", self.documents, (), ())
        return Dataset.from_collection(collection, RecursiveChunker(100, 0), may_lack_judgments=True)

    def test_every_passage_has_one_text(self, made: Any) -> None:
        passages = self.dataset().passages
        texts = made.index_texts(self.documents, passages)
        assert len(texts) == len(passages)
        assert all(isinstance(text, str) and text for text in texts)

    def test_a_text_is_the_same_beside_any_others(self, made: Any) -> None:
        passages = self.dataset().passages
        together = list(made.index_texts(self.documents, passages))
        assert together == [made.index_texts(self.documents, [passage])[0] for passage in passages]

    def test_what_is_indexed_is_the_same_each_time(self, store: Store) -> None:
        passages = self.dataset().passages
        made = [indexed(self.make(keeper), self.documents, passages) for keeper in (store, store, NO_STORE)]
        assert len({*made}) == 1
        assert [entry.stage for entry in store.entries() if entry.stage == "ingest"] == ["ingest"]

    def test_no_passages_have_no_texts(self, made: Any) -> None:
        assert list(made.index_texts([], [])) == []


class ReturnedUnitContract(ComponentContract):
    """Tests of a class that says what is returned.

    Attributes:
        texts: Those of the pages of two documents.
        chunker: Cuts these into passages.
    """

    texts: ClassVar[tuple[str, ...]] = DOCUMENT_TEXTS
    chunker: ClassVar[Chunker] = RecursiveChunker(size=60, overlap=10)

    def test_what_is_returned_holds_the_passage(self, made: Any) -> None:
        dataset, documents = self._corpus()
        Enlarging(made, documents, dataset.passages)  # raises what is wrong

    def test_it_does_not_depend_on_other_documents(self, made: Any) -> None:
        dataset, documents = self._corpus()
        all_spans = made.spans({document.source: document for document in documents}, dataset.passages)
        for document in documents:
            rows = [row for row, passage in enumerate(dataset.passages) if passage.source == document.source]
            alone = made.spans({document.source: document}, [dataset.passages[row] for row in rows])
            assert [tuple(span) for span in alone] == [tuple(all_spans[row]) for row in rows]

    def test_no_character_is_returned_twice(self, made: Any) -> None:
        """If everything is found, parts do not overlap, and everything is returned."""
        dataset, documents = self._corpus()
        hits = range(len(dataset.passages))
        parts = Enlarging(made, documents, dataset.passages).at_cutoffs(hits, [1.0] * len(hits), len(hits))[-1]
        returned = [(part.source, at) for part in parts for at in range(part.start, part.end)]
        assert len(returned) == len({*returned})
        assert {(passage.source, passage.start) for passage in dataset.passages} <= {*returned}

    def _corpus(self) -> tuple[Dataset, tuple[Document, ...]]:
        pages = [(str(number), f"#{number}", text) for number, text in enumerate(self.texts, start=1)]
        documents = (Document.from_pages("a", pages[::2]), Document.from_pages("b", pages[1::2]))
        collection = Collection("small", "page", documents, (Query("q", "iron"),), ())
        return Dataset.from_collection(collection, self.chunker, may_lack_judgments=True), documents


class SystemContract(ComponentContract):
    """Tests of every retriever that brings passages.

    Attributes:
        queries: What is asked; each has a result.
    """

    queries: ClassVar[tuple[str, ...]] = ("What clears worms?", "Why is iron not taken with tea?")

    def test_every_query_has_results(self, store: Store) -> None:
        made = self.make(store)
        answers = checked_answers(made.answers(self.queries, RESULTS), len(self.queries), name_of(made))
        for results in answers.results:
            assert results
            for result in results:
                assert any((*result.ids, result.source, result.text)), "a result says nothing of itself"

    def test_scores_are_numbers(self, store: Store) -> None:
        answers = self.make(store).answers(self.queries, RESULTS)
        assert all(result.score is None or isfinite(result.score) for results in answers.results for result in results)

    def test_latency_is_that_of_each_query_or_of_none(self, store: Store) -> None:
        latency = self.make(store).answers(self.queries, RESULTS).latency_ms
        assert len(latency) in (0, len(self.queries))
        assert (latency[~np.isnan(latency)] >= 0).all()

    def test_the_answer_to_a_query_does_not_depend_on_the_others(self, store: Store) -> None:
        together = self.make(store).answers(self.queries, RESULTS).results
        for query, expected in zip(self.queries, together, strict=True):
            [alone] = self.make(store).answers([query], RESULTS).results
            assert [*alone] == [*expected]

    def test_it_says_how_its_results_are_matched(self, store: Store) -> None:
        matching = self.make(store).matching
        assert isinstance(matching, Matching)
        assert matching.first_page in (0, 1)
        assert 0 <= matching.fuzzy_threshold <= 1
