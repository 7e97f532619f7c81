"""A chunked corpus with its queries and relevance judgments."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import Indices
from ragsweep.core.digest import digest, digest_texts
from ragsweep.core.errors import DatasetError
from ragsweep.datasets.model.cases import Case
from ragsweep.datasets.model.chunking import Chunker, cut
from ragsweep.datasets.model.collection import Collection, Document, Judgment, LeftOut, Page, Query, Reference, Unit
from ragsweep.datasets.model.collection_checks import check
from ragsweep.datasets.model.span_judgments import relevant_passages
from ragsweep.datasets.model.word_positions import LEAST_HELD
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.text.normalisation import composed
from ragsweep.text.tokens import Span


@dataclass(frozen=True, slots=True)
class Passage:
    """What is indexed: a chunk of a page, or of several, with `text == document.text[start:end]`.

    Attributes:
        page: Physical index, from 0, of the page on which it begins.
        page_number: Number of this page.
        chunk_id: Its id: the document, this page, and which passage of this page it is.
    """

    text: str
    source: str
    page: int
    page_number: str
    chunk_id: str
    start: int
    end: int


@dataclass(frozen=True)
class Qrels:
    """Judgments as parallel arrays, each of shape [judgments].

    Attributes:
        query: Position of the query in `Dataset.queries`.
        unit: Position of the unit in `Dataset.units`.
        grade: Its grade for the query.
    """

    query: Indices
    unit: Indices
    grade: Indices

    @classmethod
    def of(cls, judgments: Iterable[Judgment], queries: Sequence[Query], units: Mapping[str, int]) -> Qrels:
        """Judgments of these queries and units, which are given with their positions; the last of a pair counts."""
        rows = {query.query_id: row for row, query in enumerate(queries)}
        grades = {(rows[query_id], units[unit]): grade for query_id, unit, grade in judgments}
        return cls(*np.array([(*pair, grade) for pair, grade in grades.items()], dtype=np.int64).reshape(-1, 3).T)


class Coverage(NamedTuple):
    """How much of what is relevant can be retrieved.

    Attributes:
        expected: How many units are relevant to a query.
        present: How many of them can be retrieved for a query that they are relevant to.
    """

    expected: int
    present: int

    @property
    def missing(self) -> int:
        """How many cannot be retrieved, so that every query misses them."""
        return self.expected - self.present

    @property
    def share(self) -> float:
        """The share of the expected units that is present; 0 of none."""
        return self.present / self.expected if self.expected else 0.0


@dataclass(frozen=True)
class Dataset:
    """A chunked corpus with its queries and qrels.

    Attributes:
        digest: Digest of corpus, queries, qrels and cases, independent of chunking. Runs with equal digests can be
            compared.
        units: All units of the corpus in corpus order, then judged units that are not in the corpus.
        passage_units: Position in `units` of the first unit of each passage, shape [passages].
        empty_pages: Pages without text, as `source#page_number`. They are never retrieved.
        skipped: Documents that the user left out.
        cases: The multiple-choice case of each query, in the order of the queries; empty if the dataset has none. Only
            a dataset with cases may have no passages or no judgments.
        references: The spans that answer the queries, each with its text, if the dataset judges spans. The qrels follow
            from them.
        left_out: The questions that are not measured, and the documents that are left out of rankings.
        columns: As of the collection.
        further_units: The further units of passages of several pages: rows of passage and unit, in the order of the
            passages and then of the pages, shape [further units, 2].
        documents: The documents, where more than the passages may be returned; empty otherwise.
        digest_of_headings: Digest of the headings that decide what is indexed; empty if none do.
        indexed: Returns the texts that are indexed, where these are not those of the passages; computed once.
        is_returned: Whether the passages are those that a system returned; what else could have come back is not known.
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
    cases: tuple[Case, ...] = ()
    references: tuple[Reference, ...] = ()
    left_out: LeftOut = field(default_factory=LeftOut)
    columns: str = ""
    further_units: Indices = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))
    documents: tuple[Document, ...] = field(default=(), repr=False)
    digest_of_headings: str = ""
    indexed: Callable[[], tuple[str, ...]] | None = field(default=None, compare=False, repr=False)
    is_returned: bool = False

    @classmethod
    def from_collection(
        cls,
        collection: Collection,
        chunker: Chunker,
        store: Store = NO_STORE,
        *,
        fuzzy_threshold: float = LEAST_HELD,
        may_lack_judgments: bool = False,
    ) -> Dataset:
        """Split the documents into passages and number the units.

        Args:
            collection: The output of a dataset format.
            chunker: Splits the pages.
            store: Caches the spans of the chunkers of ragsweep. Those of user chunkers are not cached.
            fuzzy_threshold: As of `relevant_passages`.
            may_lack_judgments: Whether it may be without judgments.

        Raises:
            DatasetError: There is nothing to retrieve, to measure or to answer, or the collection is invalid.
        """
        check(collection, may_lack_judgments=may_lack_judgments)
        passages: list[Passage] = []
        keys: list[str] = []
        further: list[tuple[int, str]] = []
        positions: dict[str, int] = {}
        empty: list[str] = []
        spans = cut(collection.documents, chunker, store)
        for document, spans_of_document in zip(collection.documents, spans, strict=True):
            with_text: set[int] = set()
            for passage, pages in passages_in(document, spans_of_document):
                units = [passage.chunk_id] if collection.unit == "passage" else [page.unit for page in pages]
                keys.append(units[0])
                further += [(len(passages), unit) for unit in dict.fromkeys(units[1:]) if unit != units[0]]
                passages.append(passage)
                with_text |= {page.start for page in pages}
            for page in document.pages:
                if page.start not in with_text or page.start == page.end:
                    empty.append(f"{document.source}#{page.page_number}")
                if collection.unit != "passage":
                    positions.setdefault(page.unit, len(positions))
        if not passages and collection.documents:
            raise DatasetError(f"{collection.name}: the documents contain no text, so nothing can be retrieved")
        for key in (*keys, *(judgment.unit for judgment in collection.judgments)):
            positions.setdefault(key, len(positions))
        documents = {document.source: document for document in collection.documents}
        references = tuple(reference.with_text(documents[reference.source].text) for reference in collection.references)
        judgments = relevant_passages(references, passages, fuzzy_threshold) or collection.judgments
        return cls(
            name=collection.name,
            digest=collection.digest,
            unit=collection.unit,
            passages=tuple(passages),
            queries=collection.queries,
            qrels=Qrels.of(judgments, collection.queries, positions),
            units=tuple(positions),
            passage_units=np.fromiter((positions[key] for key in keys), dtype=np.int64),
            empty_pages=tuple(empty),
            skipped=collection.skipped,
            columns=collection.columns,
            cases=collection.cases,
            references=references,
            left_out=collection.left_out,
            further_units=np.array([(row, positions[key]) for row, key in further], dtype=np.int64).reshape(-1, 2),
        )

    def with_queries(self, rows: Indices) -> Dataset:
        """The same corpus with some of the queries, at these positions in ascending order; the others are left out."""
        judged = np.isin(self.qrels.query, rows)
        ids = {self.queries[row].query_id for row in rows}
        unselected = [query.query_id for query in self.queries if query.query_id not in ids]
        return replace(
            self,
            digest=digest([self.digest, sorted(ids)]),
            queries=tuple(self.queries[row] for row in rows),
            left_out=self.left_out._replace(unselected=(*self.left_out.unselected, *unselected)),
            cases=tuple(self.cases[row] for row in rows) if self.cases else (),
            references=tuple(reference for reference in self.references if reference.query_id in ids),
            qrels=Qrels(
                np.searchsorted(rows, self.qrels.query[judged]), self.qrels.unit[judged], self.qrels.grade[judged]
            ),
        )

    @cached_property
    def passages_with_units(self) -> Indices:
        """Each passage with each of its units: rows of passage and unit, shape [pairs, 2]."""
        first = np.column_stack([np.arange(len(self.passages)), self.passage_units])
        return np.concatenate([first, self.further_units])

    @cached_property
    def found_units(self) -> Indices:
        """Positions of the units that can be retrieved, in ascending order: those with a passage; all, if returned."""
        return np.arange(len(self.units)) if self.is_returned else np.unique(self.passages_with_units[:, 1])

    @cached_property
    def unranked_passages(self) -> Indices:
        """The passages that are left out of the rankings of queries, as rows of query and passage, shape [pairs, 2]."""
        pairs = self.left_out.documents
        rows = {composed(query.query_id): row for row, query in enumerate(self.queries)} if pairs else {}
        passages: dict[str, list[int]] = {composed(source): [] for _, source in pairs}
        for place, passage in enumerate(self.passages if pairs else ()):
            passages.get(composed(passage.source), []).append(place)
        unranked = [
            (rows[name], place)
            for query_id, source in pairs
            if (name := composed(query_id)) in rows
            for place in passages[composed(source)]
        ]
        return np.array(unranked, dtype=np.int64).reshape(-1, 2)

    @cached_property
    def retrievable(self) -> npt.NDArray[np.bool_]:
        """Whether each judgment names a unit that the ranking of its query can have, shape [judgments]."""
        number = np.bincount(self.passages_with_units[:, 1], minlength=len(self.units))
        unranked = {*map(tuple, self.unranked_passages.tolist())}
        left_out = Counter((query, unit) for query, passage in unranked for unit in self.units_of([passage]))
        without = [left_out[pair] for pair in zip(self.qrels.query.tolist(), self.qrels.unit.tolist(), strict=True)]
        return number[self.qrels.unit] > np.array(without, dtype=np.int64)

    def passages_of(self, unit: int) -> Indices:
        """Positions of the passages of a unit, in corpus order."""
        further = self.further_units[self.further_units[:, 1] == unit, 0]
        return np.union1d(np.flatnonzero(self.passage_units == unit), further)

    def units_of(self, passages: Iterable[int]) -> set[int]:
        """All units of some passages."""
        given = np.fromiter(passages, dtype=np.int64)
        further = self.further_units[np.isin(self.further_units[:, 0], given), 1]
        return {*self.passage_units[given].tolist(), *further.tolist()}

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts of the passages, in corpus order."""
        return tuple(passage.text for passage in self.passages)

    @property
    def indexed_texts(self) -> tuple[str, ...]:
        """The texts that are searched, in corpus order."""
        return self.texts if self.indexed is None else self.indexed()

    @cached_property
    def digest_of_passages(self) -> str:
        """Digest of the passages, which depend on the chunking."""
        return digest([digest_texts(self.texts), digest_texts(passage.chunk_id for passage in self.passages)])

    @cached_property
    def digest_of_all(self) -> str:
        """Digest of everything that affects results: queries, judgments, passages and headings."""
        of_all = [self.digest, self.digest_of_passages, *filter(None, [self.digest_of_headings])]
        if all(reference.has_offsets for reference in self.references):
            return digest(of_all)
        qrels = [column.tolist() for column in vars(self.qrels).values()]  # they depend on fuzzy_threshold, too
        return digest([*of_all, qrels])

    @property
    def profile(self) -> dict[str, int]:
        """Number of passages, units, queries and judgments, and of questions that are left out."""
        return {
            "passages": len(self.passages),
            "units": len(self.units),
            "queries": len(self.queries),
            "judgments": len(self.qrels.grade),
            **({"left_out": self.left_out.number} if self.left_out.number else {}),
        }

    def coverage(self, relevance_level: int = 1) -> Coverage | None:
        """How many units of at least this grade can be retrieved; None if the passages are those of a system."""
        if self.is_returned:
            return None
        relevant = self.qrels.grade >= relevance_level
        units, present = np.unique(self.qrels.unit[relevant]), np.unique(self.qrels.unit[relevant & self.retrievable])
        return Coverage(len(units), len(present))


def passages_in(document: Document, spans: Sequence[Span]) -> Iterator[tuple[Passage, Sequence[Page]]]:
    """The passages between these offsets, each with the pages that it has text of."""
    starts = [page.start for page in document.pages]
    numbers: Counter[int] = Counter()
    for start, end in spans:
        first = bisect_right(starts, start) - 1
        pages: Sequence[Page] = document.pages[first : bisect_right(starts, end - 1)]
        if len(pages) > 1:
            borders = [start, *(page.start for page in pages[1:]), end]
            texts = (document.text[border:after] for border, after in pairwise(borders))
            pages = [page for page, text in zip(pages, texts, strict=True) if text.strip()] or pages[:1]
        page = pages[0]
        passage = Passage(
            text=document.text[start:end],
            source=document.source,
            page=page.page,
            page_number=page.page_number,
            chunk_id=f"{document.source}#{page.page + 1}/{numbers[page.page]}",  # labels can repeat, pages cannot
            start=start,
            end=end,
        )
        numbers[page.page] += 1
        yield passage, pages
