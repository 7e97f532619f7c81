"""A ranking, and what is searched."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import NOTHING, Indices, Milliseconds, Scores, StageTimes
from ragsweep.core.digest import digest, digest_texts
from ragsweep.core.timing import UNTIMED

STAGES = ("rewrite", "route", "encode", "search", "fuse", "rerank")  # whose times are told apart


@dataclass(frozen=True)
class Ranking:
    """The best passages of every query, best first. Equal scores are in corpus order.

    Attributes:
        passages: Position in the corpus, shape [queries, depth]; `NOTHING` after the last one retrieved.
        scores: Their scores, shape [queries, depth]; -inf where there is no passage.
        latency_ms: What each query costs on its own, shape [queries]; NaN where that is not known, empty if it is not
            known of any.
        stages_ms: How much of that each of `STAGES` takes, shape [stages, queries]; empty if the search takes all.
        recall_of_exact: Share of the passages of exact search that an approximate index found, shape [queries]; empty
            if the search was exact.
        index_bytes: Bytes of everything that a search reads besides the queries, shape [1]; empty if not known.
        floor: The score of the passages that cannot be retrieved at any depth, such as 0 of those without a word of
            the query, shape [queries]; empty if there are none or it is not known.
    """

    passages: Indices
    scores: Scores
    latency_ms: Milliseconds = field(default_factory=lambda: UNTIMED)
    recall_of_exact: npt.NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    index_bytes: Indices = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    floor: Scores = field(default_factory=lambda: np.empty(0))
    stages_ms: StageTimes = field(default_factory=lambda: UNTIMED)

    @property
    def by_stage(self) -> StageTimes:
        """What each of `STAGES` takes, shape [stages, queries]; empty if not timed."""
        return self.stages_ms if len(self.stages_ms) else in_stage("search", self.latency_ms)

    def costing(self, *parts: StageTimes) -> Ranking:
        """The ranking with the sum of these times by stage; without times if a part was not timed."""
        stages = np.sum(parts, axis=0) if all(map(len, parts)) else UNTIMED
        return replace(self, latency_ms=stages.sum(axis=0) if len(stages) else UNTIMED, stages_ms=stages)

    def rows(self, queries: Indices) -> Ranking:
        """The ranking of some queries."""
        of_queries = ("passages", "scores", "latency_ms", "recall_of_exact", "floor")
        arrays = {name: getattr(self, name) for name in of_queries}
        rows = {name: array[queries] if len(array) else array for name, array in arrays.items()}
        return replace(self, **rows, stages_ms=self.stages_ms[..., queries] if len(self.stages_ms) else UNTIMED)

    def row(self, query: int) -> Ranking:
        """The ranking of one query alone."""
        return self.rows(np.array([query]))


def in_stage(stage: str, ms: Milliseconds) -> StageTimes:
    """Times of one of `STAGES` as times of all, shape [stages, queries]; empty if it was not timed."""
    return np.where(np.array(STAGES)[:, np.newaxis] == stage, ms, 0.0) if len(ms) else UNTIMED


class Names(NamedTuple):
    """What a dataset calls its queries and passages.

    Attributes:
        queries: The ids of the queries, shape [queries].
        passages: The ids of the passages, shape [passages].
        units: What is judged of each passage: its page or document, or the passage itself, shape [passages].
        documents: The document of each passage, shape [passages].
        without_passage: Units that are known, but cannot be retrieved, for example because they have no text.
        several_units: Whether a passage has several units, such as pages, of which `units` has the first.
    """

    queries: tuple[str, ...]
    passages: tuple[str, ...]
    units: tuple[str, ...]
    documents: tuple[str, ...]
    without_passage: frozenset[str] = frozenset()
    several_units: bool = False


@dataclass(frozen=True)
class Search:
    """What is searched, and for what. It leads to no relevance judgments.

    Attributes:
        passages: The texts of the corpus, as they are indexed.
        queries: The texts of the queries.
        names: Their names; None if they have none, and for a stage with a `store`, which keeps by texts what it makes.
            A ranker that `finds_by_name` gets them always, and is never kept.
        unranked: Passages that are left out of the ranking of a query, as a benchmark has it: rows of query and
            passage, shape [pairs, 2]. `stages.rank` takes them out of what any ranker returns.
        own: The passages themselves, where something else is indexed; None if that is `passages`.
    """

    passages: tuple[str, ...]
    queries: tuple[str, ...]
    names: Names | None = field(default=None, compare=False, repr=False)
    unranked: Indices = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64), compare=False, repr=False)
    own: tuple[str, ...] | None = field(default=None, repr=False)

    @cached_property
    def of_own_texts(self) -> Search:
        """The same search in the passages themselves, as a reranker gets it."""
        return self if self.own is None else replace(self, passages=self.own, own=None)

    @cached_property
    def digest(self) -> str:
        """Names this corpus and these queries in the store."""
        unranked = [["unranked", self.unranked.tolist()]] if len(self.unranked) else []
        own = [["own", digest_texts(self.own)]] if self.own is not None else []
        return digest([digest_texts(self.passages), digest_texts(self.queries), *unranked, *own])

    def rows(self, queries: Indices) -> Search:
        """The same corpus, searched for some of the queries, in their order."""
        texts, names = tuple(self.queries[row] for row in queries), self.names
        names = names and names._replace(queries=tuple(names.queries[row] for row in queries))
        unranked = self.unranked[np.isin(self.unranked[:, 0], queries)]
        unranked = np.column_stack([np.searchsorted(queries, unranked[:, 0]), unranked[:, 1]])
        return Search(self.passages, texts, names, unranked, self.own)

    def row(self, query: int) -> Search:
        """The same corpus, searched for one query alone."""
        return self.rows(np.array([query]))


class TextsRead(NamedTuple):
    """What a model gets to read.

    Attributes:
        search: The texts.
        queries: Positions of those queries that it reads.
        passages: Positions of those passages that it reads.
        ranked: The passages in the ranking of each of all queries that count, shape [queries, depth].
    """

    search: Search
    queries: Indices
    passages: Indices
    ranked: Indices


def ranked(
    passages: Indices, scores: npt.NDArray[np.float32] | Scores, depth: int, latency_ms: Milliseconds = UNTIMED
) -> Ranking:
    """Order candidates by score, then corpus order, and cut at `depth`.

    Args:
        passages: Candidates in any order, shape [queries, candidates]; `NOTHING` for an empty place.
        scores: Their scores, same shape.
        depth: Ranks to keep.
        latency_ms: As in `Ranking`.
    """
    values = np.where(passages == NOTHING, -np.inf, scores.astype(np.float64))
    by_corpus = np.argsort(passages, axis=1, kind="stable")
    passages = np.take_along_axis(passages, by_corpus, axis=1)
    values = np.take_along_axis(values, by_corpus, axis=1)
    best = np.argsort(-values, axis=1, kind="stable")[:, :depth]
    return Ranking(np.take_along_axis(passages, best, axis=1), np.take_along_axis(values, best, axis=1), latency_ms)


def reaching(ranking: Ranking, threshold: float | None) -> Ranking:
    """The ranking without the passages whose score is below a threshold; as it is if that is None."""
    if threshold is None:
        return ranking
    low = ranking.scores < threshold
    passages, scores = np.where(low, NOTHING, ranking.passages), np.where(low, -np.inf, ranking.scores)
    return replace(ranking, passages=passages, scores=scores, floor=np.empty(0))


def without_unranked(ranking: Ranking, unranked: Indices, depth: int) -> Ranking:
    """The first `depth` ranks after these passages are taken out; later passages move up.

    Args:
        ranking: Goes deeper than `depth` by as many passages as a query can lose.
        unranked: As of `Search`; the ranking is returned as it is if there are none.
        depth: Ranks to keep.
    """
    if not len(unranked):
        return ranking
    most = int(max(unranked[:, 1].max(), ranking.passages.max())) + 1
    rows = np.arange(len(ranking.passages))[:, np.newaxis] * most
    out = (ranking.passages == NOTHING) | np.isin(ranking.passages + rows, unranked @ (most, 1))
    kept = np.argsort(out, axis=1, kind="stable")[:, :depth]
    passages, scores = np.where(out, NOTHING, ranking.passages), np.where(out, -np.inf, ranking.scores)
    return replace(
        ranking, passages=np.take_along_axis(passages, kept, axis=1), scores=np.take_along_axis(scores, kept, axis=1)
    )


def first_of(ranking: Ranking, lengths: Indices, depth: int) -> Ranking:
    """The first passages of every query: so many as `lengths` says, shape [queries], and at most `depth`."""
    passages, scores = ranking.passages[:, :depth], ranking.scores[:, :depth]
    stays = np.arange(passages.shape[1]) < lengths[:, np.newaxis]
    return Ranking(np.where(stays, passages, NOTHING), np.where(stays, scores, -np.inf))


def with_floor(ranking: Ranking, passages: int) -> Ranking:
    """The ranking of all passages of a corpus: those that it lacks have the score `floor`.

    Args:
        ranking: At the depth of the corpus; returned as it is if the floor is not known.
        passages: How many there are.
    """
    if not len(ranking.floor):
        return ranking
    scores = np.repeat(ranking.floor[:, np.newaxis], passages, axis=1)
    query, rank = np.nonzero(ranking.passages != NOTHING)
    scores[query, ranking.passages[query, rank]] = ranking.scores[query, rank]
    everything = ranked(np.broadcast_to(np.arange(passages), scores.shape), scores, passages)
    return replace(ranking, passages=everything.passages, scores=everything.scores, floor=np.empty(0))


def searching(passages: Sized, queries: Sized) -> str:
    """The label of a search that may take long."""
    return f"searching {len(passages):,} passages for {len(queries):,} queries"
