"""Reads questions with the pages, documents or spans of text that answer them."""

from __future__ import annotations

import re
from collections.abc import Collection as Names
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from ragsweep.core.errors import DatasetError
from ragsweep.core.limits import Text
from ragsweep.datasets.formats.questions.spans import SpanReader
from ragsweep.datasets.model.collection import Collection, Document, Judgment, Query, Reference, Unit
from ragsweep.datasets.model.dataset_format import Questions
from ragsweep.datasets.model.faults import AbsentUnitError, Faults
from ragsweep.datasets.model.pages import AmbiguousPageError, Key, Pages, with_keys
from ragsweep.datasets.readers.columns import ALL_RELEVANT, QuestionColumns, pasted, with_nested
from ragsweep.datasets.readers.fields import Entry, answerable_in, further_fields, id_of, text_of, type_in, value_of
from ragsweep.datasets.readers.tables import is_csv, read_entries

JOINED = re.compile(r"[,|\n\u3001\uff0c]")  # what people write between ids

Rows = Sequence[tuple[str, Entry]]  # each with its place
Questioned = Iterator[tuple[Query, Rows]]


@dataclass(frozen=True)
class TableQuestions(QuestionColumns, Questions):
    """A table of questions: JSON, CSV, TSV or Parquet, by the ending of its name.

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
    """

    path: Text
    unit: Key = "page"
    delimiter: str | None = None

    @property
    def without_effect(self) -> Sequence[str]:
        """Those that name nothing."""
        return [*super().without_effect, *([] if self.delimiter else ["delimiter"])]

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
        judge = self._with_spans if self.references in columns else self._with_units
        collection = judge(self._questions(rows, columns, faults), columns, documents, faults)
        read_as = f"{Path(self.path).name} {self.read_as(columns)}"
        return replace(collection, faults=faults, unjudged=unjudged, columns=read_as)

    def _with_units(
        self, questions: Questioned, columns: Names[str], documents: tuple[Document, ...], faults: Faults
    ) -> Collection:
        """The questions whose pages or documents are judged."""
        documents = with_keys(documents, self.unit)
        unit: Unit = "document" if self.unit == "document" else "page"
        pages, judgments, queries = Pages(documents, unit), list[Judgment](), list[Query]()
        endings = {document.source: PurePosixPath(document.source).suffix for document in documents}
        for query, rows in questions:
            try:
                grades = self._grades(query, rows, columns, is_known=bool(documents))
                judgments += self._judgments(query, grades, rows[0][0], pages, endings)
                queries.append(query)
            except AbsentUnitError as error:
                faults.add_absent(error, query, len(queries))
            except DatasetError as error:
                faults.add(error, query.query_id)
        return Collection("", unit, documents, tuple(queries), tuple(judgments))

    def _with_spans(
        self, questions: Questioned, _: Names[str], documents: tuple[Document, ...], faults: Faults
    ) -> Collection:
        """The questions whose references are judged, one a row."""
        spans = SpanReader(documents, str(self.references), self.document, self._in_text)
        queries, references = list[Query](), list[Reference]()
        for query, [(where, row)] in questions:
            try:
                typed, of_query = spans.read(query, row, where)
                queries.append(typed)
                references += of_query
            except DatasetError as error:
                faults.add(error, query.query_id)
        if not references and not faults.faults:
            raise DatasetError(f"{self.path}: contains no references; expected at least one question with one")
        return Collection("", "passage", documents, tuple(queries), (), references=tuple(references))

    @property
    def _in_text(self) -> bool:
        """Whether a cell is a text, as in CSV, so that it can be a list."""
        return is_csv(Path(self.path))

    def _questions(self, rows: Rows, columns: Names[str], faults: Faults) -> Questioned:
        """The questions that can be read, each with its rows: those with its id, or without ids with its text."""
        has_id, has_spans = self.id in columns, self.references in columns
        is_merged = self.grade is not None and not has_spans
        by_key, ids = dict[str, list[tuple[int, str, Entry]]](), dict[str, str]()
        for number, (where, row) in enumerate(rows, start=1):
            key = str(row.get(self.query) or "").strip() or where
            try:
                name = id_of(row, str(self.id), where) if has_id else key
            except DatasetError as error:
                faults.add(error)
                continue
            # One text with two ids is one question, unless its rows have their own judgments.
            key = name if is_merged or has_spans else ids.setdefault(key, name)
            by_key.setdefault(key, []).append((number, where, row))
        for position, (key, numbered) in enumerate(by_key.items(), start=1):
            name = key if has_id else str(position if is_merged else numbered[0][0])
            places = [(where, row) for _, where, row in numbered]
            try:
                query = self._query(name, *places[0], columns)
                if len(places) > 1 and not is_merged:
                    raise DatasetError(self._repeated(query, *places[:2], has_id=has_id, has_spans=has_spans))
                yield self._merged(query, places[1:], places[0][0], columns), places
            except DatasetError as error:
                faults.add(error, name)

    def _query(self, name: str, where: str, row: Entry, columns: Iterable[str]) -> Query:
        """The question of a row; `name` is its id."""
        if not (text := text_of(row, self.query, where)):
            raise DatasetError(f"{where}: the field {self.query!r} is empty; expected the text of the query")
        used = {name for setting, name in self.named.items() if name in columns and setting != "answerable"}
        query_type, group = type_in(row, self.type, where), type_in(row, self.group, where)
        further = further_fields(row, {*used, *(name.partition(".")[0] for name in used if "." in name)}, where)
        return Query(name, text, query_type, further, group, answerable_in(row, self.answerable, where))

    def _merged(self, query: Query, rows: Rows, first: str, columns: Iterable[str]) -> Query:
        """The question of several rows, with the fields that all share; `first` is the place of its first row."""
        for where, row in rows:
            other = self._query(query.query_id, where, row, columns)
            for field in ("text", "query_type", "group", "answerable"):
                value, expected = getattr(other, field), getattr(query, field)
                if value != expected:
                    raise DatasetError(f"{where}: the {field} is {value!r}, but {expected!r} in {first}; expected one")
            query = replace(query, fields=tuple(field for field in query.fields if field in other.fields))
        return query

    def _grades(self, query: Query, rows: Rows, columns: Names[str], *, is_known: bool) -> dict[str, int]:
        """The grades of a question, by keys; without documents, no key of pages is known."""
        grades: dict[str, int] = {}
        for where, row in rows:
            if query.answerable and self.relevant in columns and not self.is_by_row:
                value_of(row, self.relevant, where)
            is_blank = not query.answerable and not any(row.get(name) for name in self.judging)
            of_row = {} if is_blank else self.judged_in(row, where, in_text=self._in_text)
            if not query.answerable and max(of_row.values(), default=0) > 0:
                raise DatasetError(f"{where}: {self.answerable} is false, but there is something relevant")
            cell = "" if is_known or self.is_by_row else str(row.get(str(self.relevant), "")).lstrip()
            if self._in_text and JOINED.search(cell) and not cell.startswith(("[", "{")):
                expected = 'expected semicolons between ids, or a list like ["a, b"] of one with such a mark in it'
                raise DatasetError(f"{where}: the field {self.relevant!r} is {cell[:80]!r}; {expected}")
            for written, grade in of_row.items():
                key = written if is_known else written.removesuffix("#")
                if grades.setdefault(key, grade) != grade:
                    problem = f"{key[:80]!r} has the grades {grades[key]} and {grade} for the same question"
                    raise DatasetError(f"{where}: {problem}; expected one")
        return grades

    def _repeated(
        self, query: Query, first: tuple[str, Entry], second: tuple[str, Entry], *, has_id: bool, has_spans: bool
    ) -> str:
        """The message for two rows with one id, or one text: what they are, and what to do."""
        is_id = has_id and id_of(second[1], str(self.id), second[0]) == query.query_id
        problem = f"{second[0]}: {f'the id {query.query_id!r}' if is_id else 'the question'} is that of {first[0]}"
        if has_spans:
            return f"{problem}; put all references into one list"
        merged = pasted({"grade": ALL_RELEVANT})
        if has_id and not is_id:
            merged = f"{pasted({'id': None, 'grade': ALL_RELEVANT})}, or {merged} if ids tell questions apart,"
        return f"{problem}; put all of its judgments into one list, or set {merged} if each row is one of them"

    def _judgments(
        self, query: Query, grades: Mapping[str, int], where: str, pages: Pages, endings: Mapping[str, str]
    ) -> list[Judgment]:
        """The judgments of a question; `endings` are those of the names of documents.

        Raises:
            DatasetError: A page is unknown, or a field names another file than that of the only page with its number.
                Only a name with the ending of a document: `3` or `A` may be a level or an option elsewhere.
        """
        try:
            judgments = pages.judgments(query.query_id, grades, where)
        except AmbiguousPageError as error:
            if not (named := [name for name, value in query.fields if value in endings]):
                raise
            raise DatasetError(f"{str(error).partition('; ')[0]}; {self._by_document(named[0])}") from error
        except AbsentUnitError as error:
            self._expect_document(query, grades, where, error.judgments, endings)
            raise
        self._expect_document(query, grades, where, judgments, endings)
        return judgments

    def _expect_document(
        self,
        query: Query,
        grades: Mapping[str, int],
        where: str,
        judgments: Sequence[Judgment],
        endings: Mapping[str, str],
    ) -> None:
        """Raise `DatasetError` if a field names another file than the one whose page was found by its number."""
        sources = {judgment.unit.rpartition("#")[0] for judgment in judgments} & endings.keys()
        if not sources or any("#" in key for key in grades):
            return
        for name, value in query.fields:
            ending = PurePosixPath(value).suffix
            if ending and value not in sources and name not in self.fields and ending in endings.values():
                page = f"page {next(iter(grades))!r} is that of {min(sources)}, but {name!r} is {value[:80]!r}"
                none = f"{pasted({'fields': [*self.fields, name]})} says it is none"
                raise DatasetError(f"{where}: {page}; {self._by_document(name)}, {none}")

    def _by_document(self, name: str) -> str:
        """The settings that make a column that of the document."""
        page = {} if self.page else {"page": self.relevant}
        grade = {} if self.grade else {"grade": ALL_RELEVANT}
        return f"{pasted({'document': name, **page, **grade})} takes it from {name!r}"
