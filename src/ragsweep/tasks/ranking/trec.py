"""TREC files, from which trec_eval gets the numbers that we report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from ragsweep.datasets import Dataset
from ragsweep.tasks.ranking.judging import NOTHING, Judged

SAFE = "/#:,@()[]+=&~"  # left readable in an identifier; white space separates columns and must go


def run_lines(
    judged: Judged,
    passages: npt.NDArray[np.int64],
    scores: npt.NDArray[np.float64],
    dataset: Dataset,
    tag: str,
) -> Iterator[str]:
    """Lines `query Q0 unit rank score tag`.

    A later passage of a unit is written as `unit@chunk_id`, which nobody judged: it takes its rank and earns nothing.
    Scores fall strictly, also as the 32-bit numbers that trec_eval reads, since it would order ties by identifier; nine
    digits tell such numbers apart.

    Args:
        judged: The judged rankings.
        passages: Passages in the retriever's order, shape [all queries, depth].
        scores: Their scores, shape [all queries, depth].
        dataset: Names queries, units and passages.
        tag: Name of the run, one word.
    """
    scores = np.take_along_axis(scores[judged.queries], judged.ranks, axis=1)
    passages = np.take_along_axis(passages[judged.queries], judged.ranks, axis=1)
    falling = strictly_falling(scores)
    units = [_identifier(unit) for unit in dataset.units]
    for row, query in enumerate(judged.queries):
        query_id = _identifier(dataset.queries[query].query_id)
        ranks = np.flatnonzero(judged.units[row] != NOTHING)
        if not len(ranks):  # else trec_eval would leave the query out of its means
            yield f"{query_id} Q0 nothing-retrieved 1 0.0 {tag}\n"
        columns = (judged.units[row], judged.repeated[row], passages[row], falling[row])
        for rank, unit, repeated, passage, score in zip(
            ranks.tolist(), *(column[ranks].tolist() for column in columns), strict=True
        ):
            later = f"@{_identifier(dataset.passages[passage].chunk_id)}" if repeated else ""
            yield f"{query_id} Q0 {units[unit]}{later} {rank + 1} {score:.9g} {tag}\n"


def qrels_lines(dataset: Dataset) -> Iterator[str]:
    """Lines `query 0 unit grade`."""
    for row, unit, grade in zip(dataset.qrels.query, dataset.qrels.unit, dataset.qrels.grade, strict=True):
        yield f"{_identifier(dataset.queries[row].query_id)} 0 {_identifier(dataset.units[unit])} {grade}\n"


def strictly_falling(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """The scores as 32-bit numbers, each lowered as little as makes it smaller than the one before it."""
    falling = scores.astype(np.float32)
    for rank in range(1, falling.shape[1]):
        below = np.nextafter(falling[:, rank - 1], np.float32(-np.inf))
        falling[:, rank] = np.minimum(falling[:, rank], below)
    return falling


@lru_cache(maxsize=100_000)  # the runs of a sweep mostly name the same
def _identifier(text: str) -> str:
    return re.sub("^#", "%23", quote(text, safe=SAFE))  # in some readers, # at the start of a line opens a comment
