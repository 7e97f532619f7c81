"""Reads datasets of the catalogue ir-datasets.com."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, Literal

from ragsweep.core.errors import DatasetError, first_line
from ragsweep.core.limits import Text
from ragsweep.datasets.formats.beir import own_documents
from ragsweep.datasets.model.collection import Collection, Document, Judgment, LeftOut, Query
from ragsweep.datasets.model.faults import Faults
from ragsweep.datasets.model.selecting import Selecting

BEIR = "beir/"  # what the ids of its benchmarks begin with


@dataclass(frozen=True)
class IrDatasetsDataset(Selecting):
    """A dataset of ir_datasets with documents, queries and qrels. The unit of judgments is the document.

    One without qrels is read, too, for `ragsweep judge`.

    Attributes:
        name: Name of the dataset and of its experiment in MLflow.
        id: Its id in the catalogue, such as `beir/nfcorpus/test`, or one that was registered in this process.
        leave_out: `same_id` leaves the document with the id of a query out of its ranking. `benchmark` does that in the
            benchmarks of BEIR, as BEIR and MTEB do. None leaves it there.
    """

    name: Text
    id: Text
    leave_out: Literal["benchmark", "same_id"] | None = "benchmark"

    def load(self) -> Collection:
        """Read everything. What is not on this machine yet is downloaded."""
        if find_spec("ir_datasets") is None:
            raise DatasetError("dataset=ir_datasets needs ir_datasets; run pip install 'ragsweep[ir_datasets]'")
        import ir_datasets

        try:
            dataset = ir_datasets.load(self.id)
        except KeyError as error:
            raise DatasetError(f"dataset.id: {self.id!r} is not in the catalogue of ir_datasets") from error
        if lacks := [part for part in ("docs", "queries") if not getattr(dataset, f"has_{part}")()]:
            raise DatasetError(f"dataset.id: {self.id} has no {' and no '.join(lacks)}; expected docs and queries")
        is_judged = dataset.has_qrels()
        try:
            documents = tuple(_documents(dataset))
            asked = [Query(str(query.query_id), query.default_text().strip()) for query in dataset.queries_iter()]
            judgments = [
                Judgment(str(judgment.query_id), str(judgment.doc_id), int(judgment.relevance))
                for judgment in (dataset.qrels_iter() if is_judged else ())
            ]
        except Exception as error:  # of a download or of a parser of the catalogue
            raise DatasetError(f"dataset.id: {self.id} cannot be read ({first_line(error)})") from error
        if not documents:
            raise DatasetError(f"dataset.id: {self.id} has no documents")
        faults = Faults(self.id)
        ids = {query.query_id for query in asked}
        for query in asked:
            if not query.text:
                faults.add(DatasetError(f"{self.id}: the text of query {query.query_id!r} is blank"), query.query_id)
        for name, unit in {
            judgment.query_id: judgment.unit for judgment in judgments if judgment.query_id not in ids
        }.items():
            problem = f"judgment of {unit!r} for query {name!r}: the query does not exist"
            faults.add(DatasetError(f"{self.id}: {problem}"), name)
        faulty = {fault.name for fault in faults.faults}
        queries = tuple(query for query in asked if query.query_id not in faulty)
        kept = tuple(judgment for judgment in judgments if judgment.query_id not in faulty)
        by_id = self.leave_out == "same_id" or (self.leave_out == "benchmark" and self.id.startswith(BEIR))
        left_out = LeftOut(documents=own_documents(queries, documents, kept) if by_id else ())
        unjudged = "" if is_judged else f"dataset.id: {self.id} has no qrels"
        collection = Collection(self.name, "document", documents, queries, kept, left_out=left_out, unjudged=unjudged)
        return self.selected(collection, faults)


def _documents(dataset: Any) -> Iterator[Document]:
    for document in dataset.docs_iter():
        source = str(document.doc_id)
        yield Document.from_pages(source, [("1", source, document.default_text().strip())])
