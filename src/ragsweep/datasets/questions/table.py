"""Reads questions with the pages or documents that answer them, one question a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ragsweep.core.constraints import Text
from ragsweep.core.errors import DatasetError
from ragsweep.datasets.collection import Document, Judgment, Query, Unit
from ragsweep.datasets.delimited_rows import Entry
from ragsweep.datasets.entry_files import further_fields, grades_in, id_of, read_entries, text_of, type_in
from ragsweep.datasets.fields import QUERY_TYPE
from ragsweep.datasets.judgment_files import JudgmentFile, table_with
from ragsweep.datasets.own import Asked
from ragsweep.datasets.pages import OF_OWN, Key, Pages, Settings, with_keys


@dataclass(frozen=True)
class TableQuestions:
    """A JSON list, a file with one JSON object per line, a CSV, TSV or Parquet file, with one question a row.

    Further columns become further fields of the queries.

    Attributes:
        path: The file.
        unit: What judgments name: a `page` ("34", "manual.pdf#34"), a `page_number` (page 34 of any document counts),
            or a `document` ("manual.pdf").
        query: The column of the question.
        relevant: The column of the judgments: a list like `["34", "manual.pdf#35"]`, grades like `{"34": 2}`, or the
            text `34; manual.pdf#35`.
        id: The column of the ids; None numbers the questions from 1.
        type: The column of the types by which results are broken down; None if there is none.
    """

    path: Text
    unit: Key = "page"
    query: Text = "query"
    relevant: Text = "relevant_docs"
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
        queries: list[Query] = []
        judgments: list[Judgment] = []
        earlier: dict[str, str] = {}
        has_type = self.type in (None, QUERY_TYPE)
        for number, (where, row) in enumerate(
            read_entries(Path(self.path), "queries", setting=settings.questions), start=1
        ):
            query = self._query(row, where, number)
            if earlier.setdefault(query.query_id, where) != where:
                first = earlier[query.query_id]
                raise DatasetError(f"{where}: the id {query.query_id!r} is in the file twice, first in {first}")
            has_type = has_type or self.type in row
            queries.append(query)
            judgments += pages.judgments(query.query_id, grades_in(row, self.relevant, where), where)
        if not queries:
            raise DatasetError(f"{self.path}: contains no queries; expected at least one")
        if not has_type:
            raise DatasetError(f"{self.path}: no query has the field {self.type!r} (questions.type)")
        return Asked(unit, documents, tuple(queries), tuple(judgments))

    def with_judgments(
        self, judgments: Sequence[Judgment], documents: tuple[Document, ...], setting: str = OF_OWN.questions
    ) -> JudgmentFile:
        """The file with further judgments, for the setting that names it."""
        added: dict[str, dict[str, int]] = {}
        bare = self.unit == "page" and len(documents) == 1  # the page number is enough, and probably what the file has
        for query_id, unit, grade in judgments:
            added.setdefault(query_id, {})[unit.rpartition("#")[2] if bare else unit] = grade
        return table_with(Path(self.path), self.relevant, self.id, added, f"{setting}={{path}}")

    def _query(self, row: Entry, where: str, number: int) -> Query:
        text = text_of(row, self.query, where)
        if not text:
            raise DatasetError(f"{where}: the field {self.query!r} is empty; expected the text of the query")
        return Query(
            query_id=id_of(row, self.id, where) if self.id else str(number),
            text=text,
            query_type=type_in(row, self.type, where),
            fields=further_fields(row, (self.id, self.query, self.relevant, self.type), where),
        )
