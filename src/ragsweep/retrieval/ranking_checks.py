"""Checks what retrievers, indexes and encoders return, before it is measured, fused or stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import NOTHING, Indices, Milliseconds, Scores
from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.models.encoders.encoder import Encoder
from ragsweep.retrieval.kinds import Ranker
from ragsweep.retrieval.ranking import STAGES, Ranking, Search
from ragsweep.retrieval.results import Answers, ExternalRetriever, Result
from ragsweep.store.code import kind_of
from ragsweep.store.component import expect_kind

LARGEST_SCORE = 1e30  # of a score: TREC files have 32-bit numbers, and fusing takes differences


def checked_ranker(thing: object, setting: str) -> Ranker:
    """The object of a setting; raises `ConfigError` if it is no ranker."""
    if isinstance(thing, ExternalRetriever):
        raise ConfigError(
            f"{setting}: {kind_of(thing)} has passages of its own, so it stands alone: choose it as retriever"
        )
    expect_kind(thing, Ranker, setting)
    assert isinstance(thing, Ranker)
    return thing


def check_encoder(encoder: Encoder) -> None:
    """Raise `ConfigError` if the object of a setting `encoder` is no encoder, `EncoderError` if it lacks its files."""
    expect_kind(encoder, Encoder, "encoder")
    fingerprint: object = encoder.fingerprint
    if not isinstance(fingerprint, str):
        kind = type(fingerprint).__name__
        raise ConfigError(f"encoder: {kind_of(encoder)}.fingerprint is a {kind}, expected a property with text")


def checked_ranking(ranking: object, search: Search, depth: int, name: str) -> Ranking:
    """The ranking that a class returned for a search, checked, with its arrays as int64 and float64.

    Raises:
        RetrieverError: It is not a ranking, or deeper than was asked for: names the class, the first entry that is
            wrong and what it should be.
    """
    if not isinstance(ranking, Ranking):
        raise RetrieverError(f"{name}: returned {type(ranking).__name__}, expected a Ranking")
    passages: Indices = _array(ranking.passages, "int64", f"{name}: passages")
    scores: Scores = _array(ranking.scores, "float64", f"{name}: scores")
    queries = len(search.queries)
    if passages.ndim != 2 or len(passages) != queries or not 1 <= passages.shape[1] <= depth:
        expected = f"[{queries} queries, 1 to {depth} passages]"
        raise RetrieverError(f"{name}: passages: found shape {[*passages.shape]}, expected {expected}")
    if scores.shape != passages.shape:
        expected = f"that of passages, {[*passages.shape]}"
        raise RetrieverError(f"{name}: scores: found shape {[*scores.shape]}, expected {expected}")
    for field, wrong, expected in _faults(passages, scores, len(search.passages)):
        if wrong.any():
            query, rank = _first(wrong)
            passage, score = passages[query, rank], scores[query, rank]
            value = passage if field == "passages" else f"{score} of passage {passage}"
            place = f"{field}[{query}, {rank}] (query {query}, rank {rank + 1})"
            raise RetrieverError(f"{name}: {place}: found {value}{expected}")
    latency_ms = _times(ranking.latency_ms, (queries,), f"{name}: latency_ms")
    recall = _array(ranking.recall_of_exact, "float64", f"{name}: recall_of_exact")
    if recall.shape not in ((0,), (queries,)) or not ((recall >= 0) & (recall <= 1)).all():
        raise RetrieverError(f"{name}: recall_of_exact: expected none or {queries} numbers from 0 to 1")
    index_bytes: Indices = _array(ranking.index_bytes, "int64", f"{name}: index_bytes")
    if index_bytes.shape not in ((0,), (1,)) or (index_bytes < 0).any():
        raise RetrieverError(f"{name}: index_bytes: expected none or one number of at least 0")
    floor: Scores = _array(ranking.floor, "float64", f"{name}: floor")
    if floor.shape not in ((0,), (queries,)) or not (np.abs(floor) <= LARGEST_SCORE).all():
        raise RetrieverError(
            f"{name}: floor: expected none or {queries} numbers from {-LARGEST_SCORE:g} to {LARGEST_SCORE:g}"
        )
    stages_ms = _times(ranking.stages_ms, (len(STAGES), queries), f"{name}: stages_ms")
    return Ranking(passages, scores, latency_ms, recall, index_bytes, floor, stages_ms)


def check_within(reranked: Ranking, ranking: Ranking, name: str) -> None:
    """Raise `RetrieverError` if a reranker returned a passage that it was not handed for that query."""
    rows = np.arange(len(ranking.passages))[:, np.newaxis] * (max(reranked.passages.max(), ranking.passages.max()) + 2)
    strange = (reranked.passages != NOTHING) & ~np.isin(reranked.passages + rows, ranking.passages + rows)
    if strange.any():
        query, rank = _first(strange)
        place = f"passages[{query}, {rank}] (query {query}, rank {rank + 1})"
        problem = f"found {reranked.passages[query, rank]}, expected one of the passages to rerank"
        raise RetrieverError(f"{name}: {place}: {problem}")


def checked_answers(answers: object, queries: int, name: str) -> Answers:
    """The answers that a system returned, checked: they must be those of this many queries.

    Raises:
        RetrieverError: They have another form: names the class, the first entry that is wrong and what it should be.
    """
    if not isinstance(answers, Answers):
        raise RetrieverError(f"{name}: returned {type(answers).__name__}, expected Answers")
    by_query: object = answers.results
    if not isinstance(by_query, Sequence):
        raise RetrieverError(f"{name}: results: found {type(by_query).__name__}, expected a sequence for each query")
    if len(by_query) != queries:
        raise RetrieverError(f"{name}: results: found those of {len(by_query)} queries, expected those of {queries}")
    for query, results in enumerate(by_query):
        if not isinstance(results, Sequence | None):
            kind = type(results).__name__
            raise RetrieverError(f"{name}: results[{query}]: found {kind}, expected a sequence of Result, or None")
        for rank, result in enumerate(results or ()):
            if flaw := _flaw_of_result(result):
                place = f"[{query}][{rank}] (query {query}, rank {rank + 1})"
                raise RetrieverError(f"{name}: results{place}: {flaw}")
    latency: object = answers.latency_ms
    times = np.empty(0) if isinstance(latency, Sequence) and not latency else latency
    return answers._replace(latency_ms=_times(times, (queries,), f"{name}: latency_ms"))


def _flaw_of_result(result: object) -> str | None:
    if not isinstance(result, Result):
        return f"found {type(result).__name__}, expected a Result"
    texts = (result.source, result.page, result.text)
    if not isinstance(result.ids, tuple) or not all(isinstance(text, str) for text in (*result.ids, *texts)):
        return f"found {result!r:.200}, expected ids as a tuple, and ids, source, page and text as strings"
    if not isinstance(result.score, Real | None):
        return f"found the score {result.score!r}, expected a number or None"
    return None


def _times(value: object, shape: tuple[int, ...], place: str) -> Milliseconds:
    """The times of this shape, or none."""
    times: Milliseconds = _array(value, "float64", place)
    known_times = times[~np.isnan(times)]
    if times.shape not in ((0,), shape) or not (np.isfinite(known_times) & (known_times >= 0)).all():
        expected = f"expected none, or shape {[*shape]} with numbers of at least 0, NaN where one is not known"
        raise RetrieverError(f"{place}: found shape {[*times.shape]}, {expected}")
    return times


def _array(value: object, kind: str, place: str) -> npt.NDArray[Any]:
    """The value as an array of this type; raises if it is not an array, or its type does not fit."""
    wanted = np.dtype(kind)
    if not isinstance(value, np.ndarray) or isinstance(value, np.ma.MaskedArray):
        raise RetrieverError(f"{place}: found {type(value).__name__}, expected an array of {kind}")
    if value.dtype.kind != wanted.kind or value.dtype.itemsize > wanted.itemsize:
        raise RetrieverError(f"{place}: found an array of {value.dtype}, expected {kind}")
    return np.asarray(value).astype(wanted, copy=False)


def _faults(passages: Indices, scores: Scores, corpus: int) -> Iterator[tuple[str, npt.NDArray[np.bool_], str]]:
    """The rules of a ranking: of which array, where it is broken, and what was expected."""
    retrieved = passages != NOTHING
    out_of_range = (passages < NOTHING) | (passages >= corpus)
    yield "passages", out_of_range, f", expected 0 to {corpus - 1}, or {NOTHING} for nothing"
    hole = np.pad(~retrieved[:, :-1] & retrieved[:, 1:], ((0, 0), (0, 1)))
    yield "passages", hole, f", expected {NOTHING} behind the last passage only"
    order = np.argsort(passages, axis=1, kind="stable")
    ordered, again = np.take_along_axis(passages, order, axis=1), np.zeros(passages.shape, dtype=bool)
    repeated = _after((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != NOTHING))
    np.put_along_axis(again, order, repeated, axis=1)
    yield "passages", again, " again, expected a passage once per query"
    in_range = np.abs(scores) <= LARGEST_SCORE  # False for NaN
    expected = f", expected a number from {-LARGEST_SCORE:g} to {LARGEST_SCORE:g}"
    yield "scores", retrieved & ~in_range, expected
    yield "scores", ~retrieved & (scores != -np.inf), ", expected -inf where there is no passage"
    yield "scores", _after(scores[:, 1:] > scores[:, :-1]), ", expected scores in descending order"
    tied = retrieved[:, 1:] & (scores[:, 1:] == scores[:, :-1])
    expected = ", expected passages of equal scores in corpus order (ragsweep.retrieval.ranked orders them)"
    yield "scores", _after(tied & (passages[:, 1:] < passages[:, :-1])), expected


def _after(wrong: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Marks the later rank of each wrong pair."""
    return np.pad(wrong, ((0, 0), (1, 0)))


def _first(wrong: npt.NDArray[np.bool_]) -> tuple[int, int]:
    """Query and rank of the first wrong entry."""
    query, rank = divmod(int(wrong.argmax()), wrong.shape[1])
    return query, rank
