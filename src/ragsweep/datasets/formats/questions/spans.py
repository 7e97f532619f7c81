"""Reads references: the spans of text that answer a question."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from ragsweep.core.digest import digest
from ragsweep.core.errors import DatasetError
from ragsweep.core.terminal import counted
from ragsweep.datasets.formats.questions.reference_texts import Whereabouts
from ragsweep.datasets.model.collection import Document, FoundAgain, Query, Reference
from ragsweep.datasets.readers.fields import Entry, listed, shown_value, whole
from ragsweep.datasets.readers.judgments import key_in, structured
from ragsweep.text.normalisation import composed
from ragsweep.text.quotes import places_of, span_of
from ragsweep.text.similar_quotes import find_again
from ragsweep.text.tokens import plain_words

TEXT, START, END = ("text", "content"), ("start", "start_index"), ("end", "end_index")
EXPECTED = "expected a list of texts, or of {document, start, end, text}"
LONGEST_SPAN_SHOWN = 60  # characters of a text in a message


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

    With a similarity, references are found again in the text of any parser (see `find_again`), also those with offsets,
    which are of another text. A question with a reference that is nowhere is not measured, and the run says so.

    Attributes:
        references: Those of the questions so far, each question's in the order of the text.
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
        self._similarity, self._column, self._document, self._in_text = similarity, column, document, in_text
        self._by_name = {composed(document.source): document for document in documents}
        self._by_stem: dict[str, list[Document]] = defaultdict(list)
        for name, each in self._by_name.items():
            self._by_stem[name.removesuffix(PurePosixPath(name).suffix)].append(each)
        self._whereabouts = Whereabouts(documents, similarity)
        self._sought: list[tuple[str, str, int, int, str]] = []
        self._lost: list[Reference] = []

    def add(self, query: Query, row: Entry, where: str) -> Query:
        """Add the references of a question. Its type is its document if it has none and there are several.

        Raises:
            DatasetError: A reference cannot be read, or names no document.
        """
        written = [*self._written(row, where, answerable=query.answerable)]
        placed = [(self._document_of(each, where), each) for each in written]
        if self._similarity is None:
            spans = [(found.source, *_span(each, found, where)) for found, each in placed if found]
        else:
            spans = self._found_again(query.query_id, placed, where, self._similarity)
        ordered = sorted(dict.fromkeys(spans), key=lambda span: span[:3])  # without offsets, in the file's order
        self.references += [Reference(query.query_id, *span) for span in ordered]
        names = {each.source or (found.source if found else "") for found, each in placed}
        name = key_in(row.get(self._document), where) if self._document else ""
        name = composed(name) or (names.pop() if len(names) == 1 else "")
        return replace(query, query_type=query.query_type or (name if len(self._by_name) > 1 else None) or None)

    @property
    def nothing(self) -> str:
        """Says that no question has a reference."""
        lost = f"of {counted(len(self._sought), 'reference')}, all questions lose some" if self._sought else ""
        return lost or "contains no references; expected at least one question with one"

    @property
    def again(self) -> FoundAgain | None:
        """How the references were found in the text of any parser; None if they hold for one text alone."""
        if self._similarity is None:
            return None
        numbers = Counter(query_id for query_id, *_ in self._sought)
        return FoundAgain(digest([list(each) for each in self._sought]), numbers, tuple(self._lost))

    def _written(self, row: Entry, where: str, *, answerable: bool) -> Iterator[_Written]:
        if self._column not in row and answerable:
            raise DatasetError(f"{where}: the field {self._column!r} is missing; found {listed(row)}")
        place = f"{where}: the field {self._column!r}"
        found = row.get(self._column)
        if isinstance(found, str) and self._in_text:
            found = structured(found.strip(), place, EXPECTED) if found.strip() else []
        found = [] if found is None and not answerable else found
        if not isinstance(found, list) or bool(found) != answerable:
            also = ", or answerable: false" if found == [] else ""
            expected = f"{EXPECTED}{also}" if answerable else "expected an empty list, as answerable is false"
            raise DatasetError(f"{place} is {shown_value(found)}; {expected}")
        of_row = key_in(row.get(self._document), f"{where}: the field {self._document!r}") if self._document else ""
        for reference in found:
            yield _read(reference, of_row, where)

    def _document_of(self, reference: _Written, where: str) -> Document | None:
        if not reference.source:
            if reference.start is not None:
                found = f"the reference {reference.text[:LONGEST_SPAN_SHOWN]!r} has offsets, but names no document"
                raise DatasetError(f"{where}: {found}; expected its field document, or questions.document=COLUMN")
            return self._whereabouts.document_of(reference.text, where)
        name = composed(reference.source)
        named = [self._by_name[name]] if name in self._by_name else self._by_stem.get(name, [])
        if len(named) != 1:
            known = f"{len(named)} documents have this name" if named else f"the corpus has {listed(self._by_name)}"
            raise DatasetError(f"{where}: the document {name!r} is not known ({known})")
        return named[0]

    def _found_again(
        self, query_id: str, placed: Sequence[tuple[Document | None, _Written]], where: str, least: float
    ) -> list[tuple[str, int, int, str]]:
        """Where the references of a question are; none if one is nowhere. Of several places, the first counts."""
        spans: list[tuple[str, int, int, str]] = []
        lost: list[Reference] = []
        for document, each in placed:
            source, text = (document.source, document.text) if document else ("", "")
            self._sought.append((query_id, source, each.start or 0, each.end or 0, each.text))
            places = find_again(each.text, text, each.start, least) if document else []
            if len(places) > 1:
                spans.append((source, *_by_words(text[slice(*places[0])], where)))
            elif places:
                spans.append((source, *places[0], ""))
            else:
                lost.append(Reference(query_id, source, 0, 0, each.text))
        self._lost += lost
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
        raise DatasetError(f"{where}: found the reference {text[:LONGEST_SPAN_SHOWN]!r}; expected some words")
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
    found = f"characters {start} to {end} of {document.source} are {document.text[start:end][:LONGEST_SPAN_SHOWN]!r}"
    advice = "; questions.similarity=0.9 finds it in the text of another parser"
    raise DatasetError(f"{where}: {found}, expected {text[:LONGEST_SPAN_SHOWN]!r}{advice}")
