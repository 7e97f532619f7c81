"""Reads documents in the formats of TREC collections: SGML, JSON lines, or tab-separated lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ragsweep.core.errors import DatasetError
from ragsweep.core.limits import Text
from ragsweep.core.parsing import MB
from ragsweep.datasets.model.collection import Document
from ragsweep.datasets.readers.entry_files import (
    LARGEST_CORPUS_MB,
    LARGEST_VALUE_MB,
    id_of,
    json_object,
    lines_of,
    text_of,
)
from ragsweep.datasets.readers.fields import flaw_of_name, without_entities
from ragsweep.datasets.readers.files import files_at
from ragsweep.datasets.readers.known_columns import column_in

BODIES = ("TEXT", "LEADPARA", "LP")
SECTIONS = "|".join(("HEADLINE", "HEAD", "HL", "TITLE", "TTL", *BODIES))  # what is read of a document in SGML
# These patterns read each character a bounded number of times: a file can be made of millions of tags without an end.
SECTION = re.compile(rf"<(/?)({SECTIONS})(?:\s[^<>]*)?>", re.IGNORECASE)
UNREAD = re.compile(r"<(/?)(DOCNO|DOCHDR|SCRIPT|STYLE)(?:\s[^<>]*)?>", re.IGNORECASE)
IDS = ("id", "_id", "docno", "pid", "docid", "doc_id", "document_id")  # names of columns and fields
TEXTS = ("contents", "text", "content", "passage", "body", "document")
DOCNO = re.compile(r"<(/?)DOCNO>", re.IGNORECASE)
BEGIN = re.compile(r"\s*<DOC(?:\s[^<>]*)?>", re.IGNORECASE)
END = re.compile(r"</DOC\s*>\s*\Z", re.IGNORECASE)
WITHIN_WORDS = re.compile(r"</?(?:a|abbr|b|em|font|i|small|span|strong|sub|sup|tt|u)(?:\s[^<>]*)?>", re.IGNORECASE)
TAG = re.compile(r"</?[A-Za-z][^<>]*>")


@dataclass(frozen=True)
class TrecCorpus:
    """A file, or all files of a folder, in one of the formats of TREC collections. The first character tells which.

    - SGML: `<DOC> <DOCNO>id</DOCNO> <TEXT>...</TEXT> </DOC>`. The text is that of the headlines and of `<TEXT>`, or of
      the whole document if it has no `<TEXT>`, as in collections of web pages and abstracts. It is without tags, which
      separate words unless they are those of a font; the header of a web page, scripts and styles are left out.
    - JSON lines: `{"id": ..., "contents": ...}`, as Pyserini reads them, or an id, a title and a text, as
      MIRACL, BEIR and MS MARCO name them; for other fields, use `TableCorpus`.
    - Tab-separated lines: id and text, as in MS MARCO's `collection.tsv`, with or without a line of names.

    Attributes:
        path: The file or folder. Files whose names end in `.gz` are unzipped.
    """

    path: Text

    def read(self) -> tuple[Document, ...]:
        """Read the documents, in the order of the files' names."""
        documents: dict[str, Document] = {}
        for file in files_at(Path(self.path), "corpus.path", "a file or a folder of files").values():
            for where, source, text in _texts(file):
                if flaw := flaw_of_name(source):
                    raise DatasetError(f"{where}: the id {source[:80]!r} {flaw}")
                if source in documents:
                    raise DatasetError(f"{where}: the document {source!r} is in the corpus twice; expected once")
                documents[source] = Document.from_pages(source, [("1", source, text)])
        if not documents:
            raise DatasetError(f"{self.path}: contains no documents; expected at least one")
        return tuple(documents.values())


def _texts(path: Path) -> Iterator[tuple[str, str, str]]:
    """The place, the id and the text of each document of a file."""
    lines = lines_of(path, "corpus.path", "documents", LARGEST_CORPUS_MB)
    first = next((line.lstrip() for _, line in lines if line.strip()), "")
    lines = lines_of(path, "corpus.path", "documents", LARGEST_CORPUS_MB)
    if first.startswith("<"):
        return _of_sgml(path, lines)
    return _of_json(path, lines) if first.startswith("{") else _of_tabs(path, lines)


