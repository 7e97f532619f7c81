"""How a ranking came about: what a ranker can tell to whoever asks why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

from ragsweep.core.arrays import Scores
from ragsweep.core.capability import Capability, offered_with
from ragsweep.retrieval.lessons import LearnsFromJudgments
from ragsweep.retrieval.normalising import NORMS, Normalisation
from ragsweep.retrieval.ranking import Ranker, Ranking, Search
from ragsweep.retrieval.stage_capabilities import RANKS
from ragsweep.retrieval.stages import learnt_by
from ragsweep.store.code import name_of


class Words(NamedTuple):
    """What each word of a query adds to a score.

    Attributes:
        stage: Whose score; empty for the score of the ranking itself.
        added: By word, for each passage, shape [passages] each.
    """

    stage: str
    added: Mapping[str, Scores]


@dataclass(frozen=True)
class Trace:
    """How one query got its ranking.

    Attributes:
        stages: The class of each stage by its name, in the order in which they work; empty for a ranker without stages.
        searched: The query as it was searched for; None if it was not rewritten.
        change: What was changed in it, in a few words; empty if that does not say more.
        parts: The rankings that later stages fused or reordered, by the name of their stage.
        formula: How the score is made; empty if the ranker does not say.
        normalisation: How the scores of `parts` are shown beside each other.
        words: What each word of the query adds; None if no stage counts words.
    """

    stages: Mapping[str, str] = field(default_factory=dict)
    searched: str | None = None
    change: str = ""
    parts: Mapping[str, Ranking] = field(default_factory=dict)
    formula: str = ""
    normalisation: Normalisation = NORMS["minmax"]
    words: Words | None = None


@offered_with(*RANKS)
@runtime_checkable
class Traces(Capability, Protocol):
    """A ranker that can say how it ranks."""

    def trace(self, search: Search, query: int) -> Trace:
        """How one query gets its ranking."""
        ...


def trace(ranker: Ranker, search: Search, query: int) -> Trace:
    """How a ranker ranks the passages for one query; empty for one that cannot say."""
    if isinstance(ranker, LearnsFromJudgments):
        learnt = learnt_by(ranker, search)
        ranker = learnt.rankers[learnt.fold[query]]
    return ranker.trace(search, query) if isinstance(ranker, Traces) else Trace()


def within(name: str, inner: Mapping[str, str], stage: object) -> dict[str, str]:
    """The stages of a stage, by names that say where they are; the stage itself if it has none."""
    return {f"{name}.{each}": what for each, what in inner.items()} or {name: name_of(stage)}
