"""Hybrid retrieval: dense and sparse candidates, fused by a weighted sum of normalised scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from ragsweep.core.constraints import Between
from ragsweep.core.method import Method
from ragsweep.retrieval.checks import expect_method
from ragsweep.retrieval.fused import FusedRetriever
from ragsweep.retrieval.fusion import WeightedSum
from ragsweep.retrieval.ranking import Ranker, Ranking, Search
from ragsweep.retrieval.stages import check_search, feedback_changes, rank
from ragsweep.retrieval.trace import Trace, trace


@dataclass(frozen=True)
class HybridRetriever:
    """Ranks passages by `alpha * minmax(dense) + (1 - alpha) * minmax(sparse)`.

    Attributes:
        dense: Gives the dense candidates.
        sparse: Gives the sparse candidates.
        alpha: 1 returns the dense ranking as it is, 0 the sparse one.
        candidates: How many candidates of each retriever are fused; None takes the whole corpus.
    """

    dense: Ranker
    sparse: Ranker
    alpha: Annotated[float, Between(0, 1)] = 0.7
    candidates: Annotated[int, Between(1)] | None = 100

    def __post_init__(self) -> None:
        expect_method(self.dense, "rank", "retriever.dense")
        expect_method(self.sparse, "rank", "retriever.sparse")

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect at this alpha."""
        if self.alpha in (0, 1):
            return ("sparse" if self.alpha == 1 else "dense", "candidates")
        return ()

    @property
    def at_least(self) -> Mapping[str, str]:
        """Settings that must not be smaller than another one."""
        return {"candidates": "k"}

    @property
    def uses_feedback(self) -> bool:
        """Whether what ranks at this alpha uses the feedback of a search."""
        return getattr(self._ranker, "uses_feedback", False)

    @property
    def method(self) -> Method:
        """For reports: what the only ranker that is used says of itself, or a hybrid."""
        name, stands_for = f"hybrid, alpha {self.alpha:g}", {"alpha": self.alpha}
        if self.alpha not in (0, 1):
            return Method(name, stands_for=stands_for)
        ranker, name = (self.dense, "dense") if self.alpha else (self.sparse, "sparse")
        method: Method = getattr(ranker, "method", Method())
        role = getattr(ranker, "role", name)
        return replace(method, name=f"pure {role}, alpha {self.alpha:g}", stands_for=stands_for)

    def rank(self, search: Search, depth: int) -> Ranking:
        """Rank the passages for every query, at most `depth` of them."""
        return rank(self._ranker, search, depth)

    def check(self, search: Search) -> None:
        """Let the rankers that are used refuse what they cannot search."""
        check_search(self._ranker, search)

    def feedback_changes(self, search: Search) -> Sequence[str]:
        """What feedback adds to each query."""
        return feedback_changes(self._ranker, search)

    def trace(self, search: Search, query: int) -> Trace:
        """How a query got its ranking."""
        found = trace(self._ranker, search, query)
        if self.alpha in (0, 1):
            return found
        return replace(found, formula=f"{self.alpha:g} * norm of dense + {1 - self.alpha:g} * norm of sparse")

    @property
    def _ranker(self) -> Ranker:
        """What ranks at this alpha."""
        if self.alpha in (0, 1):
            return self.dense if self.alpha else self.sparse
        both = {"dense": self.dense, "sparse": self.sparse}
        return FusedRetriever(both, WeightedSum((self.alpha, 1 - self.alpha)), self.candidates)