def _of_sgml(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[str, str, str]]:
    inside: list[str] = []
    size = begins = 0
    for number, line in lines:
        if BEGIN.match(line):
            if inside:
                raise DatasetError(f"{path}, line {number}: found <DOC>, expected </DOC> for the one in line {begins}")
            begins = number
        if begins:
            inside.append(line)
            size += len(line)
            if size > LARGEST_VALUE_MB * MB:
                raise DatasetError(f"{path}, line {begins}: the document is larger than {LARGEST_VALUE_MB} MB")
        if END.search(line):
            where = f"{path}, line {begins}"
            if not begins:
                raise DatasetError(f"{path}, line {number}: found </DOC>, expected <DOC> first")
            yield (where, *_document(where, "".join(inside)))
            inside, size, begins = [], 0, 0
        elif not begins and not line.lstrip().startswith(("<!", "<?")) and TAG.sub("", line).strip():
            found = f"found {line.strip()[:80]!r} outside of a document"
            raise DatasetError(f"{path}, line {number}: {found}, expected <DOC> at the beginning of the line")
    if inside:
        raise DatasetError(f"{path}, line {begins}: found <DOC> without </DOC>")


def _document(where: str, sgml: str) -> tuple[str, str]:
    """The id and the text of a document."""
    tags = list(DOCNO.finditer(sgml))
    if [tag[1] for tag in tags] != ["", "/"]:
        number = min(sum(tag[1] == kind for tag in tags) for kind in ("", "/"))
        unpaired = "" if len(tags) == 2 * number else ", and one of these tags alone"
        raise DatasetError(f"{where}: the document has {number} <DOCNO>...</DOCNO>{unpaired}; expected one")
    opened, closed = tags
    sections = _sections(sgml) or [_read_part(sgml)]
    plain = (TAG.sub(" ", WITHIN_WORDS.sub("", _without_comments(section))) for section in sections)
    texts = (without_entities(text, where).strip() for text in plain)
    return without_entities(sgml[opened.end() : closed.start()], where).strip(), "\n".join(filter(None, texts))


def _sections(sgml: str) -> list[str]:
    """The contents of the outermost sections, if one of them is a body.

    A section without an end tag goes on to the end of the document.
    """
    found: list[str] = []
    names: set[str] = set()
    name, begins, depth = "", 0, 0
    for tag in SECTION.finditer(sgml):
        if not depth and not tag[1]:
            name, begins, depth = tag[2].upper(), tag.end(), 1
            names.add(name)
        elif depth and tag[2].upper() == name:
            depth += -1 if tag[1] else 1
            if not depth:
                found.append(sgml[begins : tag.start()])
    if names.isdisjoint(BODIES):
        return []
    return [*found, sgml[begins:]] if depth else found


def _read_part(sgml: str) -> str:
    """A document without its id, and without what is no text of a web page."""
    kept: list[str] = []
    at, name = 0, ""  # of the part that is not read
    for tag in UNREAD.finditer(sgml):
        if not name and not tag[1]:
            kept.append(sgml[at : tag.start()])
            name = tag[2].upper()
        elif tag[1] and tag[2].upper() == name:
            at, name = tag.end(), ""
    return "".join(kept if name else [*kept, sgml[at:]])


def _without_comments(sgml: str) -> str:
    kept: list[str] = []
    at = 0
    while (begins := sgml.find("<!--", at)) >= 0 and (ends := sgml.find("-->", begins + 4)) >= 0:
        kept.append(sgml[at:begins])
        at = ends + 3
    return "".join([*kept, sgml[at:]])


def _of_json(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[str, str, str]]:
    for number, line in lines:
        if line.strip():
            where = f"{path}, line {number}"
            _, entry = json_object(line, where)
            name, field = (column_in(entry, known) or known[0] for known in (IDS, TEXTS))
            title = text_of(entry, "title", where) if "title" in entry and field != TEXTS[0] else None
            yield where, id_of(entry, name, where), " ".join(filter(None, (title, text_of(entry, field, where))))


def _of_tabs(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[str, str, str]]:
    for number, line in lines:
        if line.strip():
            source, tab, text = line.partition("\t")
            names = [name.strip() for name in line.split("\t")] if number == 1 else []
            if column_in(names[:1], IDS) and column_in(names[1:], TEXTS):
                if len(names) == 2:
                    continue
                advice = f"corpus=table corpus.path={path} corpus.id={names[0]} corpus.text=COLUMN reads them"
                raise DatasetError(f"{path}, line 1: has the names of {len(names)} columns; {advice}")
            if not tab:
                expected = "an id, a tab and a text; or <DOC> in SGML; or a JSON object"
                raise DatasetError(f"{path}, line {number}: found {line.strip()[:80]!r}, expected {expected}")
            yield f"{path}, line {number}", source.strip(), text.strip()
