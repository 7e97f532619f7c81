"""What a dataset, and the corpus and the questions that it is made of, may offer besides reading them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from ragsweep.core.capability import Capability, offered_with
from ragsweep.datasets.model.collection import Document, Reading


@offered_with("load", "read")
@runtime_checkable
class KnowsPictures(Capability, Protocol):
    """Documents that can say which pages are pictures of text, such as scans."""

    def pictures(self, pages: Sequence[str]) -> list[str]:
        """Those of the pages that contain a picture, as `source#page_number`."""


@offered_with("read")
@runtime_checkable
class KnowsHeadings(Capability, Protocol):
    """Documents that can say which headings they have that their texts do not mark."""

    def with_headings(self, documents: Sequence[Document]) -> tuple[Document, ...]:
        """The same documents with their title and headings."""


@offered_with("load", "read")
@runtime_checkable
class KnowsReading(Capability, Protocol):
    """Documents of files of which another parser reads another text."""

    def reading(self) -> Reading:
        """The digest of what is read, whatever reads it, and the parser that reads it here."""


@offered_with("load", "read")
@runtime_checkable
class SkipsDocuments(Capability, Protocol):
    """Documents of which some are left out."""

    skip: Sequence[str]  # the names of those that are left out


@offered_with("load")
@runtime_checkable
class HasCorpus(Capability, Protocol):
    """A dataset whose documents can be read alone, so that questions can be generated about them."""

    corpus: Any  # reads the documents
