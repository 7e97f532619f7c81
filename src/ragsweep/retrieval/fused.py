"""Fuses the rankings of several rankers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between
from ragsweep.retrieval.fusion import WeightedSum
from ragsweep.retrieval.kinds import Fusion, Ranker, Thresholded, Trace, within
from ragsweep.retrieval.ranking import Ranking, Search, with_others, without_unranked
from ragsweep.retrieval.ranking_checks import expect_ranker
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
            expect_ranker(ranker, f"rankers.{name}")
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
        complete = {name: with_others(ranking, count) for name, ranking in rankings.items()}
        return {name: without_unranked(ranking, search.unranked, count) for name, ranking in complete.items()}

    def trace(self, search: Search, query: int) -> Trace:
        """How a query got its ranking."""
        inner = {name: ranker.trace(search, query) for name, ranker in self.used.items()}
        stages = [within(name, inner[name].stages, ranker) for name, ranker in self.used.items()]
        first = next(((name, trace.words) for name, trace in inner.items() if trace.words), None)
        return Trace(
            stages={name: kind for stages_of_ranker in stages for name, kind in stages_of_ranker.items()}
            | within("fusion", {}, self.fusion),
            parts={name: ranking.row(query) for name, ranking in self.candidates_of(search).items()},
            formula=self.fusion.formula(list(self.used)),
            normalisation=self.fusion.normalisation,
            words=first and first[1]._replace(stage=".".join(filter(None, (first[0], first[1].stage)))),
        )
