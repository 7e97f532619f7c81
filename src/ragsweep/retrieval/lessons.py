"""What a component gets that learns from relevance judgments: those of other queries than the ones it ranks for."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ragsweep.core.arrays import Indices, Scores
from ragsweep.retrieval.kinds import Ranker, Trace
from ragsweep.retrieval.ranking import Ranking, Search


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


class LearnsFromJudgments(Ranker):
    """Stands where a ranker does, and learns from the judgments and the types of other queries. Its runs say so.

    The task splits the queries into folds. For each one, a fresh copy of the component learns from the others, and the
    ranker that it returns ranks for the queries of this fold. No other component sees judgments or types.

    Attributes:
        folds: How many folds there are, at least 2.
        seed: Of the split.
    """

    folds: int
    seed: int

    @abstractmethod
    def learn_from_judgments(self, lesson: Lesson) -> Ranker:
        """A ranker for the queries of `lesson.rank_for`; what it ranks for other queries is not used."""

    def check_lesson(self, lesson: Lesson) -> None:
        """Raise `ConfigError` for a lesson that is of no use."""

    def rank(self, search: Search, depth: int) -> Ranking:
        """Rank each fold by what was learnt from the others."""
        from ragsweep.retrieval.stages import rank

        return rank(self, search, depth)

    def check(self, search: Search) -> None:
        """Raise `ConfigError` for what cannot be learnt from."""
        from ragsweep.retrieval.judgments import dealt_to
        from ragsweep.retrieval.stages import rank

        dealt_to(self).check(self, search, rank)
        super().check(search)

    def details(self, search: Search) -> Mapping[str, Sequence[str]]:
        """What the ranker of its fold says of each query."""
        from ragsweep.retrieval.stages import learnt_by

        learnt, empty = learnt_by(self, search), [""] * len(search.queries)
        of_folds = [ranker.details(search) for ranker in learnt.rankers]
        names = {name: None for of_fold in of_folds for name in of_fold}
        return {name: [of_folds[at].get(name, empty)[row] for row, at in enumerate(learnt.fold)] for name in names}

    def trace(self, search: Search, query: int) -> Trace:
        """How the ranker of its fold ranks a query."""
        from ragsweep.retrieval.stages import learnt_by

        learnt = learnt_by(self, search)
        ranker: Ranker = learnt.rankers[learnt.fold[query]]
        return ranker.trace(search, query)
