"""Reads multiple-choice cases from a file, and the PDF documents that answer them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ragsweep.core.errors import DatasetError
from ragsweep.core.limits import Text
from ragsweep.datasets.formats.own import OF_PDF, as_typed
from ragsweep.datasets.formats.pdf_documents import PageNumbers, PdfDocuments
from ragsweep.datasets.model.cases import Case
from ragsweep.datasets.model.collection import Collection, Document, Judgment, Query
from ragsweep.datasets.model.faults import AbsentUnitError, Faults
from ragsweep.datasets.model.pages import Match, Pages, keys_of, with_keys
from ragsweep.datasets.model.selecting import Selecting
from ragsweep.datasets.readers.columns import with_nested
from ragsweep.datasets.readers.fields import id_of
from ragsweep.datasets.readers.tables import is_csv, read_entries
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep_answers.cases.case_columns import CaseColumns


@dataclass(frozen=True)
class CasesDataset(Selecting):
    """Multiple-choice cases in a JSON or CSV file, with PDF documents if there are any.

    Attributes:
        name: Name of the dataset and of its experiment in MLflow.
        cases: The file: a JSON list of objects, one JSON object per line, or a CSV file with a header. The latter two
            may be gzipped.
        columns: Which column or field contains what.
        documents: A PDF file, or a folder of PDF files, including subfolders. Null if there are none; then the relevant
            pages of the cases are not read.
        page_numbers: `physical` counts pages from 1. `label` uses the printed number of a page if the PDF contains it.
        match: `qualified` distinguishes page 34 of one document from page 34 of another. `page_number` does not.
        skip: Names of files in the folder to leave out, for example unreadable ones.
        store: Caches the texts of the pages.
    """

    name: Text
    cases: Text
    columns: CaseColumns
    documents: Text | None = None
    page_numbers: PageNumbers = "physical"
    match: Match = "qualified"
    skip: Sequence[str] = ()
    store: Store = NO_STORE

    def __post_init__(self) -> None:
        super().__post_init__()
        with as_typed(OF_PDF):
            object.__setattr__(self, "skip", PdfDocuments("", skip=self.skip).skip)

    @property
    def without_effect(self) -> Sequence[str]:
        """An empty `skip`; without documents, also the settings of pages."""
        if self.documents is None:
            return (*super().without_effect, "page_numbers", "match", "skip")
        return (*super().without_effect, *(() if self.skip else ("skip",)))

    def documents_alone(self) -> PdfDocuments | None:
        """The PDF documents."""
        if self.documents is None:
            return None
        return PdfDocuments(self.documents, self.page_numbers, self.skip, self.store)

    def load(self) -> Collection:
        """Read the documents and the cases. The pages that the cases name must exist in the documents."""
        with as_typed({**OF_PDF, "questions.first_page": "dataset.columns.first_page"}):
            return self._read()

    def _read(self) -> Collection:
        documents: tuple[Document, ...] = ()
        if corpus := self.documents_alone():
            documents = with_keys(corpus.read(), keys_of("page", self.match))
        pages = Pages(documents, "page")
        cases: list[Case] = []
        judgments: list[Judgment] = []
        earlier: dict[str, str] = {}
        faults = Faults(self.cases)
        rows = [*with_nested(read_entries(Path(self.cases), "cases"), self.columns.named.values())]
        if not rows:
            raise DatasetError(f"{self.cases}: contains no cases; expected at least one")
        self.columns.expect(rows, is_judged=bool(documents))
        has_id, in_text = any(self.columns.id in row for _, row in rows), is_csv(Path(self.cases))
        for number, (where, row) in enumerate(rows, start=1):
            name = None
            try:
                name = id_of(row, str(self.columns.id), where) if has_id else str(number)
                case = self.columns.case_of(row, where, name)
                if earlier.setdefault(case.query_id, where) != where:
                    first = earlier[case.query_id]
                    raise DatasetError(f"{where}: the id {case.query_id!r} is in the file twice, first in {first}")
                if documents:
                    judgments += pages.judgments(
                        case.query_id, self.columns.grades_of(row, where, in_text=in_text), where
                    )
                cases.append(case)
            except AbsentUnitError as error:
                faults.add_absent(error, Query.of(case), len(cases), case)
            except DatasetError as error:
                faults.add(error, name)
        collection = Collection(
            name=self.name,
            unit="page",
            documents=documents,
            queries=tuple(map(Query.of, cases)),
            judgments=tuple(judgments),
            skipped=tuple(sorted(set(self.skip))) if documents else (),
            cases=tuple(cases),
            columns=f"{self.cases} {self.columns.read_as(name for _, row in rows for name in row)}",
        )
        return self.selected(collection, faults)
