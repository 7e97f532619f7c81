"""Reads questions with the pages, documents or spans of text that answer them."""

from __future__ import annotations

import re
from collections.abc import Collection as Names
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Annotated

from ragsweep.core.errors import DatasetError
from ragsweep.core.limits import Between, Text
from ragsweep.datasets.formats.questions.spans import Spans
from ragsweep.datasets.model.collection import Collection, Document, Judgment, Query, Unit
from ragsweep.datasets.model.dataset_format import Questions
from ragsweep.datasets.model.faults import Faults
from ragsweep.datasets.model.pages import AmbiguousPageError, Key, Pages, with_keys
from ragsweep.datasets.readers.columns import ALL_RELEVANT, QuestionColumns, pasted, with_nested
from ragsweep.datasets.readers.fields import Entry, answerable_in, further_fields, id_of, text_of, type_in, value_of
from ragsweep.datasets.readers.tables import is_csv, read_entries

JOINED = re.compile(r"[,|\n\u3001\uff0c]")  # what people write between ids


@dataclass
class _Question:
    """A question, the place and the values of its first row, and the judgments of all of its rows."""

    query: Query
    where: str
    row: Entry
    grades: dict[str, int] = field(default_factory=dict)
    is_faulty: bool = False


@dataclass(frozen=True)
class TableQuestions(QuestionColumns, Questions):
    """A table of questions: JSON, CSV, TSV or Parquet, told by the ending of its name.

    A row is a question, with what answers it in the column `relevant` or `references`. Or it is a judgment, if `grade`
    names a column, or is `none`: then rows of one id, or without ids of one text, are one question, whose fields are
    those that all of its rows share.

    A question with `answerable` false has nothing relevant: the documents do not answer it. It is left out of the
    metrics of ranking; what is found for it is a false find.

    Attributes:
        path: The file.
        unit: What judgments name: a `page` ("34", "manual.pdf#34"), a `page_number` (page 34 of any document counts),
            or a `document` ("manual.pdf").
        delimiter: What is between the columns of CSV; None is a comma.
        similarity: Least similarity of the letters of a reference; see `Spans`. None expects them as they are written.
    """

    path: Text
    unit: Key = "page"
    delimiter: str | None = None
    similarity: Annotated[float, Between(0.5, 1)] | None = None

    @property
    def without_effect(self) -> Sequence[str]:
        """Those that name nothing."""
        unset = [name for name in ("delimiter", "similarity") if getattr(self, name) is None]
        return [*super().without_effect, *unset]

    def read(self, documents: tuple[Document, ...]) -> Collection:
        """Read the questions. The pages that they name must exist."""
        delimiter = self.delimiter.replace(r"\t", "\t") if self.delimiter else None
        separated = ("questions.delimiter", delimiter)
        entries = read_entries(Path(self.path), "queries", setting="questions.path", delimiter=separated)
        rows = [*with_nested(entries, self.named.values())]
        if not rows:
            raise DatasetError(f"{self.path}: contains no queries; expected at least one")
        columns: Entry = {}  # each with its first value
        for _, row in rows:
            columns |= {name: value for name, value in row.items() if name not in columns}
        unjudged = self.unjudged(columns, rows[0][0])
        if unjudged and len({str(row.get(self.query)) for _, row in rows}) < len(rows):
            raise DatasetError(unjudged)  # each of the rows has a judgment in other columns
        faults = Faults(self.path)
        read = self._with_spans if self.references in columns else self._with_units
        collection = read(rows, columns, documents, faults)
        read_as = f"{Path(self.path).name} {self.read_as(columns)}"
        return replace(collection, faults=faults, unjudged=unjudged, columns=read_as)

    def _with_units(
        self, rows: Sequence[tuple[str, Entry]], columns: Names[str], documents: tuple[Document, ...], faults: Faults
    ) -> Collection:
        """The questions whose pages or documents are judged."""
        documents = with_keys(documents, self.unit)
        unit: Unit = "document" if self.unit == "document" else "page"
        pages, judgments, queries = Pages(documents, unit), list[Judgment](), list[Query]()
        endings = {document.source: PurePosixPath(document.source).suffix for document in documents}
        for question in self._questions(rows, columns, faults, is_known=bool(documents)):
            try:
                judgments += self._judgments(question, pages, endings)
                queries.append(question.query)
            except DatasetError as error:
                faults.add(error, question.query.query_id)
        return Collection("", unit, documents, tuple(queries), tuple(judgments))

    def _with_spans(
        self, rows: Sequence[tuple[str, Entry]], columns: Names[str], documents: tuple[Document, ...], faults: Faults
    ) -> Collection:
        """The questions whose references are judged, one a row."""
        spans = Spans(documents, self.similarity, str(self.references), self.document, in_text=self._in_text)
        earlier: dict[str, str] = {}
        queries: list[Query] = []
        for number, (where, row) in enumerate(rows, start=1):
            name = None if self.id in columns else str(number)
            try:
                name = name or id_of(row, str(self.id), where)
                query = self._query(row, name, where, columns)
                key, what = (name, f"the id {name!r}") if self.id in columns else (query.text, "the question")
                if (first := earlier.setdefault(key, where)) != where:
                    raise DatasetError(f"{where}: {what} is that of {first}; put all references into one list")
                queries.append(spans.add(query, row, where))
            except DatasetError as error:
                faults.add(error, name)
        if not spans.references and not faults.found:
            raise DatasetError(f"{self.path}: {spans.nothing}")
        collection = Collection("", "passage", documents, tuple(queries), (), references=tuple(spans.references))
        return replace(collection, sought=tuple(spans.sought), lost=tuple(spans.lost))

    @property
    def _in_text(self) -> bool:
        """Whether a cell is a text, as in CSV, so that it can be a list."""
        return is_csv(Path(self.path))

    def _questions(
        self, rows: Sequence[tuple[str, Entry]], columns: Names[str], faults: Faults, *, is_known: bool
    ) -> list[_Question]:
        """The questions that can be used, by their first rows; without documents, no key of pages is known."""
        has_id, is_merged = self.id in columns, self.grade is not None
        by_id, by_text = dict[str, _Question](), dict[str, _Question]()
        nameless = 0  # rows of which not even the question can be read
        spoilt = set[str]()  # ids, or texts, of questions that have such a row
        for number, (where, row) in enumerate(rows, start=1):
            name = None if has_id else str(len(by_id) + nameless + 1 if is_merged else number)
            question = None
            try:
                name = name or id_of(row, str(self.id), where)
                query = self._query(row, name, where, columns)
                first = by_id.get(name) if has_id else by_text.get(query.text)
                first = first if is_merged else first or by_text.get(query.text)
                question = first or _Question(query, where, row)
                if first is None:
                    by_id[name] = by_text[query.text] = question
                elif not is_merged:
                    raise DatasetError(self._twice(query, first, where, has_id=has_id))
                self._add(question, query, row, where, columns, is_known=is_known)
            except DatasetError as error:
                if question is None or not question.is_faulty:
                    faults.add(error, question.query.query_id if question else name)
                if question is None:
                    nameless += 1
                    spoilt.add((name or "") if has_id else str(row.get(self.query)).strip())
                else:
                    question.is_faulty = True
        usable = (question for question in by_id.values() if not question.is_faulty)
        if not is_merged:
            return [*usable]
        return [question for question in usable if spoilt.isdisjoint((question.query.query_id, question.query.text))]

    def _query(self, row: Entry, name: str, where: str, columns: Iterable[str]) -> Query:
        """The question of a row; `name` is its id."""
        if not (text := text_of(row, self.query, where)):
            raise DatasetError(f"{where}: the field {self.query!r} is empty; expected the text of the query")
        used = {name for what, name in self.named.items() if name in columns and what != "answerable"}
        query_type, group = type_in(row, self.type, where), type_in(row, self.group, where)
        further = further_fields(row, {*used, *(name.partition(".")[0] for name in used if "." in name)}, where)
        return Query(name, text, query_type, further, group, answerable_in(row, self.answerable, where))

    def _add(
        self, question: _Question, query: Query, row: Entry, where: str, columns: Names[str], *, is_known: bool
    ) -> None:
        """Add the judgments of a row to those of its question."""
        for what in ("text", "query_type", "group", "answerable"):
            value, other = getattr(query, what), getattr(question.query, what)
            if other != value:
                raise DatasetError(f"{where}: the {what} is {value!r}, but {other!r} in {question.where}; expected one")
        if query.answerable and self.relevant in columns and not self.is_by_row:
            value_of(row, self.relevant, where)
        is_blank = not query.answerable and not any(row.get(name) for name in self.judging)
        grades = {} if is_blank else self.judged_in(row, where, in_text=self._in_text)
        if not query.answerable and max(grades.values(), default=0) > 0:
            raise DatasetError(f"{where}: {self.answerable} is false, but there is something relevant")
        written = "" if is_known or self.is_by_row else str(row.get(str(self.relevant), "")).lstrip()
        if self._in_text and JOINED.search(written) and not written.startswith(("[", "{")):
            expected = 'expected semicolons between ids, or a list like ["a, b"] of one with such a mark in it'
            raise DatasetError(f"{where}: the field {self.relevant!r} is {written[:80]!r}; {expected}")
        for key, grade in grades.items():
            key = key if is_known else key.removesuffix("#")  # noqa: PLW2901
            if question.grades.setdefault(key, grade) != grade:
                found = f"{key[:80]!r} has the grades {question.grades[key]} and {grade} for the same question"
                raise DatasetError(f"{where}: {found}; expected one")
        shared = tuple(field for field in question.query.fields if field in query.fields)
        question.query = replace(question.query, fields=shared)

    def _twice(self, query: Query, first: _Question, where: str, *, has_id: bool) -> str:
        """Says that two rows have one id, or one text, and what to do in either case that this can be."""
        is_id = query.query_id == first.query.query_id
        found = f"{where}: {f'the id {query.query_id!r}' if is_id else 'the question'} is that of {first.where}"
        merged = pasted({"grade": ALL_RELEVANT})
        if has_id and not is_id:
            merged = f"{pasted({'id': None, 'grade': ALL_RELEVANT})}, or {merged} if ids tell questions apart,"
        return f"{found}; put all of its judgments into one list, or set {merged} if each row is one of them"

    def _judgments(self, question: _Question, pages: Pages, endings: Mapping[str, str]) -> list[Judgment]:
        """The judgments of a question; `endings` are those of the names of documents.

        Raises:
            DatasetError: A page is unknown, or a field names another file than that of the only page with its number.
                Only a name with the ending of a document: `3` or `A` may be a level or an option elsewhere.
        """
        try:
            judgments = pages.judgments(question.query.query_id, question.grades, question.where)
        except AmbiguousPageError as error:
            if not (named := [name for name, value in question.query.fields if value in endings]):
                raise
            raise DatasetError(f"{str(error).partition('; ')[0]}; {self._by_document(named[0])}") from error
        found = {judgment.unit.rpartition("#")[0] for judgment in judgments} & endings.keys()
        if found and not any("#" in key for key in question.grades):
            for name, value in question.query.fields:
                ending = PurePosixPath(value).suffix
                if ending and value not in found and name not in self.fields and ending in endings.values():
                    page = (
                        f"page {next(iter(question.grades))!r} is that of {min(found)}, but {name!r} is {value[:80]!r}"
                    )
                    none = f"{pasted({'fields': [*self.fields, name]})} says it is none"
                    raise DatasetError(f"{question.where}: {page}; {self._by_document(name)}, {none}")
        return judgments

    def _by_document(self, name: str) -> str:
        """Says how a column becomes that of the document of a row's pages."""
        page = {} if self.page else {"page": self.relevant}
        grade = {} if self.grade else {"grade": ALL_RELEVANT}
        return f"{pasted({'document': name, **page, **grade})} takes it from {name!r}"
