"""Runs the stages of a pipeline. What a stage returns is checked, and kept if the stage has a `store`.

Rankers time themselves; rewriters, fusions and rerankers are timed here, apart from rerankers that return a
`latency_ms`: one that keeps what it computes would seem to cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import NamedTuple, TypeVar

import numpy as np

from ragsweep.core.arrays import Indices, Milliseconds
from ragsweep.core.digest import digest_texts
from ragsweep.core.errors import RetrieverError, Terminated
from ragsweep.core.timing import timed, with_note, without_note
from ragsweep.retrieval.kinds import Expander, Expansion, Fusion, Ranker, Reranker, Rewriter
from ragsweep.retrieval.ranking import Ranking, Search, in_stage, reaching, without_unranked
from ragsweep.retrieval.ranking_checks import check_within, checked_ranking
from ragsweep.store.code import kind_of
from ragsweep.store.identity import identity
from ragsweep.store.stage_store import Arrays, Store, packed, unpacked

T = TypeVar("T")


class Rewritten(NamedTuple):
    """Queries as they are searched for, and what rewriting each of them costs on its own, each of shape [queries]."""

    queries: tuple[str, ...]
    latency_ms: Milliseconds


def rank(ranker: Ranker, search: Search, depth: int) -> Ranking:
    """Rank the passages for every query, without those that the search leaves out.

    Raises:
        RetrieverError: What the ranker returned is not a ranking of this search.
        RuntimeError: The ranker called `sys.exit`.
    """
    if ranker.score_threshold is not None:  # all thresholds share what is kept
        return reaching(rank(ranker.without_threshold(), search, depth), ranker.score_threshold)
    name, deeper = kind_of(ranker), depth + int(np.bincount(search.unranked[:, 0]).max(initial=0))

    searched = _searched(ranker, search)

    def build() -> Arrays:
        return with_note(
            lambda: vars(checked_ranking(_call(ranker, lambda: ranker.rank(searched, deeper)), search, deeper, name))
        )

    kept = _kept(ranker, [search.digest, deeper], build)
    ranking = checked_ranking(Ranking(**kept), search, deeper, name)
    return without_unranked(ranking, search.unranked, depth)


def rewrite(rewriter: Rewriter, queries: Sequence[str]) -> Rewritten:
    """Rewrite queries, or raise `RetrieverError` if that does not give one text for each."""

    def build() -> Arrays:
        texts = _call(rewriter, lambda: rewriter.rewrite(queries))
        if not isinstance(texts, list | tuple) or len(texts) != len(queries):
            returned = f"{len(texts)} texts" if isinstance(texts, list | tuple) else type(texts).__name__
            raise RetrieverError(f"{kind_of(rewriter)}: returned {returned}, expected a list of {len(queries)} texts")
        wrong = next((row for row, text in enumerate(texts) if not isinstance(text, str)), None)
        if wrong is not None:
            returned = type(texts[wrong]).__name__
            raise RetrieverError(f"{kind_of(rewriter)}: returned {returned} for query {wrong}, expected a string")
        try:
            kept = packed(texts)
        except UnicodeEncodeError as error:
            raise RetrieverError(f"{kind_of(rewriter)}: returned a string with an invalid surrogate") from error
        times = with_note(lambda: {"ms": timed(lambda row: rewriter.rewrite([queries[row]]), len(queries))})
        return {**kept, **times}

    kept = _kept(rewriter, [digest_texts(queries)], build)
    return Rewritten(tuple(unpacked(kept)), kept["ms"])


def expand(rewriter: Rewriter | Expander, search: Search, ranker: Ranker) -> Expansion:
    """What is searched for instead of the queries; raise `RetrieverError` if that is not the same corpus."""
    if isinstance(rewriter, Rewriter):
        queries, latency_ms = rewrite(rewriter, search.queries)
        return Expansion((replace(search, queries=queries),), latency_ms, ("",) * len(queries))
    expander = rewriter
    expansion = _call(expander, lambda: expander.expand(search, ranker))
    if not isinstance(expansion, Expansion) or not expansion.searches:
        raise RetrieverError(f"{kind_of(expander)}: returned {type(expansion).__name__}, expected an Expansion")
    for variant in expansion.searches:
        if variant.passages != search.passages or len(variant.queries) != len(search.queries):
            expected = f"{len(search.queries)} queries and the same passages"
            number = len(variant.queries)
            raise RetrieverError(f"{kind_of(expander)}: returned a search of {number}, expected {expected}")
    if len(expansion.changes) != len(search.queries):
        problem = f"found {len(expansion.changes)}, expected {len(search.queries)} texts"
        raise RetrieverError(f"{kind_of(expander)}: changes: {problem}")
    return expansion


def fuse(fusion: Fusion, rankings: Sequence[Ranking], search: Search, depth: int) -> Ranking:
    """Make one ranking of several of the same search. It costs what they cost and the fusion, if all are timed."""
    most = sum(ranking.passages.shape[1] for ranking in rankings)
    fused = checked_ranking(_call(fusion, lambda: fusion.fuse(rankings)), search, most, kind_of(fusion))
    ms = timed(lambda row: fusion.fuse([ranking.row(row) for ranking in rankings]), len(search.queries))
    recalls = [ranking.recall_of_exact for ranking in rankings if len(ranking.recall_of_exact)]
    ranking = Ranking(
        fused.passages[:, :depth],
        fused.scores[:, :depth],
        recall_of_exact=np.mean(recalls, axis=0) if recalls else np.empty(0),
        index_bytes=total_bytes(rankings),
    )
    return ranking.costing(*(ranking.by_stage for ranking in rankings), in_stage("fuse", ms))


def rerank(reranker: Reranker, search: Search, ranking: Ranking, depth: int) -> Ranking:
    """Rerank the first passages of a ranking by their own texts; what it costs is added to what the ranking cost."""
    name, search = kind_of(reranker), _searched(reranker, search.of_own_texts)

    def reranked() -> Arrays:
        given = Ranking(ranking.passages.copy(), ranking.scores.copy())  # it may change them, or return them
        new = checked_ranking(_call(reranker, lambda: reranker.rerank(search, given, depth)), search, depth, name)
        check_within(new, ranking, name)
        ms = new.latency_ms
        if not len(ms):
            ms = timed(lambda row: reranker.rerank(search.row(row), ranking.row(row), depth), len(search.queries))
        return {"passages": new.passages, "scores": new.scores, "ms": ms}

    candidates = sha256(ranking.passages.tobytes() + ranking.scores.tobytes()).hexdigest()
    inputs = [search.digest, candidates, ranking.passages.shape[1], depth]
    kept = _kept(reranker, inputs, lambda: with_note(reranked))
    stored = checked_ranking(Ranking(kept["passages"], kept["scores"]), search, depth, name)
    stored = replace(stored, recall_of_exact=ranking.recall_of_exact, index_bytes=ranking.index_bytes)
    return stored.costing(ranking.by_stage, in_stage("rerank", kept["ms"]))


def total_bytes(rankings: Sequence[Ranking]) -> Indices:
    """Bytes of all indexes, shape [1]; empty if one of them is not known."""
    sizes = [ranking.index_bytes for ranking in rankings]
    return np.sum(sizes, axis=0) if all(map(len, sizes)) else np.empty(0, dtype=np.int64)


def _kept(stage: object, inputs: list[object], build: Callable[[], Arrays]) -> Arrays:
    """The arrays that a stage computes from these inputs, taken from its store if it has them."""
    store, name = store_of(stage), type(stage).__name__.removesuffix("Retriever").lower() or "retriever"
    return without_note(store.get(name, [identity(stage), *inputs], build) if store and store.enabled else build())


def _searched(stage: Ranker | Reranker, search: Search) -> Search:
    """The search as a stage gets it: without names if its results are stored, as their key has no names."""
    return search if store_of(stage) is None else replace(search, names=None)


def store_of(stage: object) -> Store | None:
    """The store of a stage; None if it has none, or finds by name."""
    store = None if getattr(stage, "finds_by_name", False) else getattr(stage, "store", None)
    return store if isinstance(store, Store) else None


def _call(stage: object, call: Callable[[], T]) -> T:
    try:
        return call()
    except Terminated:
        raise
    except SystemExit as error:  # ending the process is not for a stage to decide
        raise RuntimeError(f"{kind_of(stage)} called sys.exit({error.code!r})") from error
