"""Reads documents from a table, one document or one page a row; or none at all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ragsweep.core.errors import DatasetError
from ragsweep.core.limits import Text
from ragsweep.datasets.model.collection import Document
from ragsweep.datasets.model.dataset_format import Corpus
from ragsweep.datasets.readers.columns import expect_columns, with_nested
from ragsweep.datasets.readers.fields import id_of, text_of
from ragsweep.datasets.readers.tables import LARGEST_CORPUS_MB, read_entries

TITLE = "title"  # the usual name of the titles, which need not be there


@dataclass(frozen=True)
class TableCorpus(Corpus):
    """A JSON list, a file with one JSON object per line, a CSV, TSV or Parquet file.

    Names with dots reach into objects: `metadata.file_path`.

    Attributes:
        path: The file.
        id: The column of the ids of documents.
        text: The column of the texts.
        title: The column of the titles, which stand in front of the text; None if there is none.
        page: The column of the page numbers, if each row is a page; None if each row is a document.
    """

    path: Text
    id: Text = "id"
    text: Text = "text"
    title: Text | None = None
    page: Text | None = None

    def read(self) -> tuple[Document, ...]:
        """Read the documents, in the order of the file. Pages of a document are in the order of their rows."""
        pages: dict[str, dict[str, str]] = {}
        path = Path(self.path)
        columns = {setting: getattr(self, setting) for setting in ("id", "text", "title", "page")}
        rows = read_entries(path, "documents", setting="corpus.path", allow_nan=True, in_all_mb=LARGEST_CORPUS_MB)
        for where, row in with_nested(rows, filter(None, columns.values())):
            expect_columns({TITLE: "", **row} if self.title == TITLE else row, columns, where, "corpus")
            source = id_of(row, self.id, where)
            number = id_of(row, self.page, where) if self.page else "1"
            title = text_of(row, self.title, where) if self.title in row else None
            text = text_of(row, self.text, where)
            of_document = pages.setdefault(source, {})
            if number in of_document:
                page = f" has page {number!r}" if self.page else " is in the file"
                raise DatasetError(f"{where}: the document {source!r}{page} twice; expected once")
            of_document[number] = " ".join(filter(None, (title, text)))
        if not pages:
            raise DatasetError(f"{path}: contains no documents; expected at least one")
        return tuple(
            Document.from_pages(source, ((number, f"{source}#{number}", text) for number, text in of_document.items()))
            for source, of_document in pages.items()
        )


@dataclass(frozen=True)
class NoCorpus(Corpus):
    """No documents, for a retriever that runs elsewhere. What judgments name is taken as it is written."""

    def read(self) -> tuple[Document, ...]:
        """No documents."""
        return ()
