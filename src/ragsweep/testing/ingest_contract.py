"""What must hold of what says what is indexed for passages."""

from __future__ import annotations

from typing import Any, ClassVar

from ragsweep.datasets import Collection, Dataset, Document, RecursiveChunker
from ragsweep.retrieval.ingest.ingest import indexed
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.testing.retrieval import SEARCH, StageContract

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
