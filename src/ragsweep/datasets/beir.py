"""Reads benchmarks in the layout of BEIR: `corpus.jsonl`, `queries.jsonl`, `qrels/SPLIT.tsv`, optionally gzipped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragsweep.core.constraints import Text
from ragsweep.core.errors import DatasetError
from ragsweep.core.parsing import MalformedError, from_json, read_lines
from ragsweep.datasets.collection import Collection, Document, Judgment, Query
from ragsweep.datasets.corpora.table import TableCorpus
from ragsweep.datasets.entry_files import further_fields
from ragsweep.datasets.fields import LARGEST_GRADE, flaw_of_name, flaw_of_text, grade_of, listed, shown_value
from ragsweep.datasets.files import what_is
from ragsweep.datasets.judgment_files import JudgmentFile, lines_with
from ragsweep.datasets.own import Asked
from ragsweep.datasets.pages import with_keys
from ragsweep.text.normalisation import composed

LONGEST_LINE_MB = 100
HEADER = ["query-id", "corpus-id", "score"]


@dataclass(frozen=True)
class BeirDataset:
    """A dataset in the layout of BEIR. The unit of judgments is the document.

    Attributes:
        name: Name of the dataset and of its experiment in MLflow.
        path: The folder.
        split: Which qrels to use: `test`, `train` or `dev`. Only the queries with judgments in this split are used.
        type: The field of a query by which results are broken down; None if there is none.
    """

    name: Text
    path: Text
    split: Text = "test"
    type: Text | None = None

    @property
    def corpus(self) -> TableCorpus:
        """The documents alone."""
        return TableCorpus(str(_found(Path(self.path) / "corpus.jsonl")), id="_id", title="title")

    def load(self) -> Collection:
        """Read the corpus, the qrels, and the queries that have judgments."""
        root = Path(self.path)
        if (found := what_is(root)) != "a folder":
            problem = f"is {found}" if found else "does not exist"
            raise DatasetError(f"dataset.path: {root} {problem}; expected a folder with corpus.jsonl")
        asked = BeirQuestions(self.path, self.split, self.type).read(tuple(_documents(root / "corpus.jsonl")))
        return Collection(self.name, asked.unit, asked.documents, asked.queries, asked.judgments)

    def with_judgments(self, judgments: Sequence[Judgment], documents: tuple[Document, ...]) -> JudgmentFile:
        """The qrels of the split with further judgments."""
        return BeirQuestions(self.path, self.split).with_judgments(judgments, documents, "dataset")


@dataclass(frozen=True)
class BeirQuestions:
    """`queries.jsonl` and `qrels/SPLIT.tsv` of a folder in the layout of BEIR, for any corpus.

    Attributes:
        path: The folder.
        split: Which qrels to use: `test`, `train` or `dev`. Only the queries with judgments in this split are used.
        type: The field of a query by which results are broken down; None if there is none.
    """

    path: Text
    split: Text = "test"
    type: Text | None = None

    def read(self, documents: tuple[Document, ...]) -> Asked:
        """Read the qrels, and the queries that have judgments. Judged documents need not be in the corpus."""
        root = Path(self.path)
        qrels = root / "qrels" / f"{self.split}.tsv"
        judgments = tuple(judgment for _, judgment in read_qrels(qrels))
        if not judgments:
            raise DatasetError(f"{qrels}: contains no judgments; expected lines of query-id, corpus-id and score")
        units = {composed(judgment.unit) for judgment in judgments}
        if not any(composed(document.source) in units for document in documents):
            raise DatasetError(f"{root}: none of the documents in qrels/{self.split}.tsv is in the corpus")
        judged = {composed(judgment.query_id) for judgment in judgments}
        queries = tuple(_queries(root / "queries.jsonl", judged, self.type))
        missing = judged - {composed(query.query_id) for query in queries}
        if missing:
            raise DatasetError(f"{qrels}: query {min(missing)!r} is not in queries.jsonl ({len(missing)} such queries)")
        return Asked("document", with_keys(documents, "document"), queries, judgments)

    def with_judgments(
        self, judgments: Sequence[Judgment], documents: tuple[Document, ...], group: str = "questions"
    ) -> JudgmentFile:
        """The qrels of the split with further judgments, for the group that names the split."""
        qrels = Path(self.path) / "qrels"

        def read(path: Path) -> Iterator[Judgment]:
            return (judgment for _, judgment in read_qrels(path))

        use = f"{group}.split={{name}}, once it is in {qrels}"
        return lines_with(qrels / f"{self.split}.tsv", "{}\t{}\t{}", judgments, read, use)


def read_qrels(path: Path) -> Iterator[tuple[int, Judgment]]:
    """Read judgments from lines of query id, document id and grade. Yields each with its line number.

    The first line may be the header of BEIR.

    Raises:
        DatasetError: The file or a line cannot be read, or two lines contradict each other.
    """
    earlier: dict[tuple[str, str], tuple[int, int]] = {}
    for number, (where, line) in enumerate(_lines(path), start=1):
        fields = [field.strip() for field in line.split("\t")]
        if fields == [""] or (number == 1 and fields[0] == HEADER[0]):
            continue
        if len(fields) != len(HEADER):
            raise DatasetError(
                f"{where}: expected query-id, corpus-id and score separated by tabs, found {line[:80]!r}"
            )
        for name, text in zip(HEADER, fields[:2], strict=False):
            if flaw := flaw_of_name(text):
                raise DatasetError(f"{where}: the {name} {text[:80]!r} {flaw}")
        grade = grade_of(fields[2])
        if grade is None:
            found = f"{where}: the score {fields[2][:80]!r} is not a whole number"
            raise DatasetError(f"{found} from -{LARGEST_GRADE} to {LARGEST_GRADE}")
        earlier_grade, earlier_line = earlier.setdefault((fields[0], fields[1]), (grade, number))
        if grade != earlier_grade:
            raise DatasetError(
                f"{where}: document {fields[1]!r} has the score {grade} for query {fields[0]!r}, "
                f"but {earlier_grade} in line {earlier_line}; expected one"
            )
        yield number, Judgment(fields[0], fields[1], grade)


def _documents(path: Path) -> Iterator[Document]:
    """Each document has one page, so that a chunker can split it. Its text is the title, a space and the text."""
    for where, entry in _entries(path):
        title = _text(entry, "title", where) if entry.get("title") else ""
        yield Document.from_pages(entry["_id"], [("1", entry["_id"], f"{title} {entry['text']}".strip())])


def _queries(path: Path, judged: Set[str], kind: str | None) -> Iterator[Query]:
    """The judged queries. What else is known of them becomes further fields, such as `metadata`, if it is not empty."""
    has_type = kind is None
    for where, entry in _entries(path):
        if composed(entry["_id"]) not in judged:
            continue
        if not entry["text"].strip():
            raise DatasetError(f"{where}: the field 'text' is blank; expected the text of the query")
        has_type = has_type or kind in entry
        further = {name: value for name, value in entry.items() if value not in ("", [], {})}
        named = further.get(kind) if kind else None
        if named is not None and (flaw := flaw_of_name(named)):
            raise DatasetError(f"{where}: the field {kind!r} {flaw}")
        yield Query(entry["_id"], entry["text"], named, further_fields(further, ("_id", "text", kind), where))
    if not has_type:
        raise DatasetError(f"{path}: no judged query has the field {kind!r} (type)")


def _entries(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a file with one JSON object per line, each with its place for error messages."""
    seen: dict[str, int] = {}
    for number, (where, line) in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        try:
            entry = from_json(line, allow_nan=True)  # NaN may occur in fields that are not read
        except MalformedError as error:
            problem = str(error).replace("line 1, ", "")
            raise DatasetError(f"{where}: {problem}; expected an object with _id and text") from error
        if not isinstance(entry, dict):
            raise DatasetError(f"{where}: expected an object with _id and text, found {shown_value(entry)}")
        if isinstance(entry.get("_id"), int) and not isinstance(entry["_id"], bool):
            entry["_id"] = str(entry["_id"])  # pandas writes numeric ids as numbers; qrels contain strings
        entry["_id"] = _text(entry, "_id", where).strip()
        _text(entry, "text", where)
        if flaw := flaw_of_name(entry["_id"]):
            raise DatasetError(f"{where}: the field '_id' {flaw}")
        if entry["_id"] in seen:
            first = seen[entry["_id"]]
            raise DatasetError(f"{where}: the _id {entry['_id']!r} is in the file twice, first in line {first}")
        seen[entry["_id"]] = number
        yield where, entry


