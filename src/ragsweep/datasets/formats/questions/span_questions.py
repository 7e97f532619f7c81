"""Reads questions that are answered by spans of text, in the format of Chroma's chunking evaluation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NamedTuple

from ragsweep.core.digest import digest
from ragsweep.core.errors import DatasetError
from ragsweep.core.limits import Between, Text
from ragsweep.core.parsing import MalformedError, from_json
from ragsweep.core.terminal import counted, say_once
from ragsweep.datasets.formats.own import Asked
from ragsweep.datasets.formats.questions.reference_texts import (
    HOP,
    NAMES,
    OF_GOLDENS,
    Whereabouts,
    references_in,
    with_usual_names,
)
from ragsweep.datasets.model.collection import Document, FoundAgain, Query, Reference
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
)
from ragsweep.datasets.readers.fields import QUERY_TYPE, flaw_of_name, listed, shown_value, whole
from ragsweep.datasets.readers.json_objects import Named, with_squad_rows
from ragsweep.datasets.readers.known_columns import with_columns
from ragsweep.datasets.readers.python_values import from_python
from ragsweep.text.normalisation import composed
from ragsweep.text.quotes import places_of, span_of
from ragsweep.text.similar_quotes import find_again
from ragsweep.text.tokens import plain_words

FIELDS = ("content", "start_index", "end_index")
USED = ("question", "corpus_id", "references", QUERY_TYPE)
EXPECTED = "expected a list of texts, or of {content, start_index, end_index}"
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

    Without `corpus_id`, references are texts, and the document of each is the only one that has it. So test sets of
    RAGAS (`user_input`, `reference_contexts`), of LlamaIndex (`query`, `reference_contexts`) and of DeepEval (`input`,
    `context`, a list) are read. What a system retrieved (`contexts`, `retrieval_context`) is no judgment.

    A JSON file of SQuAD has such questions, with their ids, about its paragraphs, which are the documents that a table
    reads from the same file. So have its rows on the Hugging Face hub, as JSON lines or Parquet.

    With `similarity`, references are found again in whatever text a parser has read: those with offsets, too, which are
    those of another text. One is taken where its content is written; else where the same letters and digits are; else
    where the letters are at least as alike. A question with a reference that is nowhere is not measured, and said.

    Attributes:
        path: A CSV, TSV or Parquet file, a JSON list, or a file with one JSON object per line.
        similarity: Least similarity of the letters; see `find_again`. None expects references as they are written.
    """

    path: Text
    similarity: Annotated[float, Between(0.5, 1)] | None = None

    @property
    def without_effect(self) -> Sequence[str]:
        """None changes nothing."""
        return ("similarity",) if self.similarity is None else ()

    def read(self, documents: tuple[Document, ...]) -> Asked:
        """Read the questions, and find their references in the documents."""
        by_name = {composed(document.source): document for document in documents}
        by_stem: dict[str, list[Document]] = defaultdict(list)
        for document in documents:
            name = composed(document.source)
            by_stem[name.removesuffix(PurePosixPath(name).suffix)].append(document)
        queries: list[Query] = []
        references: list[Reference] = []
        searched: list[_Searched] = []
        rows = read_entries(Path(self.path), "queries", setting="questions.path")
        rows = with_columns(with_squad_rows(rows, "queries", Path(self.path)), (*USED, *NAMES, OF_GOLDENS, ANSWERABLE))
        corpus = _Corpus(by_name, by_stem, Whereabouts(documents, self.similarity))
        faults = Faults(self.path)
        texts: list[str] = []  # of questions whose file does not name them
        for number, (where, row) in enumerate(rows, start=1):
            name = str(row["id"]).strip() if isinstance(row, Named) else str(number)
            try:
                query, written = _question(with_usual_names(row), name, corpus, where)
                if self.similarity is None:
                    spans = [(document.source, *_span(each, document, where)) for document, each in written if document]
                else:
                    its = [_searched(each, query, document, where, self.similarity) for document, each in written]
                    places = [(each.source, *span) for each in its for span in each.spans]
                    spans = places if all(each.spans for each in its) else []
                    searched += its
            except DatasetError as error:
                faults.add(error, name)
                continue
            queries.append(query)
            texts += [] if isinstance(row, Named) else [query.text]
            ordered = sorted(dict.fromkeys(spans), key=lambda span: span[:3])  # without offsets, in the file's order
            references += [Reference(query.query_id, *span) for span in ordered]
        if not references and not faults.found:
            lost = f"of {counted(len(searched), 'reference')}, all questions lose some" if searched else ""
            found = lost or "contains no references; expected at least one question with one"
            raise DatasetError(f"{self.path}: {found}")
        if repeated := len(texts) - len({*texts}):
            found = f"{counted(repeated, 'row')} with the text of another question, each a question of its own"
            say_once(f"{self.path}: {found}; the references of one question stand in one list")
        again = None if self.similarity is None else _found_again(searched)
        return Asked("passage", documents, tuple(queries), references=tuple(references), faults=faults, again=again)


_Placed = tuple[Document | None, Any]  # a reference as it is written, after its document, if there is one


class _Searched(NamedTuple):
    """A reference that was looked for in the text of its document, and where it is."""

    query_id: str
    source: str
    start: int
    end: int
    content: str
    spans: Sequence[tuple[int, int, str]]


class _Corpus(NamedTuple):
    """The documents, by their names with and without an ending, and in which a text is looked for."""

    by_name: Mapping[str, Document]
    by_stem: Mapping[str, list[Document]]
    whereabouts: Whereabouts


