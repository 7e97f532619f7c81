"""Reads references: the spans of text that answer a question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from ragsweep.core.errors import DatasetError
from ragsweep.core.terminal import counted, some_of
from ragsweep.datasets.model.collection import Document, Query, Reference
from ragsweep.datasets.readers.fields import Entry, listed, shown_value, value_of, whole
from ragsweep.datasets.readers.judgments import key_in, structured
from ragsweep.text.normalisation import composed
from ragsweep.text.quotes import find_quote, letters_of, places_of, span_of
from ragsweep.text.tokens import plain_words

TEXT, START, END = ("text", "content"), ("start", "start_index"), ("end", "end_index")
EXPECTED = "expected a list of texts, or of {document, start, end, text}"
LONGEST_TEXT_SHOWN = 60  # characters
PIECE = 12  # letters; documents that share none with a text are not compared
COMPARED = 3  # documents


class _Written(NamedTuple):
    """A reference as it is written; without a document, `source` is empty."""

    source: str
    text: str
    start: int | None
    end: int | None


class Spans:
    """The references of questions.

    A reference is a text, or has the fields `text` (or `content`), and, if known, `document`, `start` (or
    `start_index`) and `end` (or `end_index`). Further fields are not read. Offsets count the characters of the
    document, and the text must be what is there. Without offsets, a reference gets those of the only place where its
    text occurs; if there is not one place, it has no offsets and is compared by its words.

    The document is named in the reference or in a column of the row, with or without the ending of its file name. Of a
    text without either, it is the only document that has the text.

    With a similarity, references are found again in the text of any parser (see `find_quote`), also those with offsets,
    which are of another text. A question with a reference that is nowhere is not measured, and the run says so.

    Attributes:
        references: Those of the questions so far, each question's in the order of the text.
        sought: With a similarity, all of them as they are written, in the documents that they are of.
        lost: Those that are nowhere.
    """

    def __init__(
        self,
        documents: tuple[Document, ...],
        similarity: float | None,
        column: str,
        document: str | None,
        *,
        in_text: bool,
    ) -> None:
        """Note the documents, and the columns of references and of their document; `in_text`: as texts, as in CSV."""
        self.references: list[Reference] = []
        self.sought: list[Reference] = []
        self.lost: list[Reference] = []
        self._documents, self._similarity, self._in_text = documents, similarity, in_text
        self._column, self._document = column, document
        self._by_name = {composed(document.source): document for document in documents}
        self._by_stem: dict[str, list[Document]] = defaultdict(list)
        for name, named in self._by_name.items():
            self._by_stem[name.removesuffix(PurePosixPath(name).suffix)].append(named)

    def add(self, query: Query, row: Entry, where: str) -> Query:
        """Add the references of a question. Its type is its document if it has none and there are several.

        Raises:
            DatasetError: A reference cannot be read, or names no document.
        """
        of_row = key_in(row.get(self._document), f"{where}: the field {self._document!r}") if self._document else ""
        written = [
            _read(reference, of_row, where) for reference in self._listed(row, where, is_answerable=query.answerable)
        ]
        placed = [(self._document_of(reference, where), reference) for reference in written]
        if self._similarity is None:
            spans = [
                (document.source, *_span(reference, document, where)) for document, reference in placed if document
            ]
        else:
            spans = self._found_again(query.query_id, placed, where, self._similarity)
        ordered = sorted(dict.fromkeys(spans), key=lambda span: span[:3])  # without offsets, in the file's order
        self.references += [Reference(query.query_id, *span) for span in ordered]
        names = {reference.source or (document.source if document else "") for document, reference in placed}
        name = composed(of_row) or (names.pop() if len(names) == 1 else "")
        return replace(query, query_type=query.query_type or (name if len(self._by_name) > 1 else None) or None)

    @property
    def nothing(self) -> str:
        """Says that no question has a reference."""
        lost = f"of {counted(len(self.sought), 'reference')}, all questions lose some" if self.sought else ""
        return lost or "contains no references; expected at least one question with one"

    def _listed(self, row: Entry, where: str, *, is_answerable: bool) -> list[object]:
        """The references of a row, as they are written."""
        value = value_of(row, self._column, where) if is_answerable else row.get(self._column)
        place = f"{where}: the field {self._column!r}"
        if isinstance(value, str) and self._in_text:
            value = structured(value.strip(), place, EXPECTED) if value.strip() else []
        value = [] if value is None and not is_answerable else value
        if not isinstance(value, list) or bool(value) != is_answerable:
            also = ", or answerable: false" if value == [] else ""
            expected = f"{EXPECTED}{also}" if is_answerable else "expected an empty list, as answerable is false"
            raise DatasetError(f"{place} is {shown_value(value)}; {expected}")
        return value

    def _document_of(self, reference: _Written, where: str) -> Document | None:
        """The document of a reference; None if no document has it, where a similarity counts such references."""
        if reference.source:
            name = composed(reference.source)
            named = [self._by_name[name]] if name in self._by_name else self._by_stem.get(name, [])
            if len(named) != 1:
                known = f"{len(named)} documents have this name" if named else f"the corpus has {listed(self._by_name)}"
                raise DatasetError(f"{where}: the document {name!r} is not known ({known})")
            return named[0]
        shown = f"{where}: the reference {reference.text[:LONGEST_TEXT_SHOWN]!r}"
        if reference.start is not None:
            expected = "expected its field document, or questions.document=COLUMN"
            raise DatasetError(f"{shown} has offsets, but names no document; {expected}")
        having = self._having(reference.text)
        if len(having) > 1:
            found = f"is in {len(having)} documents ({some_of([document.source for document in having])})"
            raise DatasetError(f"{shown} {found}; questions.document=COLUMN names its own")
        if not having and self._similarity is None:
            found = "is in no document as it is written"
            raise DatasetError(f"{shown} {found}; questions.similarity=0.9 allows for less")
        return having[0] if having else None

    def _having(self, text: str) -> list[Document]:
        """The documents that have a text as it is written, else by the same letters, else alike enough."""
        having = [document for document in self._documents if text in document.text]  # which is much faster
        having = having or [document for document in self._documents if places_of(text, document.text, 1)]
        if having or self._similarity is None:
            return having
        sought = letters_of(text).text
        pieces = [sought[at : at + PIECE] for at in range(0, len(sought) - PIECE + 1, PIECE)] or [sought]
        shared = [(sum(piece in letters for piece in pieces), document) for document, letters in self._letters]
        likely = sorted((pair for pair in shared if pair[0]), key=lambda pair: -pair[0])
        same = [document for document, letters in self._letters if sought and sought in letters]
        compared = same or [document for _, document in likely[:COMPARED]]
        return [document for document in compared if find_quote(text, document.text, None, self._similarity)]

    @cached_property
    def _letters(self) -> list[tuple[Document, str]]:
        return [(document, letters_of(document.text).text) for document in self._documents]

    def _found_again(
        self, query_id: str, placed: Sequence[tuple[Document | None, _Written]], where: str, least: float
    ) -> list[tuple[str, int, int, str]]:
        """Where the references of a question are; none if one is nowhere. Of several places, the first counts."""
        spans: list[tuple[str, int, int, str]] = []
        lost: list[Reference] = []
        for document, written in placed:
            source, text = (document.source, document.text) if document else ("", "")
            self.sought.append(Reference(query_id, source, written.start or 0, written.end or 0, written.text))
            places = find_quote(written.text, text, written.start, least) if document else []
            if len(places) > 1:
                spans.append((source, *_by_words(text[slice(*places[0])], where)))
            elif places:
                spans.append((source, *places[0], ""))
            else:
                lost.append(Reference(query_id, source, 0, 0, written.text))
        self.lost += lost
        return [] if lost else spans


def _read(reference: object, of_row: str, where: str) -> _Written:
    """A reference as it is written."""
    if isinstance(reference, str):
        reference = {"text": reference}
    text = _only(reference, TEXT, where) if isinstance(reference, dict) else None
    if not isinstance(reference, dict) or not isinstance(text, str) or not text.strip():
        raise DatasetError(f"{where}: found the reference {shown_value(reference)}; {EXPECTED}")
    given = _only(reference, START, where), _only(reference, END, where)
    start, end = map(whole, given)
    if given != (None, None) and (start is None or end is None):
        found = f"a reference starts at {shown_value(given[0])} and ends at {shown_value(given[1])}"
        raise DatasetError(f"{where}: {found}; expected whole numbers")
    source = key_in(reference.get("document"), f"{where}: the document of a reference") or of_row
    return _Written(source, text, start, end)


def _only(reference: Mapping[str, Any], names: tuple[str, str], where: str) -> Any:
    """The value of the one of two fields that is there."""
    given = [name for name in names if reference.get(name) is not None]
    if len(given) > 1:
        raise DatasetError(f"{where}: a reference has the fields {listed(given)}; expected one of them")
    return reference[given[0]] if given else None


def _by_words(text: str, where: str) -> tuple[int, int, str]:
    """A reference that is compared by its words."""
    if not plain_words(text):
        raise DatasetError(f"{where}: found the reference {text[:LONGEST_TEXT_SHOWN]!r}; expected some words")
    return 0, 0, text


def _span(reference: _Written, document: Document, where: str) -> tuple[int, int, str]:
    """Where a reference begins and ends in its document, or zeros and its text if that is not known."""
    _, text, start, end = reference
    if start is None or end is None:
        places = places_of(text, document.text)
        return (*places[0], "") if len(places) == 1 else _by_words(text, where)
    if 0 <= start < end and (span := span_of(text, document.text, start, end)):
        return *span, ""
    if not 0 <= start < end <= len(document.text):
        found = f"found characters {start} to {end} of {document.source}"
        raise DatasetError(f"{where}: {found}, expected them within 0 to {len(document.text)}")
    found = f"characters {start} to {end} of {document.source} are {document.text[start:end][:LONGEST_TEXT_SHOWN]!r}"
    advice = "; questions.similarity=0.9 finds it in the text of another parser"
    raise DatasetError(f"{where}: {found}, expected {text[:LONGEST_TEXT_SHOWN]!r}{advice}")
