"""Reads questions that are answered by spans of text, in the format of Chroma's chunking evaluation."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ragsweep.core.errors import DatasetError
from ragsweep.core.limits import Text
from ragsweep.core.parsing import MalformedError, from_json
from ragsweep.datasets.formats.own import Asked
from ragsweep.datasets.model.collection import Document, Query, Reference
from ragsweep.datasets.model.faults import Faults
from ragsweep.datasets.readers.delimited_rows import Entry
from ragsweep.datasets.readers.entry_files import (
    ANSWERABLE,
    answerable_in,
    further_fields,
    id_of,
    read_entries,
    text_of,
    type_in,
    value_of,
)
from ragsweep.datasets.readers.fields import QUERY_TYPE, listed, shown_value
from ragsweep.text.normalisation import composed
from ragsweep.text.quotes import places_of, span_of
from ragsweep.text.tokens import plain_words

FIELDS = ("content", "start_index", "end_index")
USED = ("question", "corpus_id", "references", QUERY_TYPE)
LONGEST_SPAN_SHOWN = 60  # characters of a text in a message


@dataclass(frozen=True)
class SpanQuestions:
    """A table of `question`, `corpus_id` and `references`, a list of `{"content", "start_index", "end_index"}`.

    `corpus_id` names a document, with or without the ending of its file name. Offsets count the characters of the
    document, and `content` must be what is there. The unit is the passage: one is relevant if it shares a character
    with a reference.

    A reference without offsets gets those of the only place where its content occurs. If that occurs several times or
    never, the reference has no offsets and is compared by its words. Such a reference may be a plain string.

    A question with `answerable` false has no references: the documents do not answer it. It is left out of the metrics
    of ranking; what is found for it is a false find. `query_type` is the group by which results are broken down;
    without it, it is the document. All further columns are in the table of queries.

    Attributes:
        path: A CSV, TSV or Parquet file, a JSON list, or a file with one JSON object per line.
    """

    path: Text

    def read(self, documents: tuple[Document, ...]) -> Asked:
        """Read the questions, and find their references in the documents."""
        by_name = {composed(document.source): document for document in documents}
        by_stem: dict[str, list[Document]] = defaultdict(list)
        for document in documents:
            name = composed(document.source)
            by_stem[name.removesuffix(PurePosixPath(name).suffix)].append(document)
        queries: list[Query] = []
        references: list[Reference] = []
        rows = read_entries(Path(self.path), "queries", setting="questions.path")
        faults = Faults(self.path)
        for number, (where, row) in enumerate(rows, start=1):
            try:
                query, spans = _question(row, number, by_name, by_stem, where)
            except DatasetError as error:
                faults.add(error, str(number))
                continue
            queries.append(query)
            references += spans
        if not references and not faults.found:
            raise DatasetError(f"{self.path}: contains no references; expected at least one question with one")
        return Asked("passage", documents, tuple(queries), references=tuple(references), faults=faults)


def _question(
    row: Entry, number: int, by_name: Mapping[str, Document], by_stem: Mapping[str, list[Document]], where: str
) -> tuple[Query, list[Reference]]:
    """A question and its references, in the order of the document."""
    text = text_of(row, "question", where)
    if not text:
        raise DatasetError(f"{where}: the field 'question' is empty; expected the text of the query")
    name = composed(id_of(row, "corpus_id", where))
    named = [by_name[name]] if name in by_name else by_stem.get(name, [])
    if len(named) != 1:
        known = f"{len(named)} documents have this name" if named else f"the corpus has {listed(by_name)}"
        raise DatasetError(f"{where}: the document {name!r} is not known ({known})")
    query_type = type_in(row, QUERY_TYPE, where) or (name if len(by_name) > 1 else None)
    answerable = answerable_in(row, where)
    query = Query(str(number), text, query_type, further_fields(row, USED, where), answerable=answerable)
    spans = dict.fromkeys(_span(each, named[0], where) for each in _references(row, where, answerable=answerable))
    ordered = sorted(spans, key=lambda span: span[:2])  # those without offsets stay in the order of the file
    return query, [Reference(query.query_id, named[0].source, *span) for span in ordered]


def _references(row: Entry, where: str, *, answerable: bool) -> list[Any]:
    found = value_of(row, "references", where)
    if isinstance(found, str):
        try:
            found = from_json(found)
        except MalformedError as error:
            raise DatasetError(f"{where}: the field 'references': {error}") from error
    expected = "expected a list of {content, start_index, end_index}"
    if not answerable:
        expected = f"expected an empty list, as {ANSWERABLE} is false"
    elif found == []:
        expected += f", or {ANSWERABLE}: false"
    if not isinstance(found, list) or bool(found) != answerable:
        raise DatasetError(f"{where}: the field 'references' is {shown_value(found)}; {expected}")
    return found


def _span(reference: object, document: Document, where: str) -> tuple[int, int, str]:
    """Where a reference begins and ends in its document, or zeros and its text if that is not known."""
    if isinstance(reference, str):
        reference = {"content": reference}
    if (
        not isinstance(reference, dict)
        or not isinstance(content := reference.get("content"), str)
        or not content.strip()
    ):
        expected = f"expected an object with the fields {listed(FIELDS)}"
        raise DatasetError(f"{where}: found the reference {shown_value(reference)}, {expected}")
    start, end = reference.get("start_index"), reference.get("end_index")
    if start is None and end is None:
        places = places_of(content, document.text)
        if len(places) == 1:
            return *places[0], ""
        if not plain_words(content):
            raise DatasetError(f"{where}: found the reference {content[:LONGEST_SPAN_SHOWN]!r}; expected some words")
        return 0, 0, content
    if not isinstance(start, int) or not isinstance(end, int) or bool in (type(start), type(end)):
        found = f"start_index {shown_value(start)} and end_index {shown_value(end)}"
        raise DatasetError(f"{where}: found {found}; expected whole numbers")
    if 0 <= start < end and (span := span_of(content, document.text, start, end)):
        return *span, ""
    if not 0 <= start < end <= len(document.text):
        found = f"found characters {start} to {end} of {document.source}"
        raise DatasetError(f"{where}: {found}, expected them within 0 to {len(document.text)}")
    found = f"characters {start} to {end} of {document.source} are {document.text[start:end][:LONGEST_SPAN_SHOWN]!r}"
    raise DatasetError(f"{where}: {found}, expected {content[:LONGEST_SPAN_SHOWN]!r}")
