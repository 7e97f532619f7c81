"""Reads questions with the pages or documents that answer them, one question or one judgment a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from ragsweep.core.errors import DatasetError
from ragsweep.core.limits import Text
from ragsweep.datasets.formats.own import Asked
from ragsweep.datasets.formats.questions.question_rows import (
    Noticed,
    RowsOfQuestion,
    expect_document,
    expect_no_grade,
    say_if_joined,
)
from ragsweep.datasets.model.collection import Document, Judgment, Query, Unit
from ragsweep.datasets.model.faults import Faults
from ragsweep.datasets.model.pages import OF_OWN, AmbiguousPageError, Key, Pages, Settings, with_keys
from ragsweep.datasets.readers.delimited_rows import Entry
from ragsweep.datasets.readers.entry_files import (
    ANSWERABLE,
    answerable_in,
    expect_fields,
    further_fields,
    id_of,
    read_entries,
    text_of,
    type_in,
    value_of,
)
from ragsweep.datasets.readers.fields import QUERY_TYPE, listed
from ragsweep.datasets.readers.json_objects import Named
from ragsweep.datasets.readers.judgment_fields import (
    PAGE,
    document_of_row,
    grade_columns_of,
    graded_by_row,
    grades_in,
    grades_of_row,
    has_alternatives,
    is_grade_unread,
    is_graded,
    judgment_columns,
)
from ragsweep.datasets.readers.known_columns import with_known_names

Rows = Iterable[tuple[str, Entry]]

QUERY, OTHER_QUERY = "query", "question"  # the other name is read where the usual one is missing
RELEVANT, OTHER_RELEVANT = "relevant_docs", "relevant_pages"


@dataclass(frozen=True)
class TableQuestions:
    """A JSON list, a file with one JSON object per line, a CSV, TSV or Parquet file, with one question a row.

    A question can also have several rows, with a judgment in each. Rows are of one question if they have the same id,
    or, without a column of ids, the same text and type. Without a column of judgments, the columns of a row make one:
    `source` (or file, filename, doc, document), `page` (or page_number), and `grade` (or score, relevance, rel). All
    names of columns may be spelled as `with_known_names` says.

    A question with `answerable` false has nothing relevant: the documents do not answer it. It is left out of the
    metrics of ranking; what is found for it is a false find.

    Further columns become further fields of the queries. Those that differ between the rows of a question are left out,
    and named.

    Attributes:
        path: The file.
        unit: What judgments name: a `page` ("34", "manual.pdf#34"), a `page_number` (page 34 of any document counts),
            or a `document` ("manual.pdf").
        query: The column of the question. Where there is no `query`, `question` is read.
        relevant: The column of the judgments: a list like `["34", "manual.pdf#35"]`, grades like `{"34": 2}`, or the
            text `34; manual.pdf#35`. Where there is no `relevant_docs`, `relevant_pages` is read. None reads no
            judgments.
        id: The column of the ids; None numbers the questions from 1.
        type: The column of the types by which results are broken down; None if there is none.
    """

    path: Text
    unit: Key = "page"
    query: Text = QUERY
    relevant: Text | None = RELEVANT
    id: Text | None = None
    type: Text | None = QUERY_TYPE

    def read(self, documents: tuple[Document, ...], settings: Settings = OF_OWN) -> Asked:
        """Read the questions. The pages that they name must exist.

        Args:
            documents: The corpus.
            settings: Those that error messages name.
        """
        documents = with_keys(documents, self.unit)
        unit: Unit = "document" if self.unit == "document" else "page"
        pages = Pages(documents, unit, settings)
        faults = Faults(self.path)
        own = [*read_entries(Path(self.path), "queries", setting=settings.questions)]
        rows = self._rows(own)
        unjudged = self._unjudged(rows, settings)
        reader = replace(self, relevant=None) if unjudged else self
        names = dict(zip(rows[0][1], own[0][1], strict=True)) if rows else {}
        questions = reader._questions(rows, settings, faults, documents, names)
        say_if_joined(self.path, () if documents else questions)
        judgments: list[Judgment] = []
        sources = {document.source for document in documents}
        for each in questions:
            try:
                found = pages.judgments(each.query.query_id, each.grades, each.where)
                each.expect_its_document(found, sources)
                judgments += found
            except DatasetError as error:
                each.faulty = True
                fields = [name for name, _ in each.query.fields]
                ignored = fields and isinstance(error, AmbiguousPageError)
                error = DatasetError(f"{error}; not used: {listed(fields)}") if ignored else error
                faults.add(error, each.query.query_id)
        queries = tuple(each.query for each in questions if not each.faulty)
        return Asked(unit, documents, queries, tuple(judgments), faults=faults, unjudged=unjudged)

    def _rows(self, rows: Rows) -> list[tuple[str, Entry]]:
        """Rows with the names of columns by which they are read."""
        own = (self.relevant,) if self.relevant else ()
        relevant = (RELEVANT, OTHER_RELEVANT) if self.relevant == RELEVANT else own
        query = (QUERY, OTHER_QUERY) if self.query == QUERY else (self.query,)
        others = [query, (ANSWERABLE,), *((name,) for name in (self.id, self.type) if name)]
        return [(where, with_known_names(row, relevant, others, where)) for where, row in rows]

    def _unjudged(self, rows: Sequence[tuple[str, Entry]], settings: Settings) -> str:
        """Why no row has a judgment; empty if there is a column for them, or should be one."""
        if self.relevant is None:
            return f"{self.path}: no judgments are read"
        if self.relevant != RELEVANT or not rows or any(self._relevant_in(row) in (None, *row) for _, row in rows):
            return ""
        where, first = rows[0]
        try:
            value_of(first, RELEVANT, where)
        except DatasetError as error:
            return f"{error} (questions.relevant=FIELD takes another)" if settings is OF_OWN else str(error)
        return ""

    def _questions(
        self,
        rows: Sequence[tuple[str, Entry]],
        settings: Settings,
        faults: Faults,
        documents: Sequence[Document],
        names: Mapping[str, str],
    ) -> list[RowsOfQuestion]:
        """The questions that can be used, by their first rows. `names`: of columns in the file, by the known ones."""
        sources = {document.source for document in documents}
        endings = {PurePosixPath(source).suffix for source in sources} - {""}
        questions: dict[tuple[str, str | None], RowsOfQuestion] = {}
        nameless = 0  # rows of which not even the question can be read
        some_named = self.unit == "page" and len(sources) > 1 and any(document_of_row(row) for _, row in rows)
        noticed = Noticed(self._without_grade(rows))
        has_type = self.type in (None, QUERY_TYPE)
        for where, row in rows:
            has_type = has_type or self.type in row
            if self.relevant and self._relevant_in(row) is None and not row.keys() & {*PAGE}:
                noticed.judging |= dict.fromkeys(judgment_columns(row))
            question = None
            number, id_column = str(len(questions) + nameless + 1), self._id_in(row)
            name = None if id_column else number
            try:
                name = id_of(row, id_column, where) if id_column else number
                if settings is OF_OWN:
                    needed = self._relevant_in(row) if answerable_in(row, where) else None
                    expect_fields(row, {"questions.query": self._query_in(row), "questions.relevant": needed}, where)
                query = self._query(row, where, name)
                key = (query.text, query.query_type) if id_column is None else (name, None)
                question = questions.setdefault(key, RowsOfQuestion(query, where))
                question.rows += 1
                noticed.ungraded += (relevant := self._relevant_in(row)) is not None and is_grade_unread(row, relevant)
                grades = {} if where in noticed.blank else self._grades(row, where, sources, endings)
                noticed.alternatives += relevant is not None and has_alternatives(row, relevant)
                expect_document(grades if relevant is None and some_named else {}, row, where)
                noticed.differing |= question.add(query, grades, where)
            except DatasetError as error:
                if question is None or not question.faulty:
                    faults.add(error, question.query.query_id if question else name)
                if question is None:
                    nameless += 1
                else:
                    question.faulty = True
        if not questions and not nameless:
            raise DatasetError(f"{self.path}: contains no queries; expected at least one")
        if not has_type:
            raise DatasetError(f"{self.path}: no query has the field {self.type!r} (questions.type)")
        expect_no_grade(self.path, [row for _, row in rows], noticed.differing, questions.values())
        other = "; questions.relevant=FIELD takes another" if settings is OF_OWN else ""
        noticed.say(self.path, [row for _, row in rows], questions.values(), names, other)
        for each in questions.values():
            kept = tuple(one for one in each.query.fields if one[0] not in noticed.differing)
            each.query = each.query if len(kept) == len(each.query.fields) else replace(each.query, fields=kept)
        return [each for each in questions.values() if not each.faulty]

    def _query(self, row: Entry, where: str, name: str) -> Query:
        """The question of a row; `name` is its id."""
        column = self._query_in(row)
        text = text_of(row, column, where)
        if not text:
            raise DatasetError(f"{where}: the field {column!r} is empty; expected the text of the query")
        relevant = self._relevant_in(row)
        judged = [relevant, *grade_columns_of(row, relevant)] if relevant else judgment_columns(row)
        judged = judged if self.relevant else []
        return Query(
            query_id=name,
            text=text,
            query_type=type_in(row, self.type, where),
            fields=further_fields(row, (self._id_in(row), column, self.type, *judged), where),
            answerable=answerable_in(row, where),
        )

    def _grades(self, row: Entry, where: str, sources: Set[str], endings: Set[str]) -> dict[str, int]:
        """The judgments in a row. Its column of a document, if it has one, says of which document its pages are.

        Args:
            row: The row.
            where: Its place, for error messages.
            sources: The names of the documents.
            endings: Those of the names of files among them.
        """
        relevant = self._relevant_in(row)
        if relevant is None:
            return grades_of_row(row, where) if self.relevant else {}
        if relevant not in row and not answerable_in(row, where):
            return {}
        grades = graded_by_row(grades_in(row, relevant, where), row, relevant, where)
        named = document_of_row(row) if self.unit != "document" else ""
        if named not in sources and PurePosixPath(named).suffix not in endings:
            return grades
        return {key if "#" in key or key in sources else f"{named}#{key}": grade for key, grade in grades.items()}

    def _without_grade(self, rows: Sequence[tuple[str, Entry]]) -> set[str]:
        """The places of the rows whose judgment has no grade, where others have one."""
        graded = {where: is_graded(row, self._relevant_in(row)) for where, row in rows}
        return {where for where, has in graded.items() if has is False} if True in graded.values() else set()

    def _id_in(self, row: Entry) -> str | None:
        """The column of the ids."""
        return "id" if self.id is None and isinstance(row, Named) else self.id

    def _query_in(self, row: Entry) -> str:
        """The column of the question."""
        return OTHER_QUERY if self.query == QUERY and QUERY not in row and OTHER_QUERY in row else self.query

    def _relevant_in(self, row: Entry) -> str | None:
        """The column of the judgments; None if several columns make one."""
        if self.relevant != RELEVANT or RELEVANT in row:
            return self.relevant
        if OTHER_RELEVANT in row:
            return OTHER_RELEVANT
        return None if judgment_columns(row) else RELEVANT