def _text(entry: dict[str, Any], field: str, where: str) -> str:
    if field not in entry:
        raise DatasetError(f"{where}: the field {field!r} is missing; found {listed(entry)}")
    text = entry[field]
    if not isinstance(text, str):
        raise DatasetError(f"{where}: the field {field!r} is {shown_value(text)}; expected a string")
    if flaw := flaw_of_text(text):
        raise DatasetError(f"{where}: the field {field!r} {flaw}")
    return text


def _found(path: Path) -> Path:
    """The file, or its gzipped form if only that exists."""
    zipped = path.with_name(f"{path.name}.gz")
    return path if what_is(path) or not what_is(zipped) else zipped


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """The lines of a file, or of its gzipped form if it does not exist, each with its place for error messages."""
    found = _found(path)
    try:
        for number, line in read_lines(found, LONGEST_LINE_MB):
            yield f"{found}, line {number}", line
    except FileNotFoundError as error:
        raise DatasetError(f"{path} does not exist, nor does {path.name}.gz") from error
    except MalformedError as error:
        expected = f"lines of {' and '.join(HEADER)}" if path.suffix == ".tsv" else "one JSON object per line"
        raise DatasetError(f"{found}: {error}; expected {expected}") from error
    except OSError as error:
        raise DatasetError(f"{found}: cannot be read ({error.strerror or error})") from error
