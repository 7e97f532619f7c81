"""Reads datasets of the catalogue ir-datasets.com."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from ragsweep.core.constraints import Text
from ragsweep.core.errors import DatasetError, first_line
from ragsweep.datasets.collection import Collection, Document, Judgment, Query


@dataclass(frozen=True)
class IrDatasetsDataset:
    """A dataset of ir_datasets with documents, queries and qrels. The unit of judgments is the document.

    Attributes:
        name: Name of the dataset and of its experiment in MLflow.
        id: Its id in the catalogue, such as `beir/nfcorpus/test`, or one that was registered in this process.
    """

    name: Text
    id: Text

    def load(self) -> Collection:
        """Read everything. What is not on this machine yet is downloaded."""
        if find_spec("ir_datasets") is None:
            raise DatasetError("dataset=ir_datasets needs ir_datasets; run pip install 'ragsweep[ir_datasets]'")
        import ir_datasets

        try:
            dataset = ir_datasets.load(self.id)
        except KeyError as error:
            raise DatasetError(f"dataset.id: {self.id!r} is not in the catalogue of ir_datasets") from error
        lacks = [what for what in ("docs", "queries", "qrels") if not getattr(dataset, f"has_{what}")()]
        if lacks:
            raise DatasetError(
                f"dataset.id: {self.id} has no {' and no '.join(lacks)}; expected docs, queries and qrels"
            )
        try:
            return Collection(
                self.name,
                "document",
                tuple(_documents(dataset)),
                tuple(Query(str(query.query_id), query.default_text().strip()) for query in dataset.queries_iter()),
                tuple(
                    Judgment(str(each.query_id), str(each.doc_id), int(each.relevance)) for each in dataset.qrels_iter()
                ),
            )
        except Exception as error:  # of a download or of a parser of the catalogue
            raise DatasetError(f"dataset.id: {self.id} cannot be read ({first_line(error)})") from error


def _documents(dataset: Any) -> Iterator[Document]:
    for document in dataset.docs_iter():
        source = str(document.doc_id)
        yield Document.from_pages(source, [("1", source, document.default_text().strip())])
