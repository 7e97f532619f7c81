"""Why nothing is found for a query: what a ranker can say of it, so that a score of 0 is explained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from ragsweep.core.capability import Capability, offered_with
from ragsweep.retrieval.ranking import Search
from ragsweep.retrieval.stage_capabilities import RANKS


@dataclass(frozen=True)
class Silence:
    """Why nothing is found for some queries.

    Attributes:
        reason: What is true of these queries, as the end of a sentence about them.
        advice: What to do about it, in one sentence; empty if `setting` says it.
        setting: With which setting of the part something is found, like `backend=bm25s`; empty if there is none.
        part: The part of the ranker that finds nothing, by its path in the settings; empty for the ranker itself.
        whole: Whether no other part of the ranker can find anything.
    """

    reason: str
    advice: str = ""
    setting: str = ""
    part: str = ""
    whole: bool = True

    def within(self, part: str) -> Silence:
        """The same, of a ranker that has this one as a part."""
        return replace(self, part=f"{part}.{self.part}" if self.part else part)


@offered_with(*RANKS)
@runtime_checkable
class ExplainsSilence(Capability, Protocol):
    """A ranker that can say, without ranking, why it finds nothing for a query, or why one of its parts does not."""

    def silences(self, search: Search) -> Sequence[Silence | None]:
        """For each query why nothing can be found, or None."""
        ...


def silences_of(ranker: object, search: Search) -> Sequence[Silence | None]:
    """What a ranker says of the queries for which it finds nothing; nothing of a ranker that cannot say it."""
    return ranker.silences(search) if isinstance(ranker, ExplainsSilence) else [None] * len(search.queries)
