"""A dataset of any corpus and any questions, of which `dataset=pdf` and `dataset=beir` are presets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.limits import Text
from ragsweep.core.project import typed
from ragsweep.datasets.formats.beir import BeirQuestions, LeaveOut, file_of
from ragsweep.datasets.formats.corpora.document_table import TableCorpus
from ragsweep.datasets.formats.pdf_documents import PageNumbers, PdfDocuments
from ragsweep.datasets.formats.pdf_parsers import Parser
from ragsweep.datasets.formats.questions.question_table import TableQuestions
from ragsweep.datasets.model.collection import Collection
from ragsweep.datasets.model.dataset_format import Corpus, Questions
from ragsweep.datasets.model.faults import OnQuestionError
from ragsweep.datasets.model.pages import Match, PageOrDocument, keys_of
from ragsweep.datasets.model.selecting import Selecting
from ragsweep.store.component import expect_kind
from ragsweep.store.stage_store import NO_STORE, Store

OF_PDF = {
    "corpus.path": "dataset.documents",
    "corpus.page_numbers": "dataset.page_numbers",
    "corpus.skip": "dataset.skip",
    "corpus.parser": "dataset.parser",
    "questions.path": "dataset.queries",
    "questions.unit=page_number": "dataset.match=page_number",
}

# A setting of corpus or questions in a message, and no name of a file.
PART = re.compile(r"(?<![\w/.])(?:corpus|questions)\.(?!(?:csv|jsonl?|parquet|tsv)\b)\w+(?:=page_number\b)?")


@dataclass(frozen=True)
class OwnDataset(Selecting):
    """Your own corpus and questions, each in any of the formats.

    Attributes:
        name: Name of the dataset and of its experiment in MLflow.
        corpus: Reads the documents.
        questions: Reads queries and judgments.
        preset: The settings of an option such as `dataset=pdf`, by those of corpus and questions that they stand for;
            empty if these are set themselves.
        spelt_out: The same dataset by settings of corpus and questions, as one types them.
    """

    name: Text
    corpus: Corpus
    questions: Questions
    preset: Mapping[str, str] = field(default_factory=dict, kw_only=True, repr=False)
    spelt_out: str = field(default="", kw_only=True, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_kind(self.corpus, Corpus, "corpus")
        expect_kind(self.questions, Questions, "questions")

    @property
    def without_effect(self) -> Sequence[str]:
        """Also those of the corpus, as a preset has them."""
        return [*super().without_effect, *self.corpus.without_effect, "preset", "spelt_out"]

    @property
    def fingerprint(self) -> str | None:
        """That of the corpus."""
        return self.corpus.fingerprint

    def documents_alone(self) -> Corpus:
        """The corpus."""
        return self.corpus

    def load(self) -> Collection:
        """Read the documents, and then the questions about them."""
        with as_typed(self.preset, self.spelt_out):
            collection = self.questions.read(self.corpus.read())
            named = replace(collection, name=self.name, skipped=tuple(sorted(set(self.corpus.left_out()))))
            return self.selected(named)


@contextmanager
def as_typed(preset: Mapping[str, str], spelt_out: str = "") -> Iterator[None]:
    """Rewrite errors to name the settings of a preset, and to say how others of corpus and questions are set."""
    try:
        yield
    except (ConfigError, DatasetError) as error:
        text = PART.sub(lambda name: preset.get(name[0], name[0]), str(error))
        if text == str(error) and not spelt_out:
            raise
        advice = f"; such settings follow {spelt_out}" if spelt_out and PART.search(text) else ""
        raise type(error)(f"{text}{advice}") from error


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
    on_error: OnQuestionError = "refuse",
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
    of_corpus = {"page_numbers": page_numbers, "skip": corpus.skip, "parser": parser}
    defaults = {name: getattr(PdfDocuments, name) for name in of_corpus}
    changed = [typed(f"corpus.{name}", value) for name, value in of_corpus.items() if value != defaults[name]]
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
    on_error: OnQuestionError = "refuse",
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
