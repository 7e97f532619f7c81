"""Hybrid retrieval: dense and sparse candidates, fused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between
from ragsweep.retrieval.fused import FusedRetriever
from ragsweep.retrieval.fusion import WeightedSum, is_weighted
from ragsweep.retrieval.kinds import Fusion, Method, Ranker, Thresholded, Trace
from ragsweep.retrieval.ranking import Ranking, Search
from ragsweep.retrieval.ranking_checks import expect_ranker
from ragsweep.retrieval.stages import rank
from ragsweep.store.component import expect_kind


@dataclass(frozen=True)
class HybridRetriever(Thresholded):
    """Ranks passages by `alpha * minmax(dense) + (1 - alpha) * minmax(sparse)`, or by another fusion.

    Attributes:
        dense: Gives the dense candidates.
        sparse: Gives the sparse candidates.
        alpha: 1 returns the dense ranking as it is, 0 the sparse one. In between, alpha and 1 - alpha are the weights
            of a fusion that takes weights: a dataclass with the field `weights`.
        candidates: How many candidates of each retriever are fused; None takes the scores of the whole corpus.
        fusion: Makes one ranking of both.
        score_threshold: Of the fused score, or of the dense or sparse one where alpha is 1 or 0.
    """

    at_least: ClassVar[Mapping[str, str]] = {"candidates": "k"}

    dense: Ranker
    sparse: Ranker
    alpha: Annotated[float, Between(0, 1)] = 0.7
    candidates: Annotated[int, Between(1)] | None = 100
    fusion: Fusion = field(default_factory=WeightedSum)

    def __post_init__(self) -> None:
        expect_ranker(self.dense, "retriever.dense")
        expect_ranker(self.sparse, "retriever.sparse")
        expect_kind(self.fusion, Fusion, "retriever.fusion")
        fusion: Any = self.fusion
        if is_weighted(fusion) and fusion.weights is not None:
            problem = f"found {[*fusion.weights]}, expected null"
            raise ConfigError(f"fusion.weights: {problem}, as alpha gives the weights of a hybrid")

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect at this alpha, or with this fusion."""
        if self.alpha in (0, 1):
            return ("sparse" if self.alpha == 1 else "dense", "candidates", "fusion")
        return () if is_weighted(self.fusion) else ("alpha",)

    @property
    def method(self) -> Method:
        """For reports: what the only ranker that is used says of itself, or a hybrid."""
        name, stands_for = f"hybrid, alpha {self.alpha:g}", {"alpha": self.alpha}
        if self.alpha not in (0, 1):
            return Method(name, stands_for=stands_for) if is_weighted(self.fusion) else Method("hybrid")
        [(name, ranker)] = self.parts().items()
        return replace(ranker.method, name=f"pure {ranker.role or name}, alpha {self.alpha:g}", stands_for=stands_for)

    def rank(self, search: Search, depth: int) -> Ranking:
        """Rank the passages for every query, at most `depth` of them."""
        return rank(self._ranker, search, depth)

    def parts(self) -> Mapping[str, Ranker]:
        """The rankers that are used at this alpha."""
        return {**({"dense": self.dense} if self.alpha else {}), **({"sparse": self.sparse} if self.alpha < 1 else {})}

    def trace(self, search: Search, query: int) -> Trace:
        """How a query got its ranking."""
        return self._ranker.trace(search, query)

    @property
    def _ranker(self) -> Ranker:
        """What ranks at this alpha."""
        if self.alpha in (0, 1):
            return self.dense if self.alpha else self.sparse
        fusion: Any = self.fusion
        if is_weighted(fusion):
            fusion = replace(fusion, weights=(self.alpha, 1 - self.alpha))
        return FusedRetriever({"dense": self.dense, "sparse": self.sparse}, fusion, self.candidates)
