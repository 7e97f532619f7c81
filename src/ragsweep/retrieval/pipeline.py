"""Retrieval in stages: queries are rewritten, passages are ranked for them, and the first ones are reranked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from ragsweep.core.arrays import NOTHING
from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between
from ragsweep.core.timing import UNTIMED
from ragsweep.retrieval.kinds import (
    Expander,
    Expansion,
    Ranker,
    Reranker,
    Rewriter,
    Thresholded,
    Trace,
    within,
)
from ragsweep.retrieval.ranking import Ranking, Search, TextsRead, in_stage
from ragsweep.retrieval.ranking_checks import checked_ranker
from ragsweep.retrieval.stages import expand, fuse, rank, rerank
from ragsweep.store.code import name_of
from ragsweep.store.component import expect_kind

JOINED = " | "  # between the texts that are searched for instead of one query


@dataclass(frozen=True)
class PipelineRetriever(Thresholded):
    """Ranks passages in stages. A reranker sees the queries as they were asked, not as they were rewritten.

    Attributes:
        ranker: Ranks the passages of the corpus.
        rewriter: Changes the queries first, or expands them; None leaves them as they are.
        reranker: Reorders the first passages; None leaves their order.
        candidates: How many passages the reranker gets, unless it has a setting of this name; no more are retrieved.
            None takes all.
        dynamic_k: Drops the last passages of a ranking; None leaves them. It sees one more than its setting `most`.
        score_threshold: Of the score in the end.
    """

    at_least: ClassVar[Mapping[str, str]] = {"candidates": "k"}
    cuts: ClassVar[Sequence[str]] = ("score_threshold", "dynamic_k")

    ranker: Ranker
    rewriter: Rewriter | Expander | None = None
    reranker: Reranker | None = None
    candidates: Annotated[int, Between(1)] | None = 100
    dynamic_k: Reranker | None = None

    def __post_init__(self) -> None:
        checked_ranker(self.ranker, "ranker")
        if self.rewriter is not None:
            expect_kind(self.rewriter, (Rewriter, Expander), "rewriter")
        for name, stage in (("reranker", self.reranker), ("dynamic_k", self.dynamic_k)):
            if stage is not None:
                expect_kind(stage, Reranker, name)

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect without a reranker, or with one that has its own."""
        return ("candidates",) if self.reranker is None or self.reranker.candidates != 0 else ()

    def rank(self, search: Search, depth: int) -> Ranking:
        """Rank the passages for every query, at most `depth` of them."""
        deeper = max(depth, ((self.dynamic_k and self.dynamic_k.most) or 0) + 1)
        ranking = self._first(search, deeper)
        for stage, most in ((self.reranker, deeper), (self.dynamic_k, depth)):
            ranking = rerank(stage, search, ranking, most) if stage is not None else ranking
        return ranking

    def parts(self) -> Mapping[str, Ranker]:
        """The ranker."""
        return {"ranker": self.ranker}

    def check(self, search: Search) -> None:
        """Raise an error for a search that a stage cannot work with."""
        super().check(search)
        for stage in (self.reranker, self.dynamic_k):
            if stage is not None:
                stage.check(search)

    def details(self, search: Search) -> Mapping[str, Sequence[str]]:
        """What was searched for instead of each query, and what the ranker says of each query."""
        if self.rewriter is None:
            return super().details(search)
        expansion = self.expanded(search)
        texts = zip(*(variant.queries for variant in expansion.searches), strict=True)
        searched = [*map(JOINED.join, texts)]
        changes = {"query_change": expansion.changes} if any(expansion.changes) else {}
        return {**super().details(expansion.searches[0]), "searched": searched, **changes}

    def sections(self, search: Search) -> Mapping[str, Sequence[str]]:
        """What the ranker and the reranker say in the report."""
        of_reranker = self.reranker.sections() if self.reranker else {}
        return {**super().sections(self.expanded(search).searches[0]), **of_reranker}

    def trace(self, search: Search, query: int) -> Trace:
        """How a query got its ranking."""
        expansion = self.expanded(search)
        first, *further = expansion.searches
        inner = self.ranker.trace(first, query)
        stages = within("ranker", inner.stages, self.ranker)
        if self.rewriter is not None:
            searched = JOINED.join(variant.queries[query] for variant in expansion.searches)
            inner = replace(inner, searched=searched, change=expansion.changes[query])
            stages = within("rewriter", {}, self.rewriter) | stages
        if further:
            depth = self._depth(search, 1)
            rankings = (rank(self.ranker, variant, depth).row(query) for variant in expansion.searches)
            inner = replace(inner, parts={f"search {row}": ranking for row, ranking in enumerate(rankings, start=1)})
        parts, formula, words = inner.parts, inner.formula, inner.words
        if self.reranker is not None:
            kind = name_of(self.reranker)
            parts = {**parts, "ranker": self._first(search, 1).row(query)}
            words = words and words._replace(stage=words.stage or "ranker")
            formula = self.reranker.formula or f"by {kind}, of the first {self._depth(search, 1)} of ranker"
            stages["reranker"] = kind
        if self.dynamic_k is not None:
            stages["dynamic_k"] = name_of(self.dynamic_k)
        return replace(inner, stages=stages, parts=parts, formula=formula, words=words)

    def texts_of_parts(self, texts: TextsRead) -> Iterator[tuple[object, TextsRead]]:
        """The ranker gets the rewritten queries, the rerankers the first passages of the ranking."""
        for search in self.expanded(texts.search).searches:
            yield self.ranker, texts._replace(search=search)
        first = np.unique(texts.ranked[texts.ranked != NOTHING])
        yield (self.reranker, self.dynamic_k), texts._replace(search=texts.search.of_own_texts, passages=first)

    def expanded(self, search: Search) -> Expansion:
        """What is searched for instead of the queries."""
        if self.rewriter is None:
            return Expansion((search,), UNTIMED, ("",) * len(search.queries))
        return expand(self.rewriter, search, self.ranker)

    def _depth(self, search: Search, depth: int) -> int:
        """How many passages the first ranking has."""
        if self.reranker is None:
            return depth
        chosen = self.candidates if self.reranker.candidates == 0 else self.reranker.candidates
        return chosen or len(search.passages)

    def _first(self, search: Search, depth: int) -> Ranking:
        """The ranking before it is reranked."""
        depth = self._depth(search, depth)
        if self.rewriter is None:
            return rank(self.ranker, search, depth)
        searches, latency_ms, _, fusion = expand(self.rewriter, search, self.ranker)
        rankings = [rank(self.ranker, inner, depth) for inner in searches]
        ranking = rankings[0]
        if len(rankings) > 1:
            if fusion is None:
                raise ConfigError(f"rewriter: {name_of(self.rewriter)} makes several searches and has no fusion")
            ranking = fuse(fusion, rankings, search, depth)
        return ranking.costing(in_stage("rewrite", latency_ms), ranking.by_stage)
