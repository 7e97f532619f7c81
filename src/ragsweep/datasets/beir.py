"""Benchmarks in BEIR's layout: `corpus.jsonl`, `queries.jsonl` and `qrels/SPLIT.tsv`, each also gzipped."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from ragsweep.datasets.dataset import Collection, Document, Judgment, Query, is_unicode
from ragsweep.errors import DatasetError


@dataclass(frozen=True)
class BeirDataset:
    """A dataset as BEIR publishes it; the unit is the document.

    Attributes:
        name: What the dataset, and its experiment in MLflow, is called.
        path: The folder.
        split: Which qrels to take: `test`, `train` or `dev`. Only queries that the split judges are asked.
    """

    name: str
    path: str
    split: str = "test"

    def load(self) -> Collection:
        """Read corpus, qrels, then the queries that the qrels judge."""
        root = Path(self.path)
        if not root.is_dir():
            raise DatasetError(f"dataset.path: {root} does not exist; expected a folder with corpus.jsonl")
        documents = tuple(_documents(root / "corpus.jsonl"))
        judgments = tuple(_judgments(root / "qrels" / f"{self.split}.tsv"))
        if not {document.source for document in documents} & {judgment.unit for judgment in judgments}:
            raise DatasetError(f"{root}: no document that qrels/{self.split}.tsv judges is in corpus.jsonl")
        judged = {judgment.query_id for judgment in judgments}
        queries = tuple(query for query in _queries(root / "queries.jsonl") if query.query_id in judged)
        missing = judged - {query.query_id for query in queries}
        if missing:
            raise DatasetError(
                f"{root}/qrels/{self.split}.tsv: judges query {min(missing)!r}, which is not in queries.jsonl "
                f"({len(missing)} such queries)"
            )
        return Collection(self.name, "document", documents, queries, judgments)


def _documents(path: Path) -> Iterator[Document]:
    """Every document is one page, so that a chunker may cut it; its text is title, space, text."""
    for where, entry in _json_lines(path, ("_id", "text")):
        source, title = entry["_id"], entry.get("title") or ""
        if not isinstance(title, str) or not is_unicode(title):
            raise DatasetError(f"{where}: the field 'title' is not a text")
        yield Document.from_pages(source, [("1", source, f"{title} {entry['text']}".strip())])


def _queries(path: Path) -> Iterator[Query]:
    for _, entry in _json_lines(path, ("_id", "text")):
        yield Query(entry["_id"], entry["text"])


def _json_lines(path: Path, fields: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    seen: set[str] = set()
    with _open(path) as file:
        for number, line in enumerate(file, start=1):
            where = f"{path}, line {number}"
            if not line.strip():
                continue
            try:
                entry = json.loads(line)
            except json.JSONDecodeError as error:
                raise DatasetError(f"{where}: not JSON ({error.msg}, column {error.colno})") from error
            if not isinstance(entry, dict):
                raise DatasetError(f"{where}: expected an object with {' and '.join(fields)}")
            for field in fields:
                if not isinstance(entry.get(field), str):
                    raise DatasetError(f"{where}: the field {field!r} is missing or not a text")
                if not is_unicode(entry[field]):
                    raise DatasetError(
                        f"{where}: the field {field!r} holds half a character, which is no valid Unicode"
                    )
            entry["_id"] = entry["_id"].strip()
            if entry["_id"] in seen:
                raise DatasetError(f"{where}: the _id {entry['_id']!r} stands in the file twice")
            seen.add(entry["_id"])
            yield where, entry


def _judgments(path: Path) -> Iterator[Judgment]:
    """Rows of query id, document id and grade; the first line is a header, as BEIR writes it."""
    with _open(path) as file:
        for number, line in enumerate(file, start=1):
            fields = [field.strip() for field in line.split("\t")]
            if fields == [""] or (number == 1 and fields[0] == "query-id"):
                continue
            where = f"{path}, line {number}"
            if len(fields) != 3:
                raise DatasetError(f"{where}: expected query-id, corpus-id and score between tabs, found {line!r}")
            try:
                grade = int(fields[2])
            except ValueError as error:
                raise DatasetError(f"{where}: the score {fields[2]!r} is not a whole number") from error
            yield Judgment(fields[0], fields[1], grade)


@contextmanager
def _open(path: Path) -> Iterator[TextIO]:
    """Open a file or, where it is not there, its gzipped form."""
    zipped = path.with_name(f"{path.name}.gz")
    if not path.exists() and not zipped.exists():
        raise DatasetError(f"{path} does not exist, nor does {zipped.name}")
    try:
        with path.open(encoding="utf-8") if path.exists() else gzip.open(zipped, "rt", encoding="utf-8") as file:
            yield file
    except (OSError, zlib.error, EOFError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path if path.exists() else zipped}: cannot be read to its end ({error})") from error
