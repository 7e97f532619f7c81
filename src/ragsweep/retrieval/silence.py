"""Why nothing is found for a query: what a ranker can say of it, so that a score of 0 is explained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Protocol, runtime_checkable

from ragsweep.core.capability import Capability, offered_with
from ragsweep.retrieval.lessons import LearnsFromJudgments
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
        is_cut: Whether passages were ranked, and settings of the ranker's own removed them.
    """

    reason: str
    advice: str = ""
    setting: str = ""
    part: str = ""
    whole: bool = True
    is_cut: bool = False

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


@offered_with(*RANKS)
@runtime_checkable
class RemovesRanked(Capability, Protocol):
    """A ranker with settings that remove passages which were ranked, such as a lowest score."""

    cuts: Sequence[str]  # the names of these settings; None turns each off


def without_cuts(part: Any, path: str = "") -> tuple[Any, list[str]]:
    """A ranker without the settings that remove what was ranked, its own and those of its parts, and their paths.

    Args:
        part: The ranker, or a part of it.
        path: Of the part, with a dot at its end.
    """
    if isinstance(part, type | LearnsFromJudgments) or not (isinstance(part, Mapping) or is_dataclass(part)):
        return part, []  # what learns is known by its identity
    values = part if isinstance(part, Mapping) else {field.name: getattr(part, field.name) for field in fields(part)}
    changed: dict[str, Any] = {}
    paths: list[str] = []
    for name, value in values.items():
        bare, removed = without_cuts(value, f"{path}{name}.")
        if isinstance(part, RemovesRanked) and name in part.cuts and value is not None:
            bare, removed = None, [f"{path}{name}"]
        changed |= {name: bare} if removed else {}
        paths += removed
    whole: Any = part
    bare = {**part, **changed} if isinstance(part, Mapping) else replace(whole, **changed) if changed else part
    return bare, paths
