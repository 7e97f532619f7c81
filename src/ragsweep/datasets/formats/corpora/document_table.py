"""Reads documents from a table, one document or one page a row."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ragsweep.core.errors import DatasetError
from ragsweep.core.limits import Text
from ragsweep.datasets.model.collection import Document
from ragsweep.datasets.readers.entry_files import LARGEST_CORPUS_MB, expect_fields, id_of, read_entries, text_of
from ragsweep.datasets.readers.json_objects import with_squad_rows
from ragsweep.datasets.readers.known_columns import with_columns


@dataclass(frozen=True)
class TableCorpus:
    """A JSON list, a file with one JSON object per line, a CSV, TSV or Parquet file.

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
        fields = [field for field in (self.title, self.text) if field]
        named = {f"corpus.{each}": getattr(self, each) for each in ("id", "text", "title", "page")}
        rows = read_entries(path, "documents", setting="corpus.path", in_all_mb=LARGEST_CORPUS_MB)
        rows = with_squad_rows(rows, "documents", path) if self.text == "text" else rows
        for where, row in with_columns(rows, filter(None, named.values())):
            expect_fields(row, named, where)
            source = id_of(row, self.id, where)
            number = id_of(row, self.page, where) if self.page else "1"
            parts = [text_of(row, field, where) for field in fields]
            of_document = pages.setdefault(source, {})
            if number in of_document:
                page = f" has page {number!r}" if self.page else " is in the file"
                raise DatasetError(f"{where}: the document {source!r}{page} twice; expected once")
            of_document[number] = " ".join(filter(None, parts))
        if not pages:
            raise DatasetError(f"{path}: contains no documents; expected at least one")
        return tuple(
            Document.from_pages(source, ((number, f"{source}#{number}", text) for number, text in of_document.items()))
            for source, of_document in pages.items()
        )
