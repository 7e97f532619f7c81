"""Fuses the rankings of several rankers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar

from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between
from ragsweep.retrieval.fusion import WeightedSum
from ragsweep.retrieval.normalising import NORMS
from ragsweep.retrieval.ranking import (
    Fusion,
    Ranker,
    Ranking,
    Search,
    Thresholded,
    with_others,
    without_unranked,
)
from ragsweep.retrieval.ranking_checks import expect_method, expect_ranker
from ragsweep.retrieval.silence import Silence, silences_of
from ragsweep.retrieval.stage_capabilities import FusesByRank, HasWeights, Normalises, WritesFormula
from ragsweep.retrieval.stages import check_search, fuse, rank
from ragsweep.retrieval.trace import Trace, trace, within


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
        expect_method(self.fusion, "fuse", "fusion", "rankings")
        weights = self.fusion.weights if isinstance(self.fusion, HasWeights) else None
        if weights is not None and len(weights) != len(self.used):
            expected = f"expected one for each of the {len(self.used)} rankers"
            raise ConfigError(f"fusion.weights: found {len(weights)}, {expected}")

    @property
    def used(self) -> Mapping[str, Ranker]:
        """The rankers that are not left out."""
        return {name: ranker for name, ranker in self.rankers.items() if ranker is not None}

    def rank(self, search: Search, depth: int) -> Ranking:
        """Rank the passages for every query, at most `depth` of them."""
        return fuse(self.fusion, [*self.parts(search).values()], search, depth)

    def check(self, search: Search) -> None:
        """Let each ranker refuse what it cannot search."""
        for ranker in self.used.values():
            check_search(ranker, search)

    def silences(self, search: Search) -> Sequence[Silence | None]:
        """Why a part finds nothing for a query: the first one that does not."""
        named = self.used.items()
        of_parts = [
            [each and each.within(f"rankers.{name}") for each in silences_of(ranker, search)] for name, ranker in named
        ]
        return [_first(found) for found in zip(*of_parts, strict=True)]

    def parts(self, search: Search) -> Mapping[str, Ranking]:
        """The candidates of each ranker."""
        count = len(search.passages)
        rankings = {name: rank(ranker, search, self.candidates or count) for name, ranker in self.used.items()}
        if self.candidates or (isinstance(self.fusion, FusesByRank) and self.fusion.by_rank):
            return rankings
        whole = {name: with_others(ranking, count) for name, ranking in rankings.items()}
        return {name: without_unranked(ranking, search.unranked, count) for name, ranking in whole.items()}

    def trace(self, search: Search, query: int) -> Trace:
        """How a query got its ranking."""
        inner = {name: trace(ranker, search, query) for name, ranker in self.used.items()}
        stages = [within(name, inner[name].stages, ranker) for name, ranker in self.used.items()]
        first = next(((name, each.words) for name, each in inner.items() if each.words), None)
        return Trace(
            stages={name: what for each in stages for name, what in each.items()} | within("fusion", {}, self.fusion),
            parts={name: ranking.row(query) for name, ranking in self.parts(search).items()},
            formula=self.fusion.formula(list(self.used)) if isinstance(self.fusion, WritesFormula) else "",
            normalisation=self.fusion.normalisation if isinstance(self.fusion, Normalises) else NORMS["minmax"],
            words=first and first[1]._replace(stage=".".join(filter(None, (first[0], first[1].stage)))),
        )


def _first(silences: Sequence[Silence | None]) -> Silence | None:
    """The first of the parts that find nothing, and whether no part finds anything."""
    first = next(filter(None, silences), None)
    return first and replace(first, whole=all(each is not None and each.whole for each in silences))
