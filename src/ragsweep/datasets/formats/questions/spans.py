"""Reads references: the spans of text that answer a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from ragsweep.core.errors import DatasetError
from ragsweep.core.terminal import some_of
from ragsweep.datasets.model.collection import Document, Query, Reference
from ragsweep.datasets.readers.fields import Entry, key_in, listed, shown_value, structured, value_of, whole_number
from ragsweep.text.normalisation import composed
from ragsweep.text.quotes import places_of, span_of
from ragsweep.text.tokens import plain_words

TEXT, START, END = ("text", "content"), ("start", "start_index"), ("end", "end_index")
EXPECTED = "expected a list of texts, or of {document, start, end, text}"
LONGEST_TEXT_SHOWN = 60  # characters


class _Written(NamedTuple):
    """A reference as it is written; without a document, `source` is empty."""

    source: str
    text: str
    start: int | None
    end: int | None


@dataclass(frozen=True)
class SpanReader:
    """Reads the references of questions.

    A reference is a text, or has the fields `text` (or `content`), and, if known, `document`, `start` (or
    `start_index`) and `end` (or `end_index`). Further fields are not read. Offsets count the characters of the
    document, and the text must be what is there. Without offsets, a reference gets those of the only place where its
    text occurs; if there is not one place, it has no offsets and is compared by its words.

    The document is named in the reference or in a column of the row, with or without the ending of its file name. Of a
    text without either, it is the only document that has the text.

    Attributes:
        documents: The corpus.
        column: The column of the references.
        document: The column of the document of all references in a row; None if there is none.
        in_text: Whether a cell is a text, as in CSV.
    """

    documents: tuple[Document, ...]
    column: str
    document: str | None
    in_text: bool

    def read(self, query: Query, row: Entry, where: str) -> tuple[Query, list[Reference]]:
        """The references of a question, in the order of the text; its type is its document if it has none.

        Raises:
            DatasetError: A reference cannot be read, or names no document.
        """
        of_row = key_in(row.get(self.document), f"{where}: the field {self.document!r}") if self.document else ""
        written = [_read(value, of_row, where) for value in self._values(row, where, is_answerable=query.answerable)]
        documents = [self._document_of(reference, where) for reference in written]
        spans = {(document.source, *_span(reference, document, where))
                 for reference, document in zip(written, documents, strict=True)}  # fmt: skip
        names = {reference.source or document.source for reference, document in zip(written, documents, strict=True)}
        name = composed(of_row) or (names.pop() if len(names) == 1 else "")
        of_document = name if len(self._by_name) > 1 else ""
        references = [Reference(query.query_id, *span) for span in sorted(spans)]
        return replace(query, query_type=query.query_type or of_document or None), references

    @cached_property
    def _by_name(self) -> dict[str, Document]:
        return {composed(document.source): document for document in self.documents}

    def _values(self, row: Entry, where: str, *, is_answerable: bool) -> list[object]:
        """The references of a row, as they are written."""
        value = value_of(row, self.column, where) if is_answerable else row.get(self.column)
        place = f"{where}: the field {self.column!r}"
        if isinstance(value, str) and self.in_text:
            value = structured(value.strip(), place, EXPECTED) if value.strip() else []
        value = [] if value is None and not is_answerable else value
        if not isinstance(value, list) or bool(value) != is_answerable:
            also = ", or answerable: false" if value == [] else ""
            expected = f"{EXPECTED}{also}" if is_answerable else "expected an empty list, as answerable is false"
            raise DatasetError(f"{place} is {shown_value(value)}; {expected}")
        return value

    def _document_of(self, reference: _Written, where: str) -> Document:
        """The document of a reference: the one that it names, or the only one that has its text."""
        if reference.source:
            name = composed(reference.source)
            named = [self._by_name[name]] if name in self._by_name else [
                document for source, document in self._by_name.items()
                if source.removesuffix(PurePosixPath(source).suffix) == name
            ]  # fmt: skip
            if len(named) != 1:
                has = f"{len(named)} documents have this name" if named else f"the corpus has {listed(self._by_name)}"
                raise DatasetError(f"{where}: the document {name!r} is not known ({has})")
            return named[0]
        shown = f"{where}: the reference {reference.text[:LONGEST_TEXT_SHOWN]!r}"
        if reference.start is not None:
            expected = "expected its field document, or questions.document=COLUMN"
            raise DatasetError(f"{shown} has offsets, but names no document; {expected}")
        having = [document for document in self.documents if reference.text in document.text]  # which is much faster
        having = having or [document for document in self.documents if places_of(reference.text, document.text, 1)]
        if len(having) != 1:
            names = f"{len(having)} documents ({some_of([document.source for document in having])})"
            problem = f"is in {names}" if having else "is in no document as it is written"
            raise DatasetError(f"{shown} {problem}; questions.document=COLUMN names its own")
        return having[0]


def _read(reference: object, of_row: str, where: str) -> _Written:
    """A reference as it is written."""
    if isinstance(reference, str):
        reference = {"text": reference}
    text = _one_of(reference, TEXT, where) if isinstance(reference, dict) else None
    if not isinstance(reference, dict) or not isinstance(text, str) or not text.strip():
        raise DatasetError(f"{where}: found the reference {shown_value(reference)}; {EXPECTED}")
    given = _one_of(reference, START, where), _one_of(reference, END, where)
    start, end = map(whole_number, given)
    if given != (None, None) and (start is None or end is None):
        problem = f"a reference starts at {shown_value(given[0])} and ends at {shown_value(given[1])}"
        raise DatasetError(f"{where}: {problem}; expected whole numbers")
    source = key_in(reference.get("document"), f"{where}: the document of a reference") or of_row
    return _Written(source, text, start, end)


def _one_of(reference: Mapping[str, Any], names: tuple[str, str], where: str) -> Any:
    """The value of the one of two fields that is there."""
    given = [name for name in names if reference.get(name) is not None]
    if len(given) > 1:
        raise DatasetError(f"{where}: a reference has the fields {listed(given)}; expected one of them")
    return reference[given[0]] if given else None


def _span(reference: _Written, document: Document, where: str) -> tuple[int, int, str]:
    """Where a reference begins and ends in its document, or zeros and its text if that is not known."""
    _, text, start, end = reference
    if start is None or end is None:
        places = places_of(text, document.text)
        if len(places) == 1:
            return (*places[0], "")
        if not plain_words(text):
            raise DatasetError(f"{where}: found the reference {text[:LONGEST_TEXT_SHOWN]!r}; expected some words")
        return 0, 0, text
    if 0 <= start < end and (span := span_of(text, document.text, start, end)):
        return *span, ""
    if not 0 <= start < end <= len(document.text):
        problem = f"found characters {start} to {end} of {document.source}"
        raise DatasetError(f"{where}: {problem}, expected them within 0 to {len(document.text)}")
    problem = f"characters {start} to {end} of {document.source} are {document.text[start:end][:LONGEST_TEXT_SHOWN]!r}"
    advice = "; without offsets, references are compared by their words"
    raise DatasetError(f"{where}: {problem}, expected {text[:LONGEST_TEXT_SHOWN]!r}{advice}")
