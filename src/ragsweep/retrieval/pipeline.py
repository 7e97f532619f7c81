"""Retrieval in stages: queries are rewritten, passages are ranked for them, and the first ones are ranked anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from ragsweep.core.code import name_of
from ragsweep.core.constraints import Between
from ragsweep.retrieval.checks import expect_method
from ragsweep.retrieval.ranking import Ranker, Ranking, Reranker, Rewriter, Search
from ragsweep.retrieval.stages import check_search, rank, rerank, rewrite, total_ms
from ragsweep.retrieval.trace import Trace, trace, within


@dataclass(frozen=True)
class PipelineRetriever:
    """Ranks passages in stages. A reranker sees the queries as they were asked, not as they were rewritten.

    Attributes:
        ranker: Ranks the passages of the corpus.
        rewriter: Changes the queries first; None leaves them as they are.
        reranker: Orders the first passages anew; None leaves them as they are.
        candidates: How many passages the reranker gets, and so the most that are retrieved; None takes all.
    """

    ranker: Ranker
    rewriter: Rewriter | None = None
    reranker: Reranker | None = None
    candidates: Annotated[int, Between(1)] | None = 100

    def __post_init__(self) -> None:
        expect_method(self.ranker, "rank", "ranker")
        if self.rewriter is not None:
            expect_method(self.rewriter, "rewrite", "rewriter")
        if self.reranker is not None:
            expect_method(self.reranker, "rerank", "reranker")

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect without a reranker."""
        return () if self.reranker is not None else ("candidates",)

    @property
    def at_least(self) -> Mapping[str, str]:
        """Settings that must not be smaller than another one."""
        return {"candidates": "k"}

    def rank(self, search: Search, depth: int) -> Ranking:
        """Rank the passages for every query, at most `depth` of them."""
        ranking = self._first(search, depth)
        return rerank(self.reranker, search, ranking, depth) if self.reranker is not None else ranking

    def check(self, search: Search) -> None:
        """Let the ranker refuse what it cannot search."""
        check_search(self.ranker, search)

    def trace(self, search: Search, query: int) -> Trace:
        """How a query got its ranking."""
        searched = self._rewritten(search)
        inner = trace(self.ranker, searched, query)
        stages = within("ranker", inner.stages, self.ranker)
        if self.rewriter is not None:
            inner = replace(inner, searched=searched.queries[query])
            stages = within("rewriter", {}, self.rewriter) | stages
        if self.reranker is None:
            return replace(inner, stages=stages)
        kind = name_of(self.reranker)
        parts = {**inner.parts, "ranker": self._first(search, 1).row(query)}
        words = inner.words and inner.words._replace(stage=inner.words.stage or "ranker")
        formula = getattr(self.reranker, "formula", f"by {kind}, of the first {self.candidates} of ranker")
        return replace(inner, stages={**stages, "reranker": kind}, parts=parts, formula=formula, words=words)

    def _rewritten(self, search: Search) -> Search:
        if self.rewriter is None:
            return search
        return replace(search, queries=rewrite(self.rewriter, search.queries).queries)

    def _first(self, search: Search, depth: int) -> Ranking:
        """The ranking before it is reranked."""
        if self.reranker is not None:
            depth = self.candidates or len(search.passages)
        if self.rewriter is None:
            return rank(self.ranker, search, depth)
        queries, latency_ms = rewrite(self.rewriter, search.queries)
        ranking = rank(self.ranker, replace(search, queries=queries), depth)
        return replace(ranking, latency_ms=total_ms([latency_ms, ranking.latency_ms]))
