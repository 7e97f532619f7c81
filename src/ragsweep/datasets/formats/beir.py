"""Reads benchmarks in the layout of BEIR: `corpus.jsonl`, `queries.jsonl`, `qrels/SPLIT.tsv`, optionally gzipped.

Copies on the Hugging Face hub, such as those of MTEB, have the same tables as Parquet files in folders. Where there are
several languages, the names of the folders begin with theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from ragsweep.core.errors import DatasetError
from ragsweep.core.limits import Text
from ragsweep.core.parsing import MalformedError, from_json, read_lines
from ragsweep.datasets.formats.beir_files import files_of, part_of, qrels_files, without_qrels
from ragsweep.datasets.formats.corpora.document_table import TableCorpus
from ragsweep.datasets.formats.own import Asked, Corpus
from ragsweep.datasets.model.collection import Collection, Document, Judgment, Query
from ragsweep.datasets.model.faults import Faults
from ragsweep.datasets.model.left_out import LeftOut, Unranked
from ragsweep.datasets.model.pages import with_keys
from ragsweep.datasets.model.selecting import Selecting
from ragsweep.datasets.model.unranked import EXCLUDED, LeaveOut, excluded_in, left_out_of_rankings
from ragsweep.datasets.readers.entry_files import further_fields, reading
from ragsweep.datasets.readers.fields import flaw_of_name, flaw_of_text, listed, shown_value
from ragsweep.datasets.readers.files import what_is
from ragsweep.datasets.readers.json_objects import Entry
from ragsweep.datasets.readers.parquet_files import parquet_rows
from ragsweep.datasets.readers.qrels_files import read_qrels
from ragsweep.text.normalisation import composed

LONGEST_LINE_MB = 100
HEADER = ["query-id", "corpus-id", "score"]


@dataclass(frozen=True)
class BeirDataset(Selecting):
    """A dataset in the layout of BEIR. The unit of judgments is the document.

    Attributes:
        name: Name of the dataset and of its experiment in MLflow.
        path: The folder. Of a copy with a folder `de-corpus`, `FOLDER/de` is the path of what is in German.
        split: Which qrels to use: `test`, `train` or `dev`. Only the queries with judgments in this split are used.
        type: The field of a query by which results are broken down; None if there is none.
        leave_out: As of `BeirQuestions`.
    """

    name: Text
    path: Text
    split: Text = "test"
    type: Text | None = None
    leave_out: LeaveOut = "same_id"

    @property
    def corpus(self) -> Corpus:
        """The documents alone, as `corpus=beir` has them where they are one file."""
        files = files_of(Path(self.path), "corpus", self.split)
        if len(files) == 1:
            return TableCorpus(str(files[0]), id="_id", title="title")
        return BeirCorpus(self.path, self.split)

    def load(self) -> Collection:
        """Read the corpus, the qrels, and the queries that have judgments."""
        root = Path(self.path)
        if (found := what_is(root)) != "a folder" and not (found is None and what_is(part_of(root, "corpus"))):
            problem = f"is {found}" if found else "does not exist"
            raise DatasetError(f"dataset.path: {root} {problem}; expected a folder with corpus.jsonl")
        questions = BeirQuestions(self.path, self.split, self.type, self.leave_out)
        asked = questions.read(BeirCorpus(self.path, self.split).read())
        left_out = LeftOut(documents=asked.unranked)
        collection = Collection(
            *(self.name, asked.unit, asked.documents, asked.queries, asked.judgments),
            left_out=left_out,
            unjudged=asked.unjudged,
        )
        return self.selected(collection, asked.faults)


@dataclass(frozen=True)
class BeirCorpus:
    """The documents of a folder in the layout of BEIR.

    Attributes:
        path: The folder.
        split: The split of a folder `corpus` that has several.
    """

    path: Text
    split: Text = "test"

    def read(self) -> tuple[Document, ...]:
        """Read the documents, in the order of the file."""
        return tuple(_documents(files_of(Path(self.path), "corpus", self.split)))


@dataclass(frozen=True)
class BeirQuestions:
    """`queries.jsonl` and `qrels/SPLIT.tsv` of a folder in the layout of BEIR or of its copies, for any corpus.

    Without judgments, all queries are read, for `ragsweep judge`.

    Attributes:
        path: The folder.
        split: Which qrels to use: `test`, `train` or `dev`. Only the queries with judgments in this split are used.
        type: The field of a query by which results are broken down; None if there is none.
        leave_out: `same_id` leaves the document with the id of a query out of its ranking, as BEIR and MTEB do (see
            `own_documents`). None leaves it there. Documents in the field `excluded_ids` of a query are always left
            out.
    """

    path: Text
    split: Text = "test"
    type: Text | None = None
    leave_out: LeaveOut = "same_id"

    def read(self, documents: tuple[Document, ...]) -> Asked:
        """Read the qrels, and the queries that have judgments. Judged documents need not be in the corpus."""
        root = Path(self.path)
        paths = qrels_files(root, self.split)
        qrels, unjudged = paths[0] if paths else root, "" if paths else without_qrels(root, self.split)
        judgments = tuple(judgment for path in paths for judgment in _judgments(path))
        if paths and not judgments:
            unjudged = f"{qrels}: contains no judgments; expected lines of query-id, corpus-id and score"
        units = {composed(judgment.unit) for judgment in judgments}
        if judgments and not any(composed(document.source) in units for document in documents):
            within = qrels.relative_to(root) if qrels.is_relative_to(root) else qrels
            raise DatasetError(f"{root}: none of the documents in {within} is in the corpus")
        judged = {composed(judgment.query_id) for judgment in judgments}
        faults = Faults(qrels)
        excluded: list[Unranked] = []
        queries = tuple(_queries(files_of(root, "queries", self.split), judged, self.type, faults, excluded))
        known = {composed(query.query_id) for query in queries}
        kept = judgments if not faults.found else tuple(each for each in judgments if composed(each.query_id) in known)
        documents = with_keys(documents, "document")
        unranked = left_out_of_rankings(self.leave_out, queries, documents, kept, excluded)
        return Asked("document", documents, queries, kept, faults=faults, unranked=unranked, unjudged=unjudged)


def _judgments(path: Path) -> Iterator[Judgment]:
    """The judgments in a file of qrels."""
    return (judgment for _, judgment in read_qrels(path, "dataset.path"))


def _documents(paths: Sequence[Path]) -> Iterator[Document]:
    """Each document has one page, so that a chunker can split it. Its text is the title, a space and the text."""
    for where, entry in _named_entries(paths):
        title = _text(entry, "title", where) if entry.get("title") else ""
        yield Document.from_pages(entry["_id"], [("1", entry["_id"], f"{title} {entry['text']}".strip())])


def _queries(
    paths: Sequence[Path], judged: Set[str], kind: str | None, faults: Faults, excluded: list[Unranked]
) -> Iterator[Query]:
    """The judged queries that can be used; in `faults` why others cannot, and in `excluded` what they exclude.

    Where nothing is judged, all queries.
    """
    has_type = kind is None
    missing = {*judged}
    for where, entry in _named_entries(paths):
        name = composed(entry["_id"])
        if judged and name not in judged:
            continue
        missing.discard(name)
        has_type = has_type or kind in entry
        try:
            query = _query(entry, kind, where)
            excluded += excluded_in(entry, query.query_id, where)
            yield query
        except DatasetError as error:
            faults.add(error, entry["_id"])
    for name in sorted(missing):
        faults.add(DatasetError(f"{paths[0]}: has no query {name!r}, which is judged"), name)
    if not has_type:
        raise DatasetError(f"{paths[0]}: no judged query has the field {kind!r} (type)")


def _query(entry: Entry, kind: str | None, where: str) -> Query:
    """A query. What else is known of it becomes further fields, such as `metadata`, if it is not empty."""
    if not entry["text"].strip():
        raise DatasetError(f"{where}: the field 'text' is blank; expected the text of the query")
    further = {name: value for name, value in entry.items() if value not in ("", [], {})}
    named = further.get(kind) if kind else None
    if named is not None and (flaw := flaw_of_name(named)):
        raise DatasetError(f"{where}: the field {kind!r} {flaw}")
    return Query(entry["_id"], entry["text"], named, further_fields(further, ("_id", "text", kind, EXCLUDED), where))


def _entries(path: Path) -> Iterator[tuple[str, Entry]]:
    """The objects of a Parquet file, or of a file with one JSON object per line, each with its place."""
    if path.suffix != ".parquet":
        yield from _objects(path)
        return
    with reading(path, "dataset.path", "a Parquet file", "a Parquet file of objects with _id and text"):
        yield from parquet_rows(path)


def _named_entries(paths: Sequence[Path]) -> Iterator[tuple[str, Entry]]:
    """The objects of files, each with its place for error messages, and with its id in the field `_id`."""
    seen: dict[str, str] = {}
    for where, entry in chain.from_iterable(map(_entries, paths)):
        if "_id" not in entry and "id" in entry:  # on the hub
            entry["_id"] = entry.pop("id")
        if isinstance(entry.get("_id"), int) and not isinstance(entry["_id"], bool):
            entry["_id"] = str(entry["_id"])  # pandas writes numeric ids as numbers; qrels contain strings
        entry["_id"] = _text(entry, "_id", where).strip()
        _text(entry, "text", where)
        if flaw := flaw_of_name(entry["_id"]):
            raise DatasetError(f"{where}: the field '_id' {flaw}")
        if (first := seen.setdefault(entry["_id"], where)) != where:
            place = first.rpartition(", ")[2]
            raise DatasetError(f"{where}: the _id {entry['_id']!r} is in the file twice, first in {place}")
        yield where, entry


def _objects(path: Path) -> Iterator[tuple[str, Entry]]:
    """The objects of a file with one JSON object per line, each with its place for error messages."""
    for where, line in _lines(path):
        if not line.strip():
            continue
        try:
            entry = from_json(line, allow_nan=True)  # NaN may occur in fields that are not read
        except MalformedError as error:
            problem = str(error).replace("line 1, ", "")
            raise DatasetError(f"{where}: {problem}; expected an object with _id and text") from error
        if not isinstance(entry, dict):
            raise DatasetError(f"{where}: expected an object with _id and text, found {shown_value(entry)}")
        yield where, entry


def _text(entry: Entry, field: str, where: str) -> str:
    if field not in entry:
        raise DatasetError(f"{where}: the field {field!r} is missing; found {listed(entry)}")
    text = entry[field]
    if not isinstance(text, str):
        raise DatasetError(f"{where}: the field {field!r} is {shown_value(text)}; expected a string")
    if flaw := flaw_of_text(text):
        raise DatasetError(f"{where}: the field {field!r} {flaw}")
    return text


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """The lines of a file, each with its place for error messages."""
    try:
        for number, line in read_lines(path, LONGEST_LINE_MB):
            yield f"{path}, line {number}", line
    except MalformedError as error:
        raise DatasetError(f"{path}: {error}; expected one JSON object per line") from error
    except OSError as error:
        raise DatasetError(f"{path}: cannot be read ({error.strerror or error})") from error
