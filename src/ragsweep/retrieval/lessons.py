"""What a component gets that learns from relevance judgments: those of other queries than the ones it ranks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ragsweep.core.arrays import Indices, Scores
from ragsweep.core.capability import Capability, offered_with
from ragsweep.retrieval.ranking import Ranker, Ranking, Search
from ragsweep.retrieval.stage_capabilities import RANKS


@dataclass(frozen=True, eq=False)
class Lesson:
    """What may be known when the queries of one fold are ranked for. Nothing here leads to their judgments or types.

    Attributes:
        search: The corpus and the texts of all queries.
        depth: How many passages will be asked for.
        learn_from: The queries of the other folds, in ascending order.
        rank_for: The queries of this fold.
        types: The type of each query of `learn_from`, None for one without.
        number_of_types: How many types the queries of all folds have.
        values: Takes a ranking of all queries and the name of a metric; returns the value at k of each query of
            `learn_from`. Higher is better; a query without judgments has NaN.
        rank: Takes another ranker and a depth; returns its ranking of all queries. It is made once for all folds, and
            without any judgments.
    """

    search: Search
    depth: int
    learn_from: Indices
    rank_for: Indices
    types: tuple[str | None, ...]
    number_of_types: int
    values: Callable[[Ranking, str], Scores]
    rank: Callable[[Ranker, int], Ranking]


@offered_with(*RANKS)
@runtime_checkable
class LearnsFromJudgments(Capability, Protocol):
    """Stands where a ranker does, and learns from the judgments and the types of other queries. Its runs say so.

    The task splits the queries into folds. For each one, a fresh copy of the component learns from the others, and the
    ranker that it returns ranks for the queries of this fold. No other component sees judgments or types.

    Attributes:
        folds: How many folds there are, at least 2.
        seed: Of the split.
    """

    folds: int
    seed: int

    def learn_from_judgments(self, lesson: Lesson) -> Ranker:
        """A ranker for the queries of `lesson.rank_for`; what it ranks for other queries is not used."""
        ...


@offered_with("learn_from_judgments")
@runtime_checkable
class ChecksLesson(Capability, Protocol):
    """A component that refuses what it cannot learn from, before anything is recorded."""

    def check_lesson(self, lesson: Lesson) -> None:
        """Raise `ConfigError` for a lesson that is of no use."""
        ...
