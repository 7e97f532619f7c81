"""What must hold of components that learn from relevance judgments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from ragsweep.core.arrays import Indices, Scores
from ragsweep.core.errors import ConfigError
from ragsweep.retrieval import NOTHING, Ranking, Search, rank
from ragsweep.retrieval.judgments import Judgments, dealing
from ragsweep.retrieval.lessons import LearnsFromJudgments
from ragsweep.store.stage_store import NO_STORE
from ragsweep.testing.retrieval import SEARCH, StageContract, same


@dataclass(frozen=True)
class JudgedSearch:
    """A search with what is known of its queries.

    Attributes:
        search: The corpus and the queries.
        types: The type of each query, None for one without.
        relevant: The passage that is relevant for each query, None for one without judgments.
    """

    search: Search
    types: Sequence[str | None]
    relevant: Sequence[int | None]

    def values_of(self, queries: Indices) -> Callable[[Ranking, str], Scores]:
        """The discounted gain of the relevant passage within the first ten, as `Lesson.values`."""
        relevant = np.array([NOTHING - 1 if self.relevant[row] is None else self.relevant[row] for row in queries])

        def values(ranking: Ranking, metric: str) -> Scores:
            hits = ranking.passages[queries, :10] == relevant[:, np.newaxis]
            found = (hits / np.log2(np.arange(2, 2 + hits.shape[1]))).sum(axis=1)
            return np.where(relevant < NOTHING, np.nan, found)

        return values

    def dealt(self, component: LearnsFromJudgments) -> Judgments:
        """The judgments, for one component."""
        return Judgments({"retriever": component}, tuple(self.types), self.values_of)

    def rank(self, component: Any, depth: int) -> Ranking:
        """What the component ranks by the judgments of other folds."""
        with dealing(self.dealt(component)):
            return rank(component, self.search, depth)


LEARNER_QUERIES = tuple(f"{word} {query}" for word in ("please,", "tell me:", "") for query in SEARCH.queries[:5])
JUDGED = JudgedSearch(
    Search(SEARCH.passages, LEARNER_QUERIES), ["when", "which", None, "what", "what"] * 3, [1, 9, 8, None, 0] * 3
)


class LearnerContract(StageContract):
    """What must hold of a component that learns from judgments.

    Attributes:
        judged: The corpus, the queries, and what is known of them.
    """

    judged: ClassVar[JudgedSearch] = JUDGED

    def test_it_declares_that_it_learns_from_judgments(self, made: Any) -> None:
        """By its members; else it would get none."""
        assert isinstance(made, LearnsFromJudgments)

    def test_it_gets_no_judgments_where_the_task_deals_out_none(self, made: Any) -> None:
        """One line says so."""
        with pytest.raises(ConfigError, match="learns from the relevance judgments"):
            rank(made, self.judged.search, 5)

    @pytest.mark.parametrize("depth", [1, 5, 1000])
    def test_it_returns_a_ranking_of_any_depth(self, made: Any, depth: int) -> None:
        """Shape, range, order and duplicates are checked."""
        assert self.judged.rank(made, depth).passages.shape[1] <= depth

    def test_it_ranks_the_same_way_each_time(self) -> None:
        """Two objects of the same settings give the same bits."""
        assert same(*(self.judged.rank(self.make(NO_STORE), 5) for _ in range(2)))

    def test_the_judgments_of_a_query_never_change_its_own_ranking(self, made: Any) -> None:
        """Neither those that it gets for this fold, nor those that it got for others or in an earlier run."""
        before = self.judged.rank(made, 5)
        for query in range(len(self.judged.relevant)):
            relevant = [*self.judged.relevant]
            relevant[query] = None if query % 2 else len(self.judged.search.passages) - 1
            after = replace(self.judged, relevant=relevant).rank(made, 5)
            assert same(after.row(query), before.row(query))
