"""The corpus, its queries and their relevance judgments, as the rest of ragsweep sees them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from numbers import Integral
from typing import Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ragsweep.code import code_of, kind_of
from ragsweep.datasets.fields import LARGEST_GRADE, flaw_of_name, flaw_of_text
from ragsweep.digest import digest, digest_texts
from ragsweep.errors import DatasetError
from ragsweep.store import NO_STORE, Arrays, Store

Unit = Literal["passage", "page", "document"]
Indices = npt.NDArray[np.int64]
Span = tuple[int, int]

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
class Passage:
    """What is indexed: a chunk of one page, with `text == document.text[start:end]`."""

    text: str
    source: str
    page: int
    page_number: str
    chunk_id: str
    start: int
    end: int


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
class Qrels:
    """Judgments as parallel arrays, shape [judgments] each.

    Attributes:
        query: Position of the query in `Dataset.queries`.
        unit: Position of the unit in `Dataset.units`.
        grade: Its grade.
    """

    query: Indices
    unit: Indices
    grade: Indices


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


class Chunker(Protocol):
    """A way to cut a page's text into passages."""

    def split(self, text: str) -> Sequence[Span]:
        """Spans `(start, end)` of the passages in `text`, in order; none for a text without words."""
        ...


@dataclass(frozen=True)
class Dataset:
    """A chunked corpus with its queries and qrels.

    Attributes:
        digest: Of the corpus, the queries and the qrels, whatever the chunks: runs of one digest can be compared.
        units: Every unit of the corpus in corpus order, then judged units that the corpus lacks.
        passage_units: Position in `units` of each passage's unit, shape [passages].
        empty_pages: Pages without text, as `source#page_number`: known, but never retrieved.
        skipped: Documents that the user had left out.
    """

    name: str
    digest: str
    unit: Unit
    passages: tuple[Passage, ...]
    queries: tuple[Query, ...]
    qrels: Qrels
    units: tuple[str, ...]
    passage_units: Indices
    empty_pages: tuple[str, ...]
    skipped: tuple[str, ...] = ()

    @classmethod
    def from_collection(cls, collection: Collection, chunker: Chunker, store: Store = NO_STORE) -> Dataset:
        """Cut the documents into passages and give every unit its position.

        Args:
            collection: What a dataset format read.
            chunker: Cuts the pages.
            store: Keeps where our own chunkers cut; what another one does is not known by its name.

        Raises:
            DatasetError: There is nothing to retrieve or to measure, a name cannot be one, or judgments contradict each
                other.
        """
        _check(collection)
        passages: list[Passage] = []
        keys: list[str] = []
        positions: dict[str, int] = {}
        empty: list[str] = []
        spans = _spans(collection, chunker, store)
        for document in collection.documents:
            for page in document.pages:
                chunks = _passages_of(document, page, next(spans))
                if not chunks:
                    empty.append(f"{document.source}#{page.page_number}")
                for passage in chunks:
                    passages.append(passage)
                    keys.append(passage.chunk_id if collection.unit == "passage" else page.unit)
                if collection.unit != "passage":
                    positions.setdefault(page.unit, len(positions))
        if not passages:
            raise DatasetError(f"{collection.name}: the documents hold no text, so nothing can be retrieved")
        for key in (*keys, *(judgment.unit for judgment in collection.judgments)):
            positions.setdefault(key, len(positions))
        rows = {query.query_id: row for row, query in enumerate(collection.queries)}
        grades = {  # a pair judged twice counts once
            (rows[judgment.query_id], positions[judgment.unit]): judgment.grade for judgment in collection.judgments
        }
        return cls(
            name=collection.name,
            digest=collection.digest,
            unit=collection.unit,
            passages=tuple(passages),
            queries=collection.queries,
            qrels=Qrels(
                query=_indices(row for row, _ in grades),
                unit=_indices(unit for _, unit in grades),
                grade=_indices(grades.values()),
            ),
            units=tuple(positions),
            passage_units=_indices(positions[key] for key in keys),
            empty_pages=tuple(empty),
            skipped=collection.skipped,
        )

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The passages' texts, in corpus order."""
        return tuple(passage.text for passage in self.passages)

    @cached_property
    def digest_of_passages(self) -> str:
        """Digest over what is indexed: how the corpus was cut."""
        return digest([digest_texts(self.texts), digest_texts(passage.chunk_id for passage in self.passages)])

    def without_relevant(self, relevance_level: int) -> list[int]:
        """Positions of the judged queries for which nothing is of at least this grade.

        Raises:
            DatasetError: That is every one of them, so that nothing can be found.
        """
        relevant = self.qrels.query[self.qrels.grade >= relevance_level]
        if not len(relevant):
            raise DatasetError(
                f"{self.name}: nothing is relevant: found no grade above {self.qrels.grade.max()}, "
                f"expected some of at least {relevance_level} (evaluation.relevance_level)"
            )
        return sorted({*self.qrels.query.tolist()} - {*relevant.tolist()})

    def coverage(self, relevance_level: int = 1) -> float:
        """Share of the units of at least this grade that have a passage and so can be retrieved at all."""
        relevant = np.unique(self.qrels.unit[self.qrels.grade >= relevance_level])
        return float(np.isin(relevant, self.passage_units).mean()) if len(relevant) else 0.0


