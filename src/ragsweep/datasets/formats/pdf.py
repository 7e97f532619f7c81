"""Reads PDF documents, and questions with the pages that answer them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragsweep.core.limits import Text
from ragsweep.core.quoting import typed
from ragsweep.datasets.formats.pdf_documents import PageNumbers, PdfDocuments, checked_skip, note_parser
from ragsweep.datasets.formats.pdf_fonts import Font
from ragsweep.datasets.formats.pdf_parsers import Parser
from ragsweep.datasets.formats.questions.question_table import TableQuestions
from ragsweep.datasets.model.collection import Collection
from ragsweep.datasets.model.pages import OF_PDF, Match, PageOrDocument, keys_of
from ragsweep.datasets.model.selecting import Selecting
from ragsweep.store.stage_store import NO_STORE, Store


@dataclass(frozen=True)
class PdfDataset(Selecting):
    """PDF files and questions with `query`, `relevant_docs`, and `query_type` if you like.

    Attributes:
        name: Name of the dataset and of its experiment in MLflow.
        documents: A PDF file, or a folder of PDF files, including subfolders.
        queries: The questions, in the formats of `TableQuestions`.
        page_numbers: `physical` counts pages from 1. `label` uses the printed number of a page if the PDF contains it.
        match: `qualified` distinguishes page 34 of one document from page 34 of another. `page_number` does not.
        unit: What `relevant_docs` contains: a `page` ("34", "manual.pdf#34") or a `document` ("manual.pdf").
        store: Caches the texts of the pages.
        skip: Names of files in the folder to leave out, for example unreadable ones.
        parser: The library that reads the texts of the pages.
        fingerprint: Its version, in params and digests; absent for the usual one, whose texts are what counts.
    """

    name: Text
    documents: Text
    queries: Text
    page_numbers: PageNumbers = "physical"
    match: Match = "qualified"
    unit: PageOrDocument = "page"
    store: Store = NO_STORE
    skip: Sequence[str] = ()
    parser: Parser = "pdfium"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "skip", checked_skip(self.skip))
        note_parser(self, "dataset.parser", self.parser)

    @property
    def without_effect(self) -> Sequence[str]:
        """Of its documents, and other defaults that leave nothing out."""
        return (*super().without_effect, *self.corpus.without_effect)

    @property
    def corpus(self) -> PdfDocuments:
        """The documents alone."""
        return PdfDocuments(self.documents, self.page_numbers, self.skip, self.store, self.parser)

    def pictures(self, pages: Sequence[str]) -> list[str]:
        """Those of the pages, each as `source#page_number`, that have a picture."""
        return self.corpus.pictures(pages)

    def fonts(self) -> Mapping[str, Sequence[Font]]:
        """The fonts that each document needs and does not contain."""
        return self.corpus.fonts()

    def load(self) -> Collection:
        """Read the PDFs and the questions. The pages that the questions name must exist in the PDFs."""
        documents = self.corpus.read("dataset", "documents")
        key = keys_of(self.unit, self.match)
        chosen = shlex.join([f"corpus.path={self.documents}", "questions=table", f"questions.path={self.queries}"])
        kept = {"page_numbers": self.page_numbers, "skip": self.skip, "parser": self.parser}
        others = [
            typed(f"corpus.{name}", value) for name, value in kept.items() if value != getattr(PdfDocuments, name)
        ]
        chosen = " ".join([chosen, *others])
        before = f"corpus=pdf {chosen} {'' if key == 'page' else f'questions.unit={key} '}"  # settings of dataset=own
        asked = TableQuestions(self.queries, key).read(
            documents, OF_PDF._replace(before=before, from_0=f"{before}questions.first_page=0")
        )
        skipped = tuple(sorted(set(self.skip)))
        found = asked.documents, asked.queries, asked.judgments
        collection = Collection(self.name, asked.unit, *found, skipped, unjudged=asked.unjudged, columns=asked.columns)
        collection = self.selected(collection, asked.faults)
        return collection.read_as(self.corpus.reading())
