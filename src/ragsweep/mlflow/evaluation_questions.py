"""Questions and judgments in an EvaluationDataset of MLflow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragsweep import tracking
from ragsweep.core.limits import OwnData, Text
from ragsweep.datasets import Asked, Document, TableQuestions
from ragsweep.datasets.model.pages import Key, Settings
from ragsweep.datasets.readers.delimited_rows import Entry
from ragsweep.datasets.readers.judgment_fields import KNOWN
from ragsweep.tracking.address import check_address

if TYPE_CHECKING:
    from ragsweep.tracking import EvaluationRecord

QUERY_ID = "query_id"  # tag of a record
NO_FIELDS = ("mlflow.", "ragsweep.")  # what tags begin with that are no fields of a query
RELEVANT = "relevant_docs"
EXPECTED, CONTEXT = "expected_documents", "expected_retrieved_context"  # expectations of a row


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
        """Read the questions."""
        found = tracking.read_evaluation_dataset(self.dataset, self.uri)
        return _asked(found, f"EvaluationDataset {self.dataset}", self.unit, documents)


def _asked(found: Sequence[EvaluationRecord], where: str, unit: Key, documents: tuple[Document, ...]) -> Asked:
    """The rows as questions about documents."""
    has_ids = bool(found) and all(QUERY_ID in row.tags for row in found)
    rows = ((f"{where}, record {number}", _row(row, has_ids)) for number, row in enumerate(found, start=1))
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
