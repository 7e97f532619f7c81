"""Writes a dataset in any of the formats: what each can express, and what is lost in it."""

from __future__ import annotations

import csv
import io
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

from ragsweep.core.errors import DatasetError
from ragsweep.core.terminal import counted
from ragsweep.datasets.formats.beir import HEADER
from ragsweep.datasets.formats.written_files import (
    BOM,
    Written,
    further_fields,
    left_out_ids,
    note,
    note_fields,
    note_left_out,
    one_word,
    query_ids,
    renamed,
    units_of,
)
from ragsweep.datasets.model.collection import PAGE_BREAK, Collection, Document, Reference
from ragsweep.datasets.model.pages import Key, with_keys
from ragsweep.datasets.model.unranked import EXCLUDED
from ragsweep.datasets.readers.fields import QUERY_TYPE

SPLIT = "test"
PLAIN = re.compile(r"[\w][\w .-]{0,200}\.(txt|md)", re.ASCII)  # names that a text file can keep


def convert(collection: Collection, to: str, folder: Path) -> Written:
    """Write a dataset into a new folder, all of it or nothing.

    Args:
        collection: What a dataset format has read, checked.
        to: The format, one of `FORMATS`.
        folder: Does not exist yet, or is empty.

    Returns:
        What was written. Its iterators are used up.

    Raises:
        DatasetError: The folder is not empty or cannot be written, or the format cannot express the dataset.
    """
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise DatasetError(f"--out: {folder} exists; expected a new folder, or an empty one")
        if not collection.documents:
            raise DatasetError(f"{collection.name}: has no documents; expected some to convert")
        written = FORMATS[to](collection)
        if collection.left_out.number:
            written.lost.append(f"{counted(collection.left_out.number, 'question')} that the settings leave out")
        if collection.cases:
            written.lost.append(f"the options and answers of {len(collection.cases)} multiple-choice cases")
        folder.absolute().parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.absolute().parent) as made:
            whole = Path(made) / "whole"
            for name, pieces in written.files.items():
                (whole / name).parent.mkdir(parents=True, exist_ok=True)
                with (whole / name).open("w", encoding="utf-8", newline="") as file:
                    file.writelines(pieces)
            whole.rename(folder)  # replaces an empty folder, and no other
    except OSError as error:
        raise DatasetError(f"--out: {folder} cannot be written ({error.strerror})") from error
    return written


def _beir(collection: Collection) -> Written:
    """`corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv`."""
    lost: list[str] = []
    units, queries = units_of(collection, "beir", str.strip, lost), query_ids(collection, str.strip, lost)
    judged = {judgment.query_id for judgment in collection.judgments}
    note(lost, (query for query in collection.queries if query.query_id not in judged), "query",
          "{} without a judgment: they are written, but not read again")  # fmt: skip
    further = further_fields(collection.queries, ("_id", "text", QUERY_TYPE, EXCLUDED), lost)
    has_types = any(query.query_type for query in collection.queries)
    left_out = left_out_ids(collection, units, queries)
    by_fields = bool(left_out) or not set(queries.values()).isdisjoint(units.ids.values())
    return Written(
        "dataset=beir dataset.path={}"
        + f" dataset.type={QUERY_TYPE}" * has_types
        + " dataset.leave_out=null" * by_fields,
        {
            "corpus.jsonl": (_json({"_id": each, "title": "", "text": text}) for each, text in units.texts),
            "queries.jsonl": (
                _json({"_id": name, "text": each.text, **further[each.query_id], **excluded})
                for each in collection.queries
                for name in [queries[each.query_id]]
                for excluded in [{EXCLUDED: left_out[name]} if name in left_out else {}]
            ),
            f"qrels/{SPLIT}.tsv": (
                f"{line}\n"
                for line in [
                    "\t".join(HEADER),
                    *(f"{queries[query]}\t{units.name(unit)}\t{grade}" for query, unit, grade in collection.judgments),
                ]
            ),
        },
        lost,
    )


