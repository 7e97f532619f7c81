"""Fuses the rankings of several rankers, such as the dense and the sparse one of a hybrid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between
from ragsweep.retrieval.fusion import WeightedSum, is_weighted
from ragsweep.retrieval.kinds import Fusion, Method, Ranker, Thresholded, Trace, within
from ragsweep.retrieval.ranking import Ranking, Search, with_floor, without_unranked
from ragsweep.retrieval.ranking_checks import checked_ranker
from ragsweep.retrieval.stages import fuse, rank
from ragsweep.store.component import expect_kind


@dataclass(frozen=True)
class FusedRetriever(Thresholded):
    """Ranks passages by what several rankers say of them.

    Attributes:
        rankers: By names of your choice; None leaves one out.
        fusion: Makes one ranking of theirs.
        candidates: How many passages of each ranker are fused; None takes the whole corpus. A fusion by scores then
            gets the scores of all passages, also those that a ranker does not retrieve because they score 0.
    """

    at_least: ClassVar[Mapping[str, str]] = {"candidates": "k"}

    rankers: Mapping[str, Ranker | None]
    fusion: Fusion = field(default_factory=WeightedSum)
    candidates: Annotated[int, Between(1)] | None = 100

    def __post_init__(self) -> None:
        if not self.used:
            raise ConfigError("rankers: found none, expected at least one")
        for name, ranker in self.used.items():
            checked_ranker(ranker, f"rankers.{name}")
        expect_kind(self.fusion, Fusion, "fusion")
        weights = self.fusion.weights
        if weights is not None and len(weights) != len(self.used):
            expected = f"expected one for each of the {len(self.used)} rankers"
            raise ConfigError(f"fusion.weights: found {len(weights)}, {expected}")

    @property
    def used(self) -> Mapping[str, Ranker]:
        """The rankers that are not left out."""
        return {name: ranker for name, ranker in self.rankers.items() if ranker is not None}

    def rank(self, search: Search, depth: int) -> Ranking:
        """Rank the passages for every query, at most `depth` of them."""
        return fuse(self.fusion, [*self.candidates_of(search).values()], search, depth)

    def parts(self) -> Mapping[str, Ranker]:
        """The rankers that are not left out."""
        return {f"rankers.{name}": ranker for name, ranker in self.used.items()}

    def candidates_of(self, search: Search) -> Mapping[str, Ranking]:
        """The candidates of each ranker."""
        count = len(search.passages)
        rankings = {name: rank(ranker, search, self.candidates or count) for name, ranker in self.used.items()}
        if self.candidates or self.fusion.by_rank:
            return rankings
        complete = {name: with_floor(ranking, count) for name, ranking in rankings.items()}
        return {name: without_unranked(ranking, search.unranked, count) for name, ranking in complete.items()}

    def trace(self, search: Search, query: int) -> Trace:
        """How a query got its ranking."""
        inner = {name: ranker.trace(search, query) for name, ranker in self.used.items()}
        stages = [within(name, inner[name].stages, ranker) for name, ranker in self.used.items()]
        first = next(((name, trace.words) for name, trace in inner.items() if trace.words), None)
        return Trace(
            stages={name: kind for of_part in stages for name, kind in of_part.items()}
            | within("fusion", {}, self.fusion),
            parts={name: ranking.row(query) for name, ranking in self.candidates_of(search).items()},
            formula=self.fusion.formula(list(self.used)),
            normalisation=self.fusion.normalisation,
            words=first and first[1]._replace(stage=".".join(filter(None, (first[0], first[1].stage)))),
        )


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
        checked_ranker(self.dense, "retriever.dense")
        checked_ranker(self.sparse, "retriever.sparse")
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
