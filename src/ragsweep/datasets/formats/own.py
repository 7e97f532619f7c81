"""A dataset of any corpus and any questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Text
from ragsweep.datasets.formats.pdf_fonts import Font, NeedsFonts
from ragsweep.datasets.model.collection import (
    Collection,
    Document,
    FoundAgain,
    Judgment,
    Query,
    Reference,
    Unit,
)
from ragsweep.datasets.model.dataset_capabilities import (
    KnowsPictures,
    KnowsReading,
    SkipsDocuments,
)
from ragsweep.datasets.model.faults import Faults
from ragsweep.datasets.model.left_out import LeftOut, Unranked
from ragsweep.datasets.model.selecting import Selecting
from ragsweep.store.code import kind_of


class Corpus(Protocol):
    """Reads documents. To add a format, write a class with this method."""

    def read(self) -> tuple[Document, ...]:
        """Read the documents, in a stable order. Raises `DatasetError` for bad input."""
        ...


class Asked(NamedTuple):
    """Queries, and what is judged for them.

    Attributes:
        unit: What is judged.
        documents: The documents of the corpus; their pages have the units that the judgments name.
        queries: The queries.
        judgments: Grades of units.
        references: Spans of the documents that answer the queries; then the unit is the passage.
        faults: Why each of the questions that are missing here cannot be used; None if such a question is an error.
        unranked: The documents that are left out of the rankings of queries.
        unjudged: Why there are no judgments; empty if there are some.
        again: How references were found in the text of any parser; None if they hold for one text alone.
        columns: Which columns of a table are read as what, which every run says; empty if there is no table.
    """

    unit: Unit
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]
    judgments: tuple[Judgment, ...] = ()
    references: tuple[Reference, ...] = ()
    faults: Faults | None = None
    unranked: tuple[Unranked, ...] = ()
    unjudged: str = ""
    again: FoundAgain | None = None
    columns: str = ""


class Questions(Protocol):
    """Reads queries and judgments. To add a format, write a class with this method."""

    def read(self, documents: tuple[Document, ...]) -> Asked:
        """Read the queries and what is judged in these documents. Raises `DatasetError` for bad input.

        One question that cannot be used is left out and noted in `Asked.faults`; the dataset decides what it does.
        """
        ...


@dataclass(frozen=True)
class OwnDataset(Selecting):
    """Your own corpus and questions, each in any of the formats.

    Attributes:
        name: Name of the dataset and of its experiment in MLflow.
        corpus: Reads the documents.
        questions: Reads queries and judgments.
    """

    name: Text
    corpus: Corpus
    questions: Questions

    def pictures(self, pages: Sequence[str]) -> list[str]:
        """Those of the pages, each as `source#page_number`, that have a picture, if the corpus can tell."""
        return self.corpus.pictures(pages) if isinstance(self.corpus, KnowsPictures) else []

    def fonts(self) -> Mapping[str, Sequence[Font]]:
        """The fonts that each document needs and does not contain, if the corpus can tell."""
        return self.corpus.fonts() if isinstance(self.corpus, NeedsFonts) else {}

    def load(self) -> Collection:
        """Read the documents, and then the questions about them."""
        asked = self.questions.read(self.corpus.read())
        if asked.faults is None and self.on_error != "refuse":
            found = f"{kind_of(self.questions)} cannot leave out questions"
            raise ConfigError(f"dataset.on_error: {found}; set it to refuse")
        skipped = self.corpus.skip if isinstance(self.corpus, SkipsDocuments) else ()
        collection = Collection(
            name=self.name,
            unit=asked.unit,
            documents=asked.documents,
            queries=asked.queries,
            judgments=asked.judgments,
            skipped=tuple(sorted(set(skipped))),
            references=asked.references,
            left_out=LeftOut(documents=asked.unranked),
            unjudged=asked.unjudged,
            columns=asked.columns,
        )
        collection = self.selected(collection, asked.faults)
        corpus = self.corpus
        return collection.read_as(corpus.reading(), asked.again) if isinstance(corpus, KnowsReading) else collection
