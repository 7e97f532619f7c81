"""Reads questions in the layout of the BEIR benchmarks: `queries.jsonl` and `qrels/SPLIT.tsv`, each maybe gzipped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ragsweep.core.errors import DatasetError
from ragsweep.core.limits import Text
from ragsweep.core.terminal import say_once, verb
from ragsweep.datasets.model.collection import Collection, Document, Judgment, LeftOut, Query, Unranked
from ragsweep.datasets.model.dataset_format import Questions
from ragsweep.datasets.model.faults import Faults
from ragsweep.datasets.model.pages import with_keys
from ragsweep.datasets.readers.fields import Entry, further_fields, id_of, key_in, listed, text_of, type_in
from ragsweep.datasets.readers.files import kind_at
from ragsweep.datasets.readers.qrels_files import read_qrels
from ragsweep.datasets.readers.tables import read_entries
from ragsweep.text.normalisation import composed

LeaveOut = Literal["same_id"] | None

EXCLUDED = "excluded_ids"  # the field of a query with the ids of documents, as in BRIGHT
NO_ID = ("", "N/A")  # in that field
RECIPE = "docs/recipes.md makes a folder of a copy on the Hugging Face hub"


@dataclass(frozen=True)
class BeirQuestions(Questions):
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

    def read(self, documents: tuple[Document, ...]) -> Collection:
        """Read the qrels, and the queries that have judgments. Judged documents need not be in the corpus."""
        root = Path(self.path)
        name = f"qrels/{self.split}.tsv"
        qrels, unjudged = root / name, ""
        if kind_at(qrels) is None and kind_at(zipped := root / f"{name}.gz"):
            qrels = zipped
        elif kind_at(qrels) is None:
            unjudged = f"{qrels} does not exist, nor does {name}.gz"
            if splits := [path.name for path in sorted((root / "qrels").glob("*")) if not path.name.startswith(".")]:
                raise DatasetError(f"{unjudged}; there is {listed(splits)}; {RECIPE}")
        judgments = () if unjudged else tuple(judgment for _, judgment in read_qrels(qrels, "questions.path"))
        if not judgments:
            unjudged = unjudged or f"{qrels}: contains no judgments; expected lines of query-id, corpus-id and score"
        units = {composed(judgment.unit) for judgment in judgments}
        if judgments and not any(composed(document.source) in units for document in documents):
            raise DatasetError(f"{root}: none of the documents in {qrels.relative_to(root)} is in the corpus")
        faults, excluded = Faults(qrels), list[Unranked]()
        judged = {composed(judgment.query_id) for judgment in judgments}
        queries = tuple(self._queries(file_of(root, "queries.jsonl"), judged, faults, excluded))
        documents = with_keys(documents, "document")
        ids = {composed(query.query_id) for query in queries}
        kept = tuple(judgment for judgment in judgments if not faults.faults or composed(judgment.query_id) in ids)
        collection = Collection("", "document", documents, queries, kept)
        own = own_documents(queries, documents, collection.judgments) if self.leave_out else ()
        unranked = LeftOut(documents=tuple(dict.fromkeys([*own, *excluded])))
        return replace(collection, faults=faults, left_out=unranked, unjudged=unjudged)

    def _queries(self, path: Path, judged: Set[str], faults: Faults, excluded: list[Unranked]) -> Iterator[Query]:
        """The judged queries that can be used. Adds to `faults` why others cannot, and to `excluded` what they exclude.

        Without judgments, all queries.
        """
        has_type = self.type is None
        lines: dict[str, str] = {}
        for where, entry in read_entries(path, "queries", setting="questions.path", allow_nan=True):
            name = id_of(entry, "_id", where)  # pandas writes numeric ids as numbers; qrels contain strings
            if (first := lines.setdefault(name, where)) != where:
                place = first.rpartition(", ")[2]
                raise DatasetError(f"{where}: the _id {name!r} is in the file twice, first in {place}")
            if judged and composed(name) not in judged:
                continue
            has_type = has_type or self.type in entry
            try:
                if not text_of(entry, "text", where):
                    raise DatasetError(f"{where}: the field 'text' is blank; expected the text of the query")
                query = self._query(entry, name, where)
                excluded += excluded_in(entry, name, where)
                yield query
            except DatasetError as error:
                faults.add(error, name)
        for name in sorted(judged - set(map(composed, lines))):
            faults.add(DatasetError(f"{path}: has no query {name!r}, which is judged"), name)
        if not has_type:
            raise DatasetError(f"{path}: no judged query has the field {self.type!r} (type)")

    def _query(self, entry: Entry, name: str, where: str) -> Query:
        filled = {field: value for field, value in entry.items() if value not in ("", [], {})}
        further = further_fields(filled, ("_id", "text", self.type, EXCLUDED), where)
        return Query(name, entry["text"], type_in(filled, self.type, where), further)


def file_of(root: Path, name: str) -> Path:
    """A file of the folder, which may be zipped."""
    if (kind := kind_at(root)) != "a folder":
        problem = f"is {kind}" if kind else "does not exist"
        raise DatasetError(f"questions.path: {root} {problem}; expected a folder with {name}")
    if path := next((path for path in (root / name, root / f"{name}.gz") if kind_at(path)), None):
        return path
    subsets = [path.parent.name for path in sorted(root.glob(f"*/{name}"))]  # as archives have it
    within = f"; {root / subsets[0]} has it" if subsets else f"; {RECIPE}"
    raise DatasetError(f"{root / name} does not exist, nor does {name}.gz{within}")


def own_documents(
    queries: Iterable[Query], documents: Iterable[Document], judgments: Iterable[Judgment]
) -> tuple[Unranked, ...]:
    """The document with the id of the query, for each query that has one.

    In ArguAna and Quora that document is the query itself. BEIR and MTEB leave it out in all benchmarks. Where most of
    these documents are judged relevant to their queries, equal ids say which document answers which query, as in
    PubMedQA, and nothing is left out.
    """
    by_name = {composed(document.source): document for document in documents}
    own = {name: by_name[name] for query in queries if (name := composed(query.query_id)) in by_name}
    units = {(name, composed(page.unit)) for name, document in own.items() for page in document.pages}
    relevant = {name for query, unit, grade in judgments if grade > 0 and (name := composed(query)) in own
                and (name, composed(unit)) in units}  # fmt: skip
    if 2 * len(relevant) > len(own):
        of_own = f"{len(relevant)} of {len(own)} {verb(len(relevant), 'are')} judged relevant to it"
        what_happens = "the document with the id of the query is not left out of its ranking"
        say_once(f"{what_happens}: {of_own} ({listed(sorted(relevant))})")
        return ()
    return tuple(Unranked(name, document.source) for name, document in own.items())


def excluded_in(entry: Entry, query_id: str, where: str) -> list[Unranked]:
    """The documents that an entry with a query excludes. Raises `DatasetError` if they are not ids."""
    value = entry.get(EXCLUDED)
    ids = value if isinstance(value, list) else [value]
    distinct = dict.fromkeys(key_in(name, f"{where}: an id in the field {EXCLUDED!r}") for name in ids)
    return [Unranked(query_id, name) for name in distinct if name not in NO_ID]
