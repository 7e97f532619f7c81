"""Whole pages and documents as what is returned."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragsweep.datasets import Document
from ragsweep.datasets.model.dataset import Passage
from ragsweep.retrieval.returned_units.returned_unit import ReturnedUnit
from ragsweep.text.tokens import Span, stripped


@dataclass(frozen=True, kw_only=True)
class PageUnit(ReturnedUnit):
    """The page of a passage; of a passage of several pages, all of these."""

    def spans(self, documents: Mapping[str, Document], passages: Sequence[Passage]) -> Sequence[Span]:
        """From the beginning of the passage's first page to the end of its last one, without white space around."""
        starts = {source: [page.start for page in document.pages] for source, document in documents.items()}
        found = []
        for each in passages:
            document, of_pages = documents[each.source], starts[each.source]
            first, last = (bisect_right(of_pages, place) - 1 for place in (each.start, each.end - 1))
            found.append(stripped(document.text, document.pages[first].start, document.pages[last].end))
        return found


@dataclass(frozen=True, kw_only=True)
class DocumentUnit(ReturnedUnit):
    """The whole document of a passage."""

    def spans(self, documents: Mapping[str, Document], passages: Sequence[Passage]) -> Sequence[Span]:
        """The text of the passage's document, without white space around."""
        whole = {source: stripped(each.text, 0, len(each.text)) for source, each in documents.items()}
        return [whole[each.source] for each in passages]
