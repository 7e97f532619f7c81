"""No documents: questions about what a system keeps to itself."""

from __future__ import annotations

from dataclasses import dataclass

from ragsweep.datasets.model.collection import Document
from ragsweep.datasets.model.dataset_format import Corpus


@dataclass(frozen=True)
class NoCorpus(Corpus):
    """No documents, for a retriever that runs elsewhere. What judgments name is taken as it is written."""

    def read(self) -> tuple[Document, ...]:
        """No documents."""
        return ()
