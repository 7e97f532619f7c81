"""Writes a dataset in the layout of BEIR, and says what is lost in it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ragsweep.core.errors import DatasetError
from ragsweep.core.terminal import counted
from ragsweep.datasets.formats.beir import EXCLUDED
from ragsweep.datasets.model.collection import Collection, Query
from ragsweep.datasets.readers.fields import QUERY_TYPE
from ragsweep.datasets.readers.qrels_files import HEADER

TAKEN = ("_id", "text", QUERY_TYPE, EXCLUDED)


class Written(NamedTuple):
    """A dataset in the layout of BEIR.

    Attributes:
        settings: What `ragsweep run` needs to read it besides `dataset=beir dataset.path=FOLDER`.
        lost: What the layout cannot express, one sentence each.
    """

    settings: tuple[str, ...]
    lost: tuple[str, ...]


def convert(collection: Collection, folder: Path) -> Written:
    """Write `corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv` into a new folder, all of it or nothing.

    Args:
        collection: What a dataset format has read, checked.
        folder: Does not exist yet, or is empty.

    Raises:
        DatasetError: The folder is not empty or cannot be written, or the layout cannot express the dataset.
    """
    texts = _texts(collection)
    queries = {query.query_id: _row(query) for query in collection.queries}
    pages = {document.source: [page.unit for page in document.pages] for document in collection.documents}
    for query_id, source in collection.left_out.documents:
        queries[query_id].setdefault(EXCLUDED, []).extend(unit for unit in pages.get(source, ()) if unit in texts)
    qrels = ["\t".join(HEADER), *("\t".join(map(str, judgment)) for judgment in collection.judgments)]
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise DatasetError(f"--out: {folder} exists; expected a new folder, or an empty one")
        folder.absolute().parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.absolute().parent) as made:
            complete = Path(made) / "complete"
            (complete / "qrels").mkdir(parents=True)
            corpus = ({"_id": unit, "title": "", "text": text} for unit, text in texts.items())
            _write(complete / "corpus.jsonl", corpus)
            _write(complete / "queries.jsonl", queries.values())
            (complete / "qrels/test.tsv").write_text("".join(f"{line}\n" for line in qrels), "utf-8", newline="")
            complete.rename(folder)  # replaces an empty folder, and no other
    except OSError as error:
        raise DatasetError(f"--out: {folder} cannot be written ({error.strerror})") from error
    has_types = any(query.query_type for query in collection.queries)
    by_fields = bool(collection.left_out.documents) or not queries.keys().isdisjoint(texts)
    settings = [f"dataset.type={QUERY_TYPE}"] * has_types + ["dataset.leave_out=null"] * by_fields
    return Written(tuple(settings), tuple(_lost(collection)))


def _texts(collection: Collection) -> dict[str, str]:
    """The texts of the documents or pages that are judged, by their ids."""
    name, documents = collection.name, collection.documents
    for noun, is_there in (("documents", documents), ("judgments", collection.judgments)):
        if not is_there and collection.unit != "passage":
            raise DatasetError(f"{name}: has no {noun}; expected some to convert")
    if collection.unit == "passage":
        raise DatasetError(f"{name}: judges spans of text, which beir cannot express")
    if collection.unit == "document":
        units = [(document.pages[0].unit, document.text) for document in documents if document.pages]
    else:
        units = [(page.unit, document.text[page.start : page.end]) for document in documents for page in document.pages]
    if len(dict(units)) < len(units):
        raise DatasetError(f"{name}: judges page numbers of any document, which beir cannot express")
    for id_ in (*dict(units), *(query.query_id for query in collection.queries)):
        if id_ != id_.strip():
            raise DatasetError(f"{name}: the id {id_!r} has white space around it, which beir cannot express")
    return dict(units)


def _row(query: Query) -> dict[str, Any]:
    fields: dict[str, Any] = {name: text for name, text in query.fields if name != EXCLUDED}
    taken: Mapping[str, Any] = {"_id": query.query_id, "text": query.text, QUERY_TYPE: query.query_type}
    return {**fields, **{name: value for name, value in taken.items() if value is not None}}


def _lost(collection: Collection) -> Iterable[str]:
    """What the layout cannot express, one sentence each."""
    judged = {judgment.query_id for judgment in collection.judgments}
    if number := sum(query.query_id not in judged for query in collection.queries):
        yield f"{counted(number, 'query')} without a judgment: they are written, but not read again"
    if clashes := {name for query in collection.queries for name, _ in query.fields} & {*TAKEN}:
        yield f"{counted(len(clashes), 'field')} with the name of another column ({', '.join(sorted(clashes))})"
    if collection.unit == "page":
        number = sum(len(document.pages) for document in collection.documents)
        yield f"which document each of {number} pages is of: each is a document now"
    elif number := sum(len(document.pages) > 1 for document in collection.documents):
        yield f"the pages of {counted(number, 'document')}"
    if collection.left_out.number:
        yield f"{counted(collection.left_out.number, 'question')} that the settings leave out"
    if collection.cases:
        yield f"the options and answers of {len(collection.cases)} multiple-choice cases"


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