def _searched(reference: object, query: Query, document: Document | None, where: str, least: float) -> _Searched:
    """Look for a reference. At several places without offsets, the words of the text at the first one are compared."""
    content, start, end = _written(reference, where)
    if document is None:
        return _Searched(query.query_id, "", 0, 0, content, [])
    places = find_again(content, document.text, start, least)
    spans = [(*place, "") for place in places]
    if len(places) > 1:
        spans = [_by_words(document.text[slice(*places[0])], where)]
    return _Searched(query.query_id, document.source, start or 0, end or 0, content, spans)


def _found_again(searched: Sequence[_Searched]) -> FoundAgain:
    lost = (Reference(each.query_id, each.source, 0, 0, each.content) for each in searched if not each.spans)
    return FoundAgain(digest([each[:-1] for each in searched]), Counter(each[0] for each in searched), tuple(lost))


def _question(row: Entry, query_id: str, corpus: _Corpus, where: str) -> tuple[Query, list[_Placed]]:
    """A question, and its references as they are written, each with its document."""
    if flaw := flaw_of_name(query_id):
        raise DatasetError(f"{where}: the id of the question {flaw}")
    text = text_of(row, "question", where)
    if not text:
        raise DatasetError(f"{where}: the field 'question' is empty; expected the text of the query")
    answerable = answerable_in(row, where)
    found = _references(row, where, answerable=answerable)
    name: str | None = None
    if row.get("corpus_id") not in (None, "") or not all(isinstance(each, str) for each in found):
        name = composed(id_of(row, "corpus_id", where))
        document = _named(name, corpus, where)
        written: list[_Placed] = [(document, each) for each in found]
    else:
        texts = [_written(HOP.sub("", each, count=1), where)[0] for each in found]
        written = [(corpus.whereabouts.document_of(each, where), each) for each in texts]
        sources = {each.source if each else None for each, _ in written}
        name = sources.pop() if len(sources) == 1 else None
    query_type = type_in(row, QUERY_TYPE, where) or (name if len(corpus.by_name) > 1 else None)
    used = (*USED, "id") if isinstance(row, Named) else USED
    return Query(query_id, text, query_type, further_fields(row, used, where), answerable=answerable), written


def _named(name: str, corpus: _Corpus, where: str) -> Document:
    named = [corpus.by_name[name]] if name in corpus.by_name else corpus.by_stem.get(name, [])
    if len(named) != 1:
        known = f"{len(named)} documents have this name" if named else f"the corpus has {listed(corpus.by_name)}"
        raise DatasetError(f"{where}: the document {name!r} is not known ({known})")
    return named[0]


def _references(row: Entry, where: str, *, answerable: bool) -> list[Any]:
    found = references_in(row, where)
    if isinstance(found, str):
        try:
            found = from_json(found)
        except MalformedError as error:
            try:
                found = from_python(found)
            except MalformedError:
                raise DatasetError(f"{where}: the field 'references': {error}; {EXPECTED}") from error
    expected = EXPECTED
    if not answerable:
        expected = f"expected an empty list, as {ANSWERABLE} is false"
    elif found == []:
        expected += f", or {ANSWERABLE}: false"
    if not isinstance(found, list) or bool(found) != answerable:
        raise DatasetError(f"{where}: the field 'references' is {shown_value(found)}; {expected}")
    return found


def _written(reference: object, where: str) -> tuple[str, int | None, int | None]:
    """The content of a reference, and its offsets if it has some."""
    if isinstance(reference, str):
        reference = {"content": reference}
    if (
        not isinstance(reference, dict)
        or not isinstance(content := reference.get("content"), str)
        or not content.strip()
    ):
        expected = f"expected an object with the fields {listed(FIELDS)}"
        raise DatasetError(f"{where}: found the reference {shown_value(reference)}, {expected}")
    given = reference.get("start_index"), reference.get("end_index")
    start, end = map(whole, given)
    if given != (None, None) and (start is None or end is None):
        found = f"start_index {shown_value(given[0])} and end_index {shown_value(given[1])}"
        raise DatasetError(f"{where}: found {found}; expected whole numbers")
    return content, start, end


def _by_words(content: str, where: str) -> tuple[int, int, str]:
    """A reference that is compared by its words."""
    if not plain_words(content):
        raise DatasetError(f"{where}: found the reference {content[:LONGEST_SPAN_SHOWN]!r}; expected some words")
    return 0, 0, content


def _span(reference: object, document: Document, where: str) -> tuple[int, int, str]:
    """Where a reference begins and ends in its document, or zeros and its text if that is not known."""
    content, start, end = _written(reference, where)
    if start is None or end is None:
        places = places_of(content, document.text)
        if len(places) == 1:
            return *places[0], ""
        return _by_words(content, where)
    if 0 <= start < end and (span := span_of(content, document.text, start, end)):
        return *span, ""
    if not 0 <= start < end <= len(document.text):
        found = f"found characters {start} to {end} of {document.source}"
        raise DatasetError(f"{where}: {found}, expected them within 0 to {len(document.text)}")
    found = f"characters {start} to {end} of {document.source} are {document.text[start:end][:LONGEST_SPAN_SHOWN]!r}"
    advice = "; questions.similarity=0.9 finds it in the text of another parser"
    raise DatasetError(f"{where}: {found}, expected {content[:LONGEST_SPAN_SHOWN]!r}{advice}")
