"""Hybrid retrieval: dense and sparse candidates, fused by a weighted sum of normalised scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from ragsweep.core.constraints import Between
from ragsweep.core.method import Method
from ragsweep.retrieval.checks import expect_method, retrieve
from ragsweep.retrieval.fusion import weighted_sum
from ragsweep.retrieval.ranking import Ranking, Retriever, Scores, Task, sample, timed


@dataclass(frozen=True)
class HybridRetriever:
    """Ranks passages by `alpha * minmax(dense) + (1 - alpha) * minmax(sparse)`.

    Attributes:
        dense: Gives the dense candidates.
        sparse: Gives the sparse candidates.
        alpha: 1 returns the dense ranking as it is, 0 the sparse one.
        candidates: How many candidates of each retriever are fused; None takes the whole corpus.
    """

    dense: Retriever
    sparse: Retriever
    alpha: Annotated[float, Between(0, 1)] = 0.7
    candidates: Annotated[int, Between(1)] | None = 100

    def __post_init__(self) -> None:
        expect_method(self.dense, "retrieve", "retriever.dense")
        expect_method(self.sparse, "retrieve", "retriever.sparse")

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
    def method(self) -> Method:
        """For reports: what the only part that is used says of itself, or a hybrid."""
        name, stands_for = f"hybrid, alpha {self.alpha:g}", {"alpha": self.alpha}
        if self.alpha not in (0, 1):
            return Method(name, stands_for=stands_for)
        part: Method = getattr(self.dense if self.alpha else self.sparse, "method", Method())
        kind = "pure dense" if self.alpha else "pure sparse"
        return replace(part, name=f"{kind}, alpha {self.alpha:g}", stands_for=stands_for)

    @property
    def formula(self) -> str:
        """How the parts make a score; empty where only one part is used."""
        if self.alpha in (0, 1):
            return ""
        return f"{self.alpha:g} * norm of dense + {1 - self.alpha:g} * norm of sparse"

    def term_scores(self, task: Task, query: int) -> Mapping[str, Scores] | None:
        """What each word adds to the score of each passage in the part that can say so; None where none can."""
        for name in ("sparse", "dense"):
            part = getattr(self, name)
            if name not in self.without_effect and hasattr(part, "term_scores"):
                scores: Mapping[str, Scores] | None = part.term_scores(task, query)
                return scores
        return None

    def retrieve(self, task: Task, depth: int) -> Ranking:
        """Rank the passages for every query, at most `depth` of them."""
        if self.alpha == 1:
            return retrieve(self.dense, task, depth)
        if self.alpha == 0:
            return retrieve(self.sparse, task, depth)
        dense, sparse = self.parts(task).values()
        fused = replace(weighted_sum(dense, sparse, self.alpha, depth), recall_of_exact=dense.recall_of_exact)
        fusion_ms = timed(
            lambda row: weighted_sum(dense.row(row), sparse.row(row), self.alpha, depth),
            sample(len(task.queries)).tolist(),
        )
        stages = (dense.latency_ms, sparse.latency_ms, fusion_ms)
        if {len(stage) for stage in stages} == {len(fusion_ms)}:  # a retriever may leave itself untimed
            return replace(fused, latency_ms=np.sum(stages, axis=0))
        return fused

    def parts(self, task: Task) -> Mapping[str, Ranking]:
        """The dense and the sparse candidates that are fused; none where only one part is used."""
        if self.alpha in (0, 1):
            return {}
        candidates = self.candidates or len(task.passages)
        return {
            "dense": retrieve(self.dense, task, candidates),
            "sparse": retrieve(self.sparse, task, candidates),
        }
