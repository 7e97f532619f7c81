"""Documents, queries and judgments as a dataset format reads them, before chunking."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal, NamedTuple

from ragsweep.core.digest import digest, digest_texts
from ragsweep.core.terminal import counted_of_all
from ragsweep.datasets.model.cases import Case, digest_of_cases
from ragsweep.datasets.model.faults import Fault, Faults
from ragsweep.text.normalisation import Spellings

Unit = Literal["passage", "page", "document"]

PAGE_BREAK = "\f"  # between the pages of a document, as in the output of pdftotext


def readable(text: str) -> str:
    """A text for a prompt: a page ends with a line break, not with a form feed."""
    return text.replace(PAGE_BREAK, "\n")


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a document.

    Attributes:
        page: Physical index, from 0.
        page_number: `page + 1`, or the printed label.
        unit: Key of this page (or of its document) in judgments.
        start: Offset of its first character in the text of the document.
        end: Offset after its last character. Equal to `start` for a page without text.
    """

    page: int
    page_number: str
    unit: str
    start: int
    end: int


class Heading(NamedTuple):
    """A heading of a document.

    Attributes:
        start: Offset of its first character in the text of the document; -1 if it is not in the text.
        level: 1 for the highest; 0 is the title.
        text: What it says.
    """

    start: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A source file: its whole text, and the offsets of its pages.

    Attributes:
        headings: Those that are not marked in its text, as in a PDF; see `Corpus.with_headings`.
    """

    source: str
    text: str
    pages: tuple[Page, ...]
    headings: tuple[Heading, ...] = ()

    @classmethod
    def from_pages(cls, source: str, pages: Iterable[tuple[str, str, str]]) -> Document:
        """Join pages, given as `(page_number, unit, text)`, into one document."""
        placed: list[Page] = []
        texts: list[str] = []
        start = 0
        for index, (page_number, unit, text) in enumerate(pages):
            placed.append(Page(index, page_number, unit, start, start + len(text)))
            texts.append(text)
            start += len(text) + len(PAGE_BREAK)
        return cls(source, PAGE_BREAK.join(texts), tuple(placed))


def digest_of_documents(documents: Iterable[Document]) -> str:
    """Digest of the names, texts and pages of documents."""
    return digest_texts(
        field for document in documents for field in (document.source, document.text, repr(document.pages))
    )


@dataclass(frozen=True, slots=True)
class Query:
    """A question.

    Attributes:
        query_id: Its id.
        text: What is asked.
        query_type: The group by which results are broken down; None if the dataset has no query types.
        fields: Further fields of the dataset, as names and texts. They are columns of the table of queries.
        group: The group of queries that depend on each other, such as paraphrases; None if it is alone.
        answerable: Whether the documents may answer it. One that they are known not to answer has no judgments.
    """

    query_id: str
    text: str
    query_type: str | None = None
    fields: tuple[tuple[str, str], ...] = ()
    group: str | None = None
    answerable: bool = True

    @classmethod
    def of(cls, case: Case) -> Query:
        """The query that retrieves evidence for a case. Its type is the specialty."""
        return cls(case.query_id, case.text, case.specialty, answerable=case.correct is not None)


class Judgment(NamedTuple):
    """One line of qrels: the grade of a unit for a query. Grade 0 means judged as not relevant."""

    query_id: str
    unit: str
    grade: int


class Reference(NamedTuple):
    """A span of a document that answers a query.

    Attributes:
        query_id: The query.
        source: The document.
        start: Offset of its first character in the text of the document. 0 if the offsets are not known.
        end: Offset after its last character. 0 if the offsets are not known.
        text: What the span says. Empty if that is to be taken from the document.
    """

    query_id: str
    source: str
    start: int
    end: int
    text: str = ""

    @property
    def has_offsets(self) -> bool:
        """Whether the offsets are known."""
        return self.start < self.end

    def with_text(self, document: str) -> Reference:
        """The reference with what stands at its offsets in the text of its document, if these are known."""
        return self._replace(text=document[self.start : self.end]) if self.has_offsets else self


class Unranked(NamedTuple):
    """A document that is left out of the ranking of a query. It need not be in the corpus."""

    query_id: str
    source: str


class LeftOut(NamedTuple):
    """The questions of a dataset that are not measured, and the documents that are left out of rankings.

    Attributes:
        faulty: Why each of the selected questions that cannot be used was left out.
        unselected: The ids of the questions that were not selected; None for one whose id cannot be read.
        documents: What a benchmark leaves out of the rankings of its queries.
    """

    faulty: tuple[Fault, ...] = ()
    unselected: tuple[str | None, ...] = ()
    documents: tuple[Unranked, ...] = ()

    @property
    def ids(self) -> tuple[str | None, ...]:
        """The ids of these questions; None for one whose id cannot be read."""
        return (*(fault.name for fault in self.faulty), *self.unselected)

    @property
    def number(self) -> int:
        """How many questions these are."""
        return len(self.ids)

    def of_all(self, asked: int, noun: str = "question") -> str:
        """How many questions are asked, such as `4,162 of 4,183 questions`, or `133 questions` if these are all."""
        return counted_of_all(asked, self.number, noun)


@dataclass(frozen=True)
class Collection:
    """Documents, queries and judgments, before chunking.

    Attributes:
        references: The spans that answer the queries, of a dataset that judges spans. Its unit is then the passage, it
            has no other judgments, and a passage is relevant if it shares a character with a reference of the query, or
            holds enough of the words of one without offsets.
        skipped: Names of the documents that the user left out.
        cases: The multiple-choice case of each query, in the order of the queries; empty if the dataset has none. With
            cases, documents and judgments may be missing: the questions can be answered without them.
        left_out: The questions that are not measured, and the documents that are left out of rankings.
        unjudged: Why there are no judgments, for error messages; empty if there are some, or that is not known.
        columns: Which columns of a table of questions were read as what, for the terminal; empty if there is no table.
        faults: Why each of the questions that are missing here cannot be used; None if all can.
    """

    name: str
    unit: Unit
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]
    judgments: tuple[Judgment, ...]
    skipped: tuple[str, ...] = ()
    cases: tuple[Case, ...] = ()
    references: tuple[Reference, ...] = ()
    left_out: LeftOut = field(default_factory=LeftOut)
    unjudged: str = ""
    columns: str = ""
    faults: Faults | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Let judgments and references name queries and documents as these are spelled, in whatever normal form."""
        named = chain(self.judgments, self.references, self.left_out.documents)
        if all(str(name).isascii() for names in named for name in names[:2]):
            return
        queries = Spellings(query.query_id for query in self.queries)
        of_pages = (page.unit for document in self.documents for page in document.pages)
        units = Spellings(chain(of_pages, (judgment.unit for judgment in self.judgments)))
        sources = Spellings(document.source for document in self.documents)
        judgments = (Judgment(queries.of(name), units.of(unit), grade) for name, unit, grade in self.judgments)
        references = (
            reference._replace(query_id=queries.of(reference.query_id), source=sources.of(reference.source))
            for reference in self.references
        )
        unranked = (Unranked(queries.of(name), sources.of(source)) for name, source in self.left_out.documents)
        object.__setattr__(self, "judgments", tuple(judgments))
        object.__setattr__(self, "references", tuple(references))
        object.__setattr__(self, "left_out", self.left_out._replace(documents=tuple(unranked)))

    def asking(self, queries: Sequence[Query]) -> Collection:
        """The collection with some of its queries, and what is judged for them. All documents stay."""
        ids = {query.query_id for query in queries}
        unranked = tuple(document for document in self.left_out.documents if document.query_id in ids)
        return replace(
            self,
            queries=tuple(queries),
            judgments=tuple(judgment for judgment in self.judgments if judgment.query_id in ids),
            references=tuple(reference for reference in self.references if reference.query_id in ids),
            cases=tuple(case for case in self.cases if case.query_id in ids),
            left_out=self.left_out._replace(documents=unranked),
        )

    @property
    def digest(self) -> str:
        """Digest of corpus, queries, judgments and cases, before chunking. Equal digests mean equal data.

        It includes all but `name`, `skipped`, `columns` and the questions that are left out.
        """
        return digest(
            [
                self.unit,
                digest_of_documents(self.documents),
                digest_texts(query.text for query in self.queries),
                digest_texts(query.query_id for query in self.queries),
                [query.query_type for query in self.queries],
                [(query_id, unit, int(grade)) for query_id, unit, grade in self.judgments],
                *([digest_of_cases(self.cases)] if self.cases else []),
                *([["references", *self.references]] if self.references else []),
                *([["fields", *fields]] if any(fields := [query.fields for query in self.queries]) else []),
                *([["groups", *groups]] if any(groups := [query.group for query in self.queries]) else []),
                *([["unranked", *self.left_out.documents]] if self.left_out.documents else []),
            ]
        )
