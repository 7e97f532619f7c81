"""`dataset=pdf` and `dataset=beir`: a corpus and questions of usual formats, with settings of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ragsweep.core.limits import Text
from ragsweep.core.quoting import typed
from ragsweep.datasets.formats.beir import BeirQuestions, file_of
from ragsweep.datasets.formats.corpora.document_table import TableCorpus
from ragsweep.datasets.formats.own import OwnDataset, as_typed
from ragsweep.datasets.formats.pdf_documents import PageNumbers, PdfDocuments
from ragsweep.datasets.formats.pdf_parsers import Parser
from ragsweep.datasets.formats.questions.question_table import TableQuestions
from ragsweep.datasets.model.faults import OnError
from ragsweep.datasets.model.left_out import LeaveOut
from ragsweep.datasets.model.pages import Match, PageOrDocument, keys_of
from ragsweep.store.stage_store import NO_STORE, Store

OF_PDF = {
    "corpus.path": "dataset.documents",
    "corpus.page_numbers": "dataset.page_numbers",
    "corpus.skip": "dataset.skip",
    "corpus.parser": "dataset.parser",
    "questions.path": "dataset.queries",
    "questions.unit=page_number": "dataset.match=page_number",
}


def pdf_dataset(
    name: Text,
    documents: Text,
    queries: Text,
    *,
    page_numbers: PageNumbers = "physical",
    match: Match = "qualified",
    unit: PageOrDocument = "page",
    store: Store = NO_STORE,
    skip: Sequence[str] = (),
    parser: Parser = "pdfium",
    on_error: OnError = "refuse",
    ids: Text | Sequence[Text] | None = None,
    group: Text | None = None,
    qrels: Text | None = None,
) -> OwnDataset:
    """PDF files and a table of questions about their pages: `dataset=pdf`.

    Args:
        name: Name of the dataset and of its experiment in MLflow.
        documents: A PDF file, or a folder of PDF files, including subfolders.
        queries: The questions, in the formats of `TableQuestions`.
        page_numbers: How pages are counted; see `PdfDocuments`.
        match: `qualified` distinguishes page 34 of one document from page 34 of another. `page_number` does not.
        unit: What `relevant_docs` contains: a `page` ("34", "manual.pdf#34") or a `document` ("manual.pdf").
        store: Caches the texts of the pages.
        skip: Names of files in the folder to leave out.
        parser: The library that reads the texts.
        on_error: See `Selecting`, as of `ids`, `group` and `qrels`.
        ids: Selects questions.
        group: The field that names the group of a question.
        qrels: A file of further judgments.
    """
    with as_typed(OF_PDF):
        corpus = PdfDocuments(documents, page_numbers, skip, store, parser)
    key = keys_of(unit, match)
    others = {"page_numbers": page_numbers, "skip": corpus.skip, "parser": parser}
    changed = [typed(f"corpus.{name}", value) for name, value in others.items() if value != getattr(PdfDocuments, name)]
    changed += [] if key == "page" else [typed("questions.unit", key)]
    places = [typed("corpus.path", documents), "questions=table", typed("questions.path", queries)]
    return OwnDataset(
        name,
        corpus,
        TableQuestions(queries, key),
        on_error=on_error,
        ids=ids,
        group=group,
        qrels=qrels,
        preset=OF_PDF,
        spelt_out=" ".join(["corpus=pdf", *places, *changed]),
    )


def beir_dataset(
    name: Text,
    path: Text,
    *,
    split: Text = "test",
    type: Text | None = None,
    leave_out: LeaveOut = "same_id",
    on_error: OnError = "refuse",
    ids: Text | Sequence[Text] | None = None,
    group: Text | None = None,
    qrels: Text | None = None,
) -> OwnDataset:
    """A folder in the layout of BEIR: `dataset=beir`. The unit of judgments is the document.

    Args:
        name: Name of the dataset and of its experiment in MLflow.
        path: The folder.
        split: Which qrels to use; see `BeirQuestions`.
        type: The field of a query by which results are broken down.
        leave_out: Which documents are left out of the ranking of a query.
        on_error: See `Selecting`, as of `ids`, `group` and `qrels`.
        ids: Selects queries.
        group: The field that names the group of a query.
        qrels: A file of further judgments.
    """
    preset = {"corpus.path": "dataset.path", "questions.path": "dataset.path"}
    with as_typed(preset):
        corpus = TableCorpus(str(file_of(Path(path), "corpus.jsonl")), id="_id", title="title")
    questions = BeirQuestions(path, split, type, leave_out)
    return OwnDataset(name, corpus, questions, on_error=on_error, ids=ids, group=group, qrels=qrels, preset=preset)
