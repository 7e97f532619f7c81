"""A store for answering single questions: it keeps what is used again in memory, and writes nothing."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from ragsweep.store.stage_store import NO_STORE, Arrays, Store

MOST_ENTRIES_KEPT = 256  # every question uses those of the corpus, so that only those of earlier questions go


@dataclass(frozen=True)
class ServingStore(Store):
    """Reads stages from another store, computes what that lacks, and keeps both in memory.

    To components it is a store that is not enabled, so that none writes files of its own beside it; it lists no entries
    and deletes none.

    Attributes:
        source: Is read only.
        most_kept: How many entries are kept in memory; then what was not used longest goes.
        built: The stages that were computed.
    """

    path: str = ""
    enabled: bool = False
    source: Store = NO_STORE
    most_kept: int = MOST_ENTRIES_KEPT
    built: set[str] = field(default_factory=set, compare=False, repr=False)
    _kept: OrderedDict[Path, Arrays] = field(default_factory=OrderedDict, compare=False, repr=False)
    _of_source: dict[str, list[Arrays]] = field(default_factory=dict, compare=False, repr=False)
    _lock: Lock = field(default_factory=Lock, compare=False, repr=False)

    def get(self, stage: str, inputs: object, build: Callable[[], Arrays]) -> Arrays:
        """The arrays of a stage, from memory, from the other store, or built."""
        arrays = self.find(stage, inputs, build)
        if arrays is None:
            self.built.add(stage)
            arrays = build()
        entry = self._entry(stage, inputs, build)
        with self._lock:
            self._kept[entry] = arrays
            self._kept.move_to_end(entry)
            while len(self._kept) > self.most_kept:
                self._kept.popitem(last=False)
        return arrays

    def find(self, stage: str, inputs: object, build: Callable[..., Arrays]) -> Arrays | None:
        """The arrays of a stage if they are in memory or in the other store."""
        kept = self._kept.get(self._entry(stage, inputs, build))
        return self.source.find(stage, inputs, build) if kept is None else kept

    def arrays(self, stage: str) -> Iterator[Arrays]:
        """The arrays of every entry of a stage; this counts as a use."""
        with self._lock:
            if stage not in self._of_source:
                self._of_source[stage] = [*self.source.arrays(stage)]
            own = [entry for entry in self._kept if entry.parent.name == stage]
            for entry in own:
                self._kept.move_to_end(entry)
            found = [*self._of_source[stage], *(self._kept[entry] for entry in own)]
        yield from found
