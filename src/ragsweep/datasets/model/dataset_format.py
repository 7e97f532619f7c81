"""Base classes of what reads datasets: a corpus of documents, questions about them, or both at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection as Names
from collections.abc import Sequence

from ragsweep.datasets.model.collection import Collection, Document
from ragsweep.store.component import Component


class Corpus(Component, ABC):
    """Reads documents. To add a format, write a subclass with `read`."""

    @abstractmethod
    def read(self) -> tuple[Document, ...]:
        """Read the documents, in a stable order. Raises `DatasetError` for bad input."""

    def left_out(self) -> Sequence[str]:
        """The names of documents that settings leave out."""
        return ()

    def pictures(self, pages: Names[str]) -> Sequence[str]:
        """Those of the pages, each as `source#page_number`, that have a picture: without text, they may be scans."""
        return ()

    def with_headings(self, documents: Sequence[Document]) -> tuple[Document, ...]:
        """The documents with their title and the headings that their texts do not mark."""
        return tuple(documents)


class Questions(Component, ABC):
    """Reads queries and judgments. To add a format, write a subclass with `read`."""

    @abstractmethod
    def read(self, documents: tuple[Document, ...]) -> Collection:
        """Read the queries and what is judged in these documents. Raises `DatasetError` for bad input.

        The pages of the documents get the units that the judgments name. A question that cannot be used is left out,
        and noted in `faults`; the dataset refuses it, or leaves it out.
        """


class DatasetFormat(Component, ABC):
    """Reads a dataset. To add a format, write a subclass with `load`."""

    @abstractmethod
    def load(self) -> Collection:
        """Read everything. Raises `DatasetError` for bad input."""

    def documents_alone(self) -> Corpus | None:
        """What reads the documents without the questions; None if nothing does."""
        return None

    def expect_selected(self, collection: Collection) -> None:
        """Raise `ConfigError` if `load` has ignored settings that select questions."""