def _check(collection: Collection) -> None:
    """Raise `DatasetError` for what cannot be measured or recorded, whichever format has read it."""
    documents, queries = collection.documents, collection.queries
    names = {
        "document": [document.source for document in documents],
        "page number": [page.page_number for document in documents for page in document.pages],
        "unit": [page.unit for document in documents for page in document.pages],
        "query id": [query.query_id for query in queries],
        "query type": [query.query_type for query in queries if query.query_type is not None],
        "judged unit": [judgment.unit for judgment in collection.judgments],
    }
    for what, found in names.items():
        for name in found:
            if flaw := flaw_of_name(name):
                raise DatasetError(f"{collection.name}: the {what} {name!r} {flaw}")
    for what in ("document", "query id"):
        name, times = Counter(names[what]).most_common(1)[0] if names[what] else ("", 0)
        if times > 1:
            raise DatasetError(f"{collection.name}: the {what} {name!r} is there {times} times; expected once")
    texts = chain(
        ((f"document {document.source!r}", document.text) for document in documents),
        ((f"query {query.query_id!r}", query.text) for query in queries),
    )
    for name, text in texts:
        if flaw := flaw_of_text(text):
            raise DatasetError(f"{collection.name}: the text of {name} {flaw}")
    for query in queries:
        if not query.text.strip():
            raise DatasetError(f"{collection.name}: the text of query {query.query_id!r} is blank")
    for document in documents:
        ends = [0, *(page.end for page in document.pages)]
        for page, end in zip(document.pages, ends, strict=False):
            if not end <= page.start <= page.end <= len(document.text):
                place = f"{document.source}#{page.page_number}: found characters {page.start} to {page.end}"
                after = f"expected some of {end} to {len(document.text)}, behind those of the page before"
                raise DatasetError(f"{collection.name}: {place}, {after}")
    _check_judgments(collection)


def _check_judgments(collection: Collection) -> None:
    if not collection.judgments:
        raise DatasetError(f"{collection.name}: no query has a judgment, so nothing can be measured")
    known = {query.query_id for query in collection.queries}
    grades: dict[tuple[str, str], int] = {}
    for query_id, unit, grade in collection.judgments:
        if query_id not in known:
            problem = "there is no such query"
        elif not isinstance(grade, Integral) or isinstance(grade, bool) or abs(grade) > LARGEST_GRADE:
            problem = f"found the grade {grade!r}, expected a whole number from -10^9 to 10^9"
        elif grades.setdefault((query_id, unit), grade) != grade:
            problem = f"found the grades {grades[query_id, unit]} and {grade}, expected one"
        else:
            continue
        raise DatasetError(f"{collection.name}: judgment of {unit!r} for query {query_id!r}: {problem}")


def _spans(collection: Collection, chunker: Chunker, store: Store) -> Iterator[Sequence[Span]]:
    """The spans of every page's passages, page after page."""
    pages = [document.text[page.start : page.end] for document in collection.documents for page in document.pages]

    def build() -> Arrays:
        spans = [_checked_spans(chunker.split(page), page, chunker) for page in pages]
        flat = np.array([span for page in spans for span in page], dtype=np.int64).reshape(-1, 2)
        return {"spans": flat, "ends": np.cumsum([len(page) for page in spans], dtype=np.int64)}

    ours = type(chunker).__module__.startswith("ragsweep.")
    kept = store.get("spans", [repr(chunker), code_of(chunker), digest_texts(pages)], build) if ours else build()
    flat, ends = [(start, end) for start, end in kept["spans"].tolist()], kept["ends"].tolist()
    for start, end in zip([0, *ends], ends, strict=False):
        yield flat[start:end]


def _checked_spans(spans: object, page: str, chunker: Chunker) -> Sequence[Span]:
    """The spans that a chunker returned for a page; raises `DatasetError` if one is not within the page's text."""
    wanted = f"expected (start, end) with 0 <= start < end <= {len(page)}, whole numbers"
    for span in spans if isinstance(spans, Sequence | np.ndarray) else [spans]:
        pair = tuple(span) if isinstance(span, Sequence | np.ndarray) else ()
        whole = len(pair) == 2 and all(isinstance(each, Integral) for each in pair)
        if not whole or not 0 <= pair[0] < pair[1] <= len(page):
            raise DatasetError(f"chunker: {kind_of(chunker)}.split: found {span!r:.80}, {wanted}")
    return spans  # type: ignore[return-value]


def _passages_of(document: Document, page: Page, spans: Sequence[Span]) -> list[Passage]:
    return [
        Passage(
            text=document.text[page.start + start : page.start + end],
            source=document.source,
            page=page.page,
            page_number=page.page_number,
            chunk_id=f"{document.source}#{page.page + 1}/{number}",  # labels may repeat, physical pages do not
            start=page.start + start,
            end=page.start + end,
        )
        for number, (start, end) in enumerate(spans)
    ]


def _indices(values: Iterable[int]) -> Indices:
    return np.fromiter(values, dtype=np.int64)
