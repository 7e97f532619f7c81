"""Retrieval in stages: queries are rewritten, passages are ranked for them, and the first ones are reranked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between
from ragsweep.core.timing import UNTIMED
from ragsweep.retrieval.ranking import Expander, Expansion, Ranker, Ranking, Reranker, Rewriter, Search, Thresholded
from ragsweep.retrieval.ranking_checks import expect_method, expect_ranker
from ragsweep.retrieval.silence import Silence, silences_of
from ragsweep.retrieval.stage_capabilities import (
    ChoosesCandidates,
    FusesSearches,
    LooksAhead,
    StatesFormula,
)
from ragsweep.retrieval.stages import (
    check_search,
    details_of,
    expand,
    fuse,
    rank,
    rerank,
    sections_of,
    total_ms,
)
from ragsweep.retrieval.trace import Trace, trace, within
from ragsweep.store.code import name_of

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
    rewriter: Rewriter | None = None
    reranker: Reranker | None = None
    candidates: Annotated[int, Between(1)] | None = 100
    dynamic_k: Reranker | None = None

    def __post_init__(self) -> None:
        expect_ranker(self.ranker, "ranker")
        if self.rewriter is not None and not isinstance(self.rewriter, Expander):
            expect_method(self.rewriter, "rewrite", "rewriter", "queries")
        for name, stage in (("reranker", self.reranker), ("dynamic_k", self.dynamic_k)):
            if stage is not None:
                expect_method(stage, "rerank", name, "search", "ranking", "depth")

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect without a reranker, or with one that has its own."""
        return ("candidates",) if self.reranker is None or isinstance(self.reranker, ChoosesCandidates) else ()

    def rank(self, search: Search, depth: int) -> Ranking:
        """Rank the passages for every query, at most `depth` of them."""
        seen = max(depth, (self.dynamic_k.most or 0) + 1) if isinstance(self.dynamic_k, LooksAhead) else depth
        ranking = self._first(search, seen)
        for stage, most in ((self.reranker, seen), (self.dynamic_k, depth)):
            ranking = rerank(stage, search, ranking, most) if stage is not None else ranking
        return ranking

    def check(self, search: Search) -> None:
        """Let the ranker refuse what it cannot search."""
        check_search(self.ranker, search)

    def details(self, search: Search) -> Mapping[str, Sequence[str]]:
        """What was searched for instead of each query, and what the ranker says of each query."""
        if self.rewriter is None:
            return details_of(self.ranker, search)
        expansion = self.expanded(search)
        searched = [JOINED.join(texts) for texts in zip(*(each.queries for each in expansion.searches), strict=True)]
        changes = {"query_change": expansion.changes} if any(expansion.changes) else {}
        return {**details_of(self.ranker, expansion.searches[0]), "searched": searched, **changes}

    def sections(self, search: Search) -> Mapping[str, Sequence[str]]:
        """What the ranker says in the report."""
        return sections_of(self.ranker, self.expanded(search).searches[0])

    def silences(self, search: Search) -> Sequence[Silence | None]:
        """Why the ranker finds nothing for a query, by none of the texts that are searched for instead."""
        of_searches = [silences_of(self.ranker, each) for each in self.expanded(search).searches]
        return [
            found[0] and found[0].within("ranker") if all(found) else None for found in zip(*of_searches, strict=True)
        ]

    def trace(self, search: Search, query: int) -> Trace:
        """How a query got its ranking."""
        expansion = self.expanded(search)
        first, *others = expansion.searches
        inner = trace(self.ranker, first, query)
        stages = within("ranker", inner.stages, self.ranker)
        if self.rewriter is not None:
            searched = JOINED.join(each.queries[query] for each in expansion.searches)
            inner = replace(inner, searched=searched, change=expansion.changes[query])
            stages = within("rewriter", {}, self.rewriter) | stages
        if others:
            rankings = (rank(self.ranker, each, self._depth(search, 1)).row(query) for each in expansion.searches)
            inner = replace(inner, parts={f"search {number}": each for number, each in enumerate(rankings, start=1)})
        parts, formula, words = inner.parts, inner.formula, inner.words
        if self.reranker is not None:
            kind = name_of(self.reranker)
            parts = {**parts, "ranker": self._first(search, 1).row(query)}
            words = words and words._replace(stage=words.stage or "ranker")
            formula = f"by {kind}, of the first {self._depth(search, 1)} of ranker"
            if isinstance(self.reranker, StatesFormula):
                formula = self.reranker.formula
            stages["reranker"] = kind
        if self.dynamic_k is not None:
            stages["dynamic_k"] = name_of(self.dynamic_k)
        return replace(inner, stages=stages, parts=parts, formula=formula, words=words)

    def expanded(self, search: Search) -> Expansion:
        """What is searched for instead of the queries."""
        if self.rewriter is None:
            return Expansion((search,), UNTIMED, ("",) * len(search.queries))
        return expand(self.rewriter, search, self.ranker)

    def _depth(self, search: Search, depth: int) -> int:
        """How many passages the first ranking has."""
        if self.reranker is None:
            return depth
        chooses = self.reranker if isinstance(self.reranker, ChoosesCandidates) else self
        return chooses.candidates or len(search.passages)

    def _first(self, search: Search, depth: int) -> Ranking:
        """The ranking before it is reranked."""
        depth = self._depth(search, depth)
        if self.rewriter is None:
            return rank(self.ranker, search, depth)
        searches, latency_ms, _ = expand(self.rewriter, search, self.ranker)
        rankings = [rank(self.ranker, each, depth) for each in searches]
        ranking = rankings[0]
        if len(rankings) > 1:
            if not isinstance(self.rewriter, FusesSearches):
                raise ConfigError(f"rewriter: {name_of(self.rewriter)} makes several searches and has no fusion")
            ranking = fuse(self.rewriter.fusion, rankings, search, depth)
        return replace(ranking, latency_ms=total_ms([latency_ms, ranking.latency_ms]))
