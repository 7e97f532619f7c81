"""Reads benchmarks in the layout of BEIR: `corpus.jsonl`, `queries.jsonl`, `qrels/SPLIT.tsv`, optionally gzipped."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from pathlib import Path

from ragsweep.core.errors import DatasetError
from ragsweep.core.limits import Text
from ragsweep.datasets.formats.corpora.document_table import TableCorpus
from ragsweep.datasets.formats.own import Asked
from ragsweep.datasets.model.collection import Collection, Document, Query
from ragsweep.datasets.model.faults import Faults
from ragsweep.datasets.model.left_out import LeftOut, Unranked
from ragsweep.datasets.model.pages import with_keys
from ragsweep.datasets.model.selecting import Selecting
from ragsweep.datasets.model.unranked import EXCLUDED, LeaveOut, excluded_in, left_out_of_rankings
from ragsweep.datasets.readers.fields import (
    Entry,
    flaw_of_text,
    further_fields,
    id_of,
    listed,
    shown_value,
    type_in,
    value_of,
)
from ragsweep.datasets.readers.files import what_is
from ragsweep.datasets.readers.qrels_files import read_qrels
from ragsweep.datasets.readers.tables import LARGEST_CORPUS_MB, read_entries
from ragsweep.text.normalisation import composed

RECIPE = "docs/data_recipes.md makes a folder of a copy on the Hugging Face hub"


@dataclass(frozen=True)
class BeirDataset(Selecting):
    """A dataset in the layout of BEIR. The unit of judgments is the document.

    Attributes:
        name: Name of the dataset and of its experiment in MLflow.
        path: The folder.
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
    def corpus(self) -> TableCorpus:
        """The documents alone, as `corpus=beir` has them."""
        return TableCorpus(str(_file_of(Path(self.path), "corpus.jsonl")), id="_id", title="title")

    def load(self) -> Collection:
        """Read the corpus, the qrels, and the queries that have judgments."""
        root = Path(self.path)
        if (found := what_is(root)) != "a folder":
            problem = f"is {found}" if found else "does not exist"
            raise DatasetError(f"dataset.path: {root} {problem}; expected a folder with corpus.jsonl")
        questions = BeirQuestions(self.path, self.split, self.type, self.leave_out)
        asked = questions.read(tuple(_documents(_file_of(root, "corpus.jsonl"))))
        return self.selected(
            Collection(
                *(self.name, asked.unit, asked.documents, asked.queries, asked.judgments),
                left_out=LeftOut(documents=asked.unranked),
                unjudged=asked.unjudged,
            ),
            asked.faults,
        )


@dataclass(frozen=True)
class BeirQuestions:
    """`queries.jsonl` and `qrels/SPLIT.tsv` of a folder in the layout of BEIR, for any corpus.

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
        name = f"qrels/{self.split}.tsv"
        qrels, unjudged = root / name, ""
        if what_is(qrels) is None and what_is(zipped := root / f"{name}.gz"):
            qrels = zipped
        elif what_is(qrels) is None:
            unjudged = f"{qrels} does not exist, nor does {name}.gz"
            if others := [path.name for path in sorted((root / "qrels").glob("*")) if not path.name.startswith(".")]:
                raise DatasetError(f"{unjudged}; there is {listed(others)}; {RECIPE}")
        judgments = () if unjudged else tuple(judgment for _, judgment in read_qrels(qrels, "dataset.path"))
        if not judgments:
            unjudged = unjudged or f"{qrels}: contains no judgments; expected lines of query-id, corpus-id and score"
        units = {composed(judgment.unit) for judgment in judgments}
        if judgments and not any(composed(document.source) in units for document in documents):
            raise DatasetError(f"{root}: none of the documents in {qrels.relative_to(root)} is in the corpus")
        judged = {composed(judgment.query_id) for judgment in judgments}
        faults = Faults(qrels)
        excluded: list[Unranked] = []
        queries = tuple(_queries(_file_of(root, "queries.jsonl"), judged, self.type, faults, excluded))
        known = {composed(query.query_id) for query in queries}
        kept = judgments if not faults.found else tuple(each for each in judgments if composed(each.query_id) in known)
        documents = with_keys(documents, "document")
        unranked = left_out_of_rankings(self.leave_out, queries, documents, kept, excluded)
        return Asked("document", documents, queries, kept, faults=faults, unranked=unranked, unjudged=unjudged)


def _file_of(root: Path, name: str) -> Path:
    """A file of the folder, which may be zipped."""
    found = next((path for path in (root / name, root / f"{name}.gz") if what_is(path)), None)
    if found is None:
        subsets = [path.parent.name for path in sorted(root.glob(f"*/{name}"))]  # as archives have it
        within = f"; {root / subsets[0]} has it" if subsets else f"; {RECIPE}"
        raise DatasetError(f"{root / name} does not exist, nor does {name}.gz{within}")
    return found


def _documents(path: Path) -> Iterator[Document]:
    """Each document has one page, so that a chunker can split it. Its text is the title, a space and the text."""
    for where, name, entry in _named_entries(path):
        title = _text(entry, "title", where) if entry.get("title") else ""
        yield Document.from_pages(name, [("1", name, f"{title} {entry['text']}".strip())])


def _queries(
    path: Path, judged: Set[str], kind: str | None, faults: Faults, excluded: list[Unranked]
) -> Iterator[Query]:
    """The judged queries that can be used; in `faults` why others cannot, and in `excluded` what they exclude.

    Where nothing is judged, all queries.
    """
    has_type = kind is None
    missing = {*judged}
    for where, name, entry in _named_entries(path):
        if judged and composed(name) not in judged:
            continue
        missing.discard(composed(name))
        has_type = has_type or kind in entry
        try:
            if not entry["text"].strip():
                raise DatasetError(f"{where}: the field 'text' is blank; expected the text of the query")
            filled = {field: value for field, value in entry.items() if value not in ("", [], {})}
            further = further_fields(filled, ("_id", "text", kind, EXCLUDED), where)
            query = Query(name, entry["text"], type_in(filled, kind, where), further)
            excluded += excluded_in(entry, name, where)
            yield query
        except DatasetError as error:
            faults.add(error, name)
    for name in sorted(missing):
        faults.add(DatasetError(f"{path}: has no query {name!r}, which is judged"), name)
    if not has_type:
        raise DatasetError(f"{path}: no judged query has the field {kind!r} (type)")


def _named_entries(path: Path) -> Iterator[tuple[str, str, Entry]]:
    """The objects of a file, each with its place for error messages, and its id."""
    seen: dict[str, str] = {}
    contents = path.name.partition(".")[0]
    rows = read_entries(path, contents, setting="dataset.path", allow_nan=True, in_all_mb=LARGEST_CORPUS_MB)
    for where, entry in rows:  # NaN may occur in fields that are not read
        name = id_of(entry, "_id", where)  # pandas writes numeric ids as numbers; qrels contain strings
        _text(entry, "text", where)
        if (first := seen.setdefault(name, where)) != where:
            place = first.rpartition(", ")[2]
            raise DatasetError(f"{where}: the _id {name!r} is in the file twice, first in {place}")
        yield where, name, entry


def _text(entry: Entry, field: str, where: str) -> str:
    text = value_of(entry, field, where)
    if not isinstance(text, str):
        raise DatasetError(f"{where}: the field {field!r} is {shown_value(text)}; expected a string")
    if flaw := flaw_of_text(text):
        raise DatasetError(f"{where}: the field {field!r} {flaw}")
    return text
