"""The larger chunk around a passage as what is returned."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragsweep.core.errors import ConfigError
from ragsweep.datasets import Document
from ragsweep.datasets.model.chunking import Chunker, cut
from ragsweep.datasets.model.dataset import Passage
from ragsweep.retrieval.returned_units.returned_unit import ReturnedUnit
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.text.tokens import Span


@dataclass(frozen=True, kw_only=True)
class ParentUnit(ReturnedUnit):
    """The chunk of a second, larger chunker that holds a passage; if none holds all of it, the chunks that together do.

    Attributes:
        chunker: Cuts the documents into these chunks.
        store: Keeps where it has cut them.
    """

    chunker: Chunker
    store: Store = NO_STORE

    def spans(self, documents: Mapping[str, Document], passages: Sequence[Passage]) -> Sequence[Span]:
        """The first chunk that holds the passage, or from the first to the last chunk that has a part of it."""
        parents_of = dict(zip(documents, cut([*documents.values()], self.chunker, self.store), strict=True))
        starts = {source: [start for start, _ in spans] for source, spans in parents_of.items()}
        ends = {source: [end for _, end in spans] for source, spans in parents_of.items()}
        found = []
        for each in passages:
            first = bisect_right(ends[each.source], each.start)
            last = bisect_left(starts[each.source], each.end)
            parents = parents_of[each.source][first:last]
            if not parents:
                raise ConfigError(
                    f"returns.chunker: leaves out the passage {each.chunk_id}; expected one that keeps all"
                )
            holding = (span for span in parents if span[0] <= each.start and each.end <= span[1])
            found.append(next(holding, (min(parents[0][0], each.start), max(parents[-1][1], each.end))))
        return found
