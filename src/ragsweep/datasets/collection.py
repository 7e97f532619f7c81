"""What a dataset format reads: documents, queries and judgments, before chunking."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

from ragsweep.core.digest import digest, digest_texts

Unit = Literal["passage", "page", "document"]

PAGE_BREAK = "\f"  # between the pages of a document's text, as pdftotext writes it


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a document.

    Attributes:
        page: Physical index, from 0.
        page_number: `page + 1`, or the printed label.
        unit: The key by which judgments name this page (or its whole document).
        start: Offset of the page's first character in the document's text.
        end: Offset behind its last character; equal to `start` for a page without text.
    """

    page: int
    page_number: str
    unit: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    """A source file: its whole text, and where each page lies in it."""

    source: str
    text: str
    pages: tuple[Page, ...]

    @classmethod
    def from_pages(cls, source: str, pages: Iterable[tuple[str, str, str]]) -> Document:
        """Join pages, each `(page_number, unit, text)`, into one document."""
        placed: list[Page] = []
        texts: list[str] = []
        start = 0
        for index, (page_number, unit, text) in enumerate(pages):
            placed.append(Page(index, page_number, unit, start, start + len(text)))
            texts.append(text)
            start += len(text) + len(PAGE_BREAK)
        return cls(source, PAGE_BREAK.join(texts), tuple(placed))


@dataclass(frozen=True, slots=True)
class Query:
    """A question; `query_type` is None where the dataset does not sort its queries."""

    query_id: str
    text: str
    query_type: str | None = None


class Judgment(NamedTuple):
    """One line of qrels: the grade of a unit for a query; 0 means judged and not relevant."""

    query_id: str
    unit: str
    grade: int


@dataclass(frozen=True)
class Collection:
    """What a dataset format reads, before chunking: documents, queries and judgments.

    Attributes:
        skipped: Documents that the user had left out, by name.
    """

    name: str
    unit: Unit
    documents: tuple[Document, ...]
    queries: tuple[Query, ...]
    judgments: tuple[Judgment, ...]
    skipped: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Digest over corpus, queries and qrels, before chunking: the same digest means the same task.

        Everything counts but the name and what was skipped.
        """
        return digest(
            [
                self.unit,
                digest_texts(
                    field
                    for document in self.documents
                    for field in (document.source, document.text, repr(document.pages))
                ),
                digest_texts(query.text for query in self.queries),
                digest_texts(query.query_id for query in self.queries),
                [query.query_type for query in self.queries],
                [(query_id, unit, int(grade)) for query_id, unit, grade in self.judgments],
            ]
        )


class DatasetFormat(Protocol):
    """A way to read a dataset; write your own as one class with this method."""

    def load(self) -> Collection:
        """Read everything; raise `DatasetError` where the input is not as it should be."""
        ...