def _trec(collection: Collection) -> Written:
    """`corpus.jsonl` of id and contents, `topics.tsv` of id and text, and four-column `qrels.txt`."""
    lost: list[str] = []
    units, queries = units_of(collection, "trec", one_word, lost), query_ids(collection, one_word, lost)
    note_fields(collection.queries, lost)
    texts = {query.query_id: re.sub(r"\s*[\r\n]\s*", " ", query.text.strip()) for query in collection.queries}
    note(lost, (query for query in collection.queries if query.text.strip() != texts[query.query_id]), "query",
          "texts of {} in which line ends are spaces now")  # fmt: skip
    left_out = left_out_ids(collection, units, queries)
    own = {name: [name] for name in {*queries.values()} & {*units.ids.values()}}
    if left_out != own:
        note_left_out(left_out, lost)
    return Written(
        "corpus=trec corpus.path={}/corpus.jsonl"
        " questions=trec questions.topics={}/topics.tsv questions.qrels={}/qrels.txt"
        + " questions.leave_out=same_id"
        * (bool(left_out) and left_out == own),
        {
            "corpus.jsonl": (_json({"id": each, "contents": text}) for each, text in units.texts),
            "topics.tsv": (f"{queries[query]}\t{text}\n" for query, text in texts.items()),
            "qrels.txt": (
                f"{queries[query]} 0 {units.name(unit)} {grade}\n" for query, unit, grade in collection.judgments
            ),
        },
        lost,
    )


def _table(collection: Collection) -> Written:
    """`documents.jsonl`, one page a row, and `questions.jsonl`, one question a row."""
    if collection.unit == "passage":
        raise DatasetError(f"{collection.name}: judges spans of text, which table cannot express; expected --to spans")
    lost: list[str] = []
    keys: tuple[Key, ...] = ("document",) if collection.unit == "document" else ("page", "page_number")
    key = next((key for key in keys if with_keys(collection.documents, key) == collection.documents), None)
    if key is None:
        raise DatasetError(f"{collection.name}: judges other units than documents and pages; expected one of these")
    sources = renamed((document.source for document in collection.documents), "document", str.strip, lost)
    queries = query_ids(collection, str.strip, lost)
    pages = {
        page.unit: {"document": sources[document.source], "page_number": page.page_number.strip()}.get(
            key, f"{sources[document.source]}#{page.page_number.strip()}"
        )
        for document in collection.documents
        for page in document.pages
    }
    if not collection.documents:  # so nothing can be missing
        pages = {judgment.unit: judgment.unit for judgment in collection.judgments}
    for document in collection.documents:
        numbers = [page.page_number.strip() for page in document.pages]
        if len(set(numbers)) < len(numbers):
            twice = next(number for number in numbers if numbers.count(number) > 1)
            found = f"{document.source} has several pages {twice!r}"
            raise DatasetError(f"{collection.name}: {found}; expected each number once, as with page_numbers=physical")
    if key == "page" and len(set(pages.values())) < sum(len(document.pages) for document in collection.documents):
        raise DatasetError(f"{collection.name}: two pages have the same name, DOCUMENT#PAGE; expected different ones")
    note(lost, (each for each in collection.judgments if each.unit not in pages), "judgment",
          "{} of what is not in the corpus")  # fmt: skip
    note_left_out((query_id for query_id, _ in collection.left_out.documents), lost)
    further = further_fields(collection.queries, ("id", "query", "relevant_docs", QUERY_TYPE), lost)
    grades: dict[str, dict[str, int]] = {query.query_id: {} for query in collection.queries}
    for query_id, unit, grade in collection.judgments:
        if unit in pages:
            grades[query_id][pages[unit]] = grade

    def rows() -> Iterator[str]:
        for document in collection.documents:
            for page in document.pages:
                text = document.text[page.start : page.end]
                yield _json({"id": sources[document.source], "page": page.page_number.strip(), "text": text})

    def questions() -> Iterator[str]:
        for query in collection.queries:
            row = {"id": queries[query.query_id], "query": query.text, "relevant_docs": grades[query.query_id]}
            yield _json({**row, **further[query.query_id]})

    return Written(
        "corpus=table corpus.path={}/documents.jsonl corpus.page=page questions=table questions.path={}/questions.jsonl"
        f" questions.id=id questions.unit={key}",
        {"documents.jsonl": rows(), "questions.jsonl": questions()},
        lost,
    )


