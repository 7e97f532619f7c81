"""Questions and judgments in an EvaluationDataset of MLflow: read for a sweep, and written from any dataset."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from omegaconf import DictConfig

from ragsweep import tracking
from ragsweep.core.errors import DatasetError
from ragsweep.core.limits import OwnData, Text
from ragsweep.core.parsing import from_json
from ragsweep.core.terminal import counted
from ragsweep.datasets import Asked, Collection, Document, TableQuestions
from ragsweep.datasets.formats.conversion import FORMATS
from ragsweep.datasets.model.pages import Key, Settings
from ragsweep.datasets.readers.delimited_rows import Entry
from ragsweep.datasets.readers.judgment_fields import KNOWN
from ragsweep.tracking.address import check_address

if TYPE_CHECKING:
    from ragsweep.tracking import EvaluationRecord, EvaluationRows

DIGEST = "ragsweep.digest"  # tag of a dataset: of its documents, questions and judgments, as they are read
QUERY_ID = "query_id"  # tag of a record
NO_FIELDS = ("mlflow.", "ragsweep.")  # what tags begin with that are no fields of a query
RELEVANT = "relevant_docs"
EXPECTED, CONTEXT = "expected_documents", "expected_retrieved_context"  # expectations of a row
KEYS: tuple[Key, ...] = get_args(Key)
SHOWN_DIGITS = 12  # of a digest


@dataclass(frozen=True)
class MlflowQuestions:
    """The rows of an EvaluationDataset in MLflow's tracking store, a question each.

    The question is the input `query` or `question`. The judgments are its expectation `expected_documents`: ids, or
    grades by id; without it, the `doc_uri` of each document in `expected_retrieved_context`. Ids are numbers from 1
    unless all rows have the tag `query_id`. The tag `query_type` groups results; further inputs and tags become fields.

    Attributes:
        dataset: The name of the EvaluationDataset.
        unit: What is judged: a `page` ("manual.pdf#34"), a `page_number` (of any document), or a `document`.
        uri: The tracking store; None for the project's own.
    """

    dataset: OwnData
    unit: Key = "page"
    uri: Text | None = None

    def __post_init__(self) -> None:
        """Refuse an address with a password."""
        if self.uri is not None:
            check_address(self.uri, "questions.uri")

    def read(self, documents: tuple[Document, ...]) -> Asked:
        """Read the questions. Warns where documents, questions or judgments are not those that were written."""
        found = tracking.read_evaluation_dataset(self.dataset, self.uri)
        asked = _asked(found, f"EvaluationDataset {self.dataset}", self.unit, documents)
        written, now = str(found.tags.get(DIGEST, "")), _digest(asked)
        if written and written != now:
            warnings.warn(
                f"EvaluationDataset {self.dataset}: documents, questions or judgments are not those that were written "
                f"(digest {written[:SHOWN_DIGITS]}, now {now[:SHOWN_DIGITS]})",
                stacklevel=2,
            )
        return asked


def write(collection: Collection, name: str, store: DictConfig) -> tuple[Key, list[str], Asked]:
    """Write the questions and judgments of a dataset as a new EvaluationDataset of this name.

    Returns:
        What is judged, which is the setting `unit` that reads them; what is lost, a sentence each; and what is written.

    Raises:
        DatasetError: There is one of this name, or it cannot express the dataset.
        TrackingError: The store cannot be written.
    """
    table = FORMATS["table"](collection)
    unit: Key = next(key for key in KEYS if table.settings.endswith(f"questions.unit={key}"))
    rows: dict[str, EvaluationRecord] = {}
    repeated = 0
    for line in table.files["questions.jsonl"]:
        row = from_json(line)
        text = row.pop("query")
        repeated += text in rows
        expected = {EXPECTED: row.pop(RELEVANT)}
        tags = {QUERY_ID: row.pop("id"), **row}
        rows.setdefault(text, tracking.EvaluationRecord({"query": text}, expected, tags))
    lost = [*table.lost, *([f"{counted(repeated, 'query')} with the text of an earlier one"] if repeated else [])]
    written = tracking.EvaluationRows([*rows.values()], {})
    asked = _asked(written, name, unit, collection.documents)
    if not asked.judgments:
        raise DatasetError(f"{collection.name}: has no judgment to write ({'; '.join(lost) or 'no query has one'})")
    tracking.write_evaluation_dataset(store, name, written.rows, {DIGEST: _digest(asked)})
    return unit, lost, asked


def _asked(found: EvaluationRows, where: str, unit: Key, documents: tuple[Document, ...]) -> Asked:
    """The rows as questions about documents."""
    has_ids = bool(found.rows) and all(QUERY_ID in row.tags for row in found.rows)
    rows = ((f"{where}, record {number}", _row(row, has_ids)) for number, row in enumerate(found.rows, start=1))
    table = TableQuestions(where, unit, relevant=RELEVANT, id="id" if has_ids else None)
    return table.read(documents, Settings("questions.dataset"), rows)


def _row(record: EvaluationRecord, has_id: bool) -> Entry:
    """A row as one of a table, without what a table would take for a judgment or a grade."""
    others = {
        name: value
        for name, value in {**record.tags, **record.inputs}.items()
        if name not in (*KNOWN, QUERY_ID) and not name.startswith(NO_FIELDS)
    }
    name = {"id": record.tags[QUERY_ID]} if has_id else {}
    return {**others, **name, RELEVANT: relevant_in(record.expectations)}


def relevant_in(expectations: Mapping[str, Any]) -> Any:
    """The value of `EXPECTED`; where it is missing or null, each `doc_uri` in MLflow's own `CONTEXT`."""
    found, context = expectations.get(EXPECTED), expectations.get(CONTEXT)
    if found is not None or not isinstance(context, list):
        return found
    return [str(each["doc_uri"]) for each in context if isinstance(each, dict) and each.get("doc_uri")]


def _digest(asked: Asked) -> str:
    return Collection("", asked.unit, asked.documents, asked.queries, asked.judgments).digest
