"""What must hold of what is returned for a passage."""

from __future__ import annotations

from typing import Any, ClassVar

from ragsweep.datasets import Collection, Dataset, Document, Query, RecursiveChunker
from ragsweep.datasets.model.chunking import Chunker
from ragsweep.retrieval.returned_units.merging import Enlarging
from ragsweep.testing.component import ComponentContract
from ragsweep.testing.datasets import DOCUMENT_TEXTS


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