def _spans(collection: Collection) -> Written:
    """A folder `corpus` of text files, and `questions.csv` as in Chroma's chunking evaluation."""
    if not collection.references:
        expected = "expected references, or --to beir, trec or table"
        raise DatasetError(
            f"{collection.name}: judges {collection.unit}s and has no references, spans of text; {expected}"
        )
    lost: list[str] = []
    files = renamed((document.source for document in collection.documents), "document", _file, lost)
    texts = {document.source: document.text for document in collection.documents}
    by_query: dict[str, list[Reference]] = {}
    for reference in collection.references:
        if texts[reference.source][reference.start : reference.end].strip():
            by_query.setdefault(reference.query_id, []).append(reference)
    kept = sum(map(len, by_query.values()))
    note(lost, range(len(collection.references) - kept), "reference", "{} to white space")
    for query_id, references in by_query.items():
        if len({reference.source for reference in references}) > 1:
            found = f"query {query_id!r} has references in several documents"
            raise DatasetError(f"{collection.name}: {found}; expected one document for a question")
    asked = [query for query in collection.queries if query.query_id in by_query]
    note(lost, (query for query in collection.queries if query.query_id not in by_query), "query",
          "{} without a reference")  # fmt: skip
    note(lost, (query for row, query in enumerate(asked, start=1) if query.query_id != str(row)), "query",
          "the ids of {}, which are numbered from 1 now")  # fmt: skip
    stems = Counter(Path(file).stem for file in files.values())
    ids = {name: Path(file).stem if stems[Path(file).stem] == 1 else file for name, file in files.items()}
    types = {query_id: ids[found[0].source] if len(files) > 1 else None for query_id, found in by_query.items()}
    note_fields((each for each in asked if each.fields or each.query_type != types[each.query_id]), lost)
    others = [each for each in collection.documents if _has_other_pages(each)]
    note(lost, others, "document", "the page borders or numbers of {}")

    def questions() -> Iterator[str]:
        yield _row("question", "references", "corpus_id")
        for query in asked:
            found = by_query[query.query_id]
            spans = [_span(each, texts[each.source]) for each in found]
            yield _row(query.text, json.dumps(spans), ids[found[0].source])

    corpus = {
        f"corpus/{files[source]}": [f"{BOM}{text}" if text.startswith(BOM) else text] for source, text in texts.items()
    }
    return Written(
        "corpus=text corpus.path={}/corpus questions=spans questions.path={}/questions.csv",
        {**corpus, "questions.csv": questions()},
        lost,
    )


FORMATS: Mapping[str, Callable[[Collection], Written]] = {
    "beir": _beir,
    "trec": _trec,
    "table": _table,
    "spans": _spans,
}


def _span(reference: Reference, text: str) -> dict[str, object]:
    """A reference in the text of its document, with its offsets if they are known."""
    if not reference.has_offsets:
        return {"content": reference.text}
    start, end = reference.start, reference.end
    return {"content": text[start:end], "start_index": start, "end_index": end}


def _has_other_pages(document: Document) -> bool:
    """Whether the pages are others than those that form feeds make, numbered from 1."""
    pages = Document.from_pages("", ((str(n), "", text) for n, text in enumerate(document.text.split(PAGE_BREAK), 1)))
    mine, theirs = ([(page.page_number, page.start, page.end) for page in each.pages] for each in (document, pages))
    return mine != theirs


def _file(source: str) -> str:
    """The name of a text file for a document. It has no folders, whatever the document is called."""
    return source if PLAIN.fullmatch(source) else f"{quote(source, safe=' ')[:200]}.txt"


def _json(row: Mapping[str, object]) -> str:
    return f"{json.dumps(row, ensure_ascii=False)}\n"


def _row(*cells: str) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n", quoting=csv.QUOTE_ALL).writerow(cells)
    return line.getvalue()
