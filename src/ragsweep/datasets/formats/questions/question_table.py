"""Reads questions with the pages, documents or spans of text that answer them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Annotated

from ragsweep.core.errors import DatasetError
from ragsweep.core.limits import Between, Text
from ragsweep.datasets.formats.own import Asked
from ragsweep.datasets.formats.questions.question_columns import QuestionColumns
from ragsweep.datasets.formats.questions.spans import Spans
from ragsweep.datasets.model.collection import Document, Judgment, Query, Unit
from ragsweep.datasets.model.faults import Faults
from ragsweep.datasets.model.pages import OF_OWN, AmbiguousPageError, Key, Pages, Settings, with_keys
from ragsweep.datasets.readers.columns import ALL_RELEVANT
from ragsweep.datasets.readers.delimited_rows import Entry
from ragsweep.datasets.readers.entry_files import (
    answerable_in,
    further_fields,
    id_of,
    is_csv,
    read_entries,
    text_of,
    type_in,
    value_of,
)

JOINED = re.compile(r"[,|\n\u3001\uff0c]")  # what people write between ids

Rows = Sequence[tuple[str, Entry]]


@dataclass
class _Question:
    """A question, the place of its first row, and the judgments of all of its rows."""

    query: Query
    where: str
    grades: dict[str, int] = field(default_factory=dict)
    is_faulty: bool = False


@dataclass(frozen=True)
class TableQuestions(QuestionColumns):
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

    def read(self, documents: tuple[Document, ...], settings: Settings = OF_OWN) -> Asked:
        """Read the questions. The pages that they name must exist.

        Args:
            documents: The corpus.
            settings: Those that error messages name.
        """
        delimiter = self.delimiter.replace(r"\t", "\t") if self.delimiter else None
        entries = read_entries(
            Path(self.path), "queries", setting=settings.questions, delimiter=("questions.delimiter", delimiter)
        )
        rows = [*self.with_nested(entries)]
        if not rows:
            raise DatasetError(f"{self.path}: contains no queries; expected at least one")
        columns = {name: value for _, row in reversed(rows) for name, value in reversed(row.items())}
        columns = dict(reversed(columns.items()))
        unjudged = self.unjudged(columns, rows[0][0], settings)
        if unjudged and len({str(row.get(self.query)) for _, row in rows}) < len(rows):
            raise DatasetError(unjudged)  # each of the rows has a judgment in other columns
        faults = Faults(self.path)
        if self.references in columns:
            asked = self._with_spans(rows, columns, documents, faults)
        else:
            asked = self._with_pages(rows, columns, documents, faults, settings)
        return asked._replace(unjudged=unjudged, columns=f"{self.path} {self.read_as(columns)}")

    def _with_pages(
        self,
        rows: Rows,
        columns: Collection[str],
        documents: tuple[Document, ...],
        faults: Faults,
        settings: Settings,
    ) -> Asked:
        documents = with_keys(documents, self.unit)
        unit: Unit = "document" if self.unit == "document" else "page"
        pages, judgments = Pages(documents, unit, settings), list[Judgment]()
        sources = {document.source for document in documents}
        questions = self._questions(rows, columns, faults, settings, is_known=bool(documents))
        for question in questions:
            try:
                grades = {key.removesuffix("#") if not documents else key: grade
                          for key, grade in question.grades.items()}  # fmt: skip
                found = pages.judgments(question.query.query_id, grades, question.where)
                self._expect_its_document(question, found, sources, settings)
                judgments += found
            except DatasetError as error:
                question.is_faulty = True
                named = [name for name, value in question.query.fields if value in sources]
                if named and isinstance(error, AmbiguousPageError):
                    problem = str(error).partition("; ")[0]
                    error = DatasetError(f"{problem}; {self._by_document(named[0], settings)}")
                faults.add(error, question.query.query_id)
        queries = tuple(question.query for question in questions if not question.is_faulty)
        return Asked(unit, documents, queries, tuple(judgments), faults=faults)

    def _with_spans(
        self, rows: Rows, columns: Collection[str], documents: tuple[Document, ...], faults: Faults
    ) -> Asked:
        spans = Spans(documents, self.similarity, str(self.references), self.document, is_csv(Path(self.path)))
        has_id, places, queries = self.id in columns, dict[str, str](), list[Query]()
        for number, (where, row) in enumerate(rows, start=1):
            name = None if has_id else str(number)
            try:
                name = name or id_of(row, str(self.id), where)
                query = self._query(row, name, where, columns)
                if (first := places.setdefault(name if has_id else query.text, where)) != where:
                    again = f"the id {name!r}" if has_id else "the question"
                    raise DatasetError(f"{where}: {again} is that of {first}; put all references into one list")
                queries.append(spans.add(query, row, where))
            except DatasetError as error:
                faults.add(error, name)
        if not spans.references and not faults.found:
            raise DatasetError(f"{self.path}: {spans.nothing}")
        return Asked("passage", documents, tuple(queries), references=tuple(spans.references), faults=faults,
                     again=spans.again)  # fmt: skip

    def _questions(
        self, rows: Rows, columns: Collection[str], faults: Faults, settings: Settings, *, is_known: bool
    ) -> list[_Question]:
        """The questions that can be used, by their first rows."""
        has_id, is_merged = self.id in columns, self.grade is not None
        questions: dict[str, _Question] = {}
        by_text: dict[str, _Question] = {}
        nameless = 0  # rows of which not even the question can be read
        for number, (where, row) in enumerate(rows, start=1):
            name = None if has_id else str(len(questions) + nameless + 1 if is_merged else number)
            question = None
            try:
                name = name or id_of(row, str(self.id), where)
                query = self._query(row, name, where, columns)
                first = questions.get(name) if has_id else by_text.get(query.text)
                first = first if is_merged else first or by_text.get(query.text)
                question = first or _Question(query, where)
                if first is None:
                    questions[name] = by_text[query.text] = question
                elif not is_merged:
                    raise DatasetError(self._twice(query, first, where, settings, has_id=has_id))
                self._add(question, query, row, where, columns, is_known=is_known)
            except DatasetError as error:
                if question is None or not question.is_faulty:
                    faults.add(error, question.query.query_id if question else name)
                if question is None:
                    nameless += 1
                else:
                    question.is_faulty = True
        return [question for question in questions.values() if not question.is_faulty]

    def _query(self, row: Entry, name: str, where: str, columns: Iterable[str]) -> Query:
        """The question of a row; `name` is its id."""
        if not (text := text_of(row, self.query, where)):
            raise DatasetError(f"{where}: the field {self.query!r} is empty; expected the text of the query")
        used = {name for what, name in self.named.items() if name in columns and what != "answerable"}
        query_type, group = type_in(row, self.type, where), type_in(row, self.group, where)
        further = further_fields(row, {*used, *(name.partition(".")[0] for name in used if "." in name)}, where)
        return Query(name, text, query_type, further, group, answerable_in(row, self.answerable, where))

    def _add(
        self, question: _Question, query: Query, row: Entry, where: str, columns: Collection[str], *, is_known: bool
    ) -> None:
        """Add the judgments of a row to those of its question."""
        for what, value in (("text", query.text), ("query_type", query.query_type), ("group", query.group),
                            ("answerable", query.answerable)):  # fmt: skip
            if (other := getattr(question.query, what)) != value:
                raise DatasetError(f"{where}: the {what} is {value!r}, but {other!r} in {question.where}; expected one")
        if query.answerable and self.relevant in columns and not self.is_by_row:
            value_of(row, self.relevant, where)
        in_text = is_csv(Path(self.path))
        has_none = not query.answerable and not any(row.get(name) for name in self._judging())
        grades = {} if has_none else self.judged_in(row, where, in_text=in_text)
        if not query.answerable and max(grades.values(), default=0) > 0:
            raise DatasetError(f"{where}: {self.answerable} is false, but there is something relevant")
        written = "" if is_known or not in_text or self.is_by_row else str(row.get(str(self.relevant), "")).lstrip()
        if JOINED.search(written) and not written.startswith(("[", "{")):
            expected = 'expected semicolons between ids, or a list like ["a, b"] of one with such a mark in it'
            raise DatasetError(f"{where}: the field {self.relevant!r} is {written[:80]!r}; {expected}")
        for key, grade in grades.items():
            if question.grades.setdefault(key, grade) != grade:
                found = f"{key[:80]!r} has the grades {question.grades[key]} and {grade} for the same question"
                raise DatasetError(f"{where}: {found}; expected one")
        shared = tuple(field for field in question.query.fields if field in query.fields)
        question.query = replace(question.query, fields=shared)

    def _judging(self) -> list[str]:
        return [name for name in (self.relevant, self.document, self.page) if name]

    def _twice(self, query: Query, first: _Question, where: str, settings: Settings, *, has_id: bool) -> str:
        """Says that two rows have one id, or one text, and what to do in either case that this can be."""
        same = f"the id {query.query_id!r}" if query.query_id == first.query.query_id else "the question"
        merged = settings.typed({"grade": "none"})
        by_text = settings.typed({"id": None, "grade": "none"}) if has_id and same == "the question" else merged
        ids = f", or {merged} if ids tell questions apart" if by_text != merged else ""
        expected = f"put all of its judgments into one list, or set {by_text} if each row is one of them"
        return f"{where}: {same} is that of {first.where}; {expected}{ids}"

    def _expect_its_document(
        self, question: _Question, judgments: Iterable[Judgment], sources: set[str], settings: Settings
    ) -> None:
        """Raise `DatasetError` if a field names another file than that of the only page with a judged number.

        Only a name with the ending of a document: `3` or `A` may be a level or an option elsewhere.
        """
        found = {judgment.unit.rpartition("#")[0] for judgment in judgments} & sources
        endings = {PurePosixPath(source).suffix for source in sources} - {""}
        if not found or any("#" in key for key in question.grades):
            return
        for name, value in question.query.fields:
            if PurePosixPath(value).suffix in endings and value not in found and name not in self.fields:
                said = f"page {next(iter(question.grades))!r} is that of {min(found)}, but {name!r} is {value[:80]!r}"
                none = settings.typed({"fields": [*self.fields, name]})
                raise DatasetError(
                    f"{question.where}: {said}; {self._by_document(name, settings)}, {none} says it is none"
                )

    def _by_document(self, name: str, settings: Settings) -> str:
        """Says how a column becomes that of the document of a row's pages."""
        page = {} if self.page else {"page": self.relevant}
        grade = {} if self.grade else {"grade": ALL_RELEVANT}
        return f"{settings.typed({'document': name, **page, **grade})} takes it from {name!r}"
