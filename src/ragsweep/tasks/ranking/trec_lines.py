"""Writes TREC files from which trec_eval computes the same numbers as ragsweep."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragsweep.core.arrays import NOTHING
from ragsweep.core.trec_files import NOTHING_RETRIEVED, identifier, strictly_falling
from ragsweep.datasets import Dataset
from ragsweep.retrieval import Ranking
from ragsweep.tasks.ranking.judging import Judged


def run_lines(judged: Judged, ranking: Ranking, dataset: Dataset, tag: str) -> Iterator[str]:
    """Lines `query Q0 unit rank score tag`.

    Later passages of the same unit are written as `unit@chunk_id`. These ids have no judgment, so they occupy a rank
    and earn nothing. Scores are strictly decreasing, even as the 32-bit numbers that trec_eval reads, because it sorts
    ties by id. Nine digits are enough to distinguish 32-bit numbers.

    Args:
        judged: The judged rankings.
        ranking: What they were judged from, for all queries.
        dataset: The dataset, for the names of queries, units and passages.
        tag: Name of the run, one word.
    """
    scores = np.take_along_axis(ranking.scores[judged.queries], judged.ranks, axis=1)
    passages = np.take_along_axis(ranking.passages[judged.queries], judged.ranks, axis=1)
    falling = strictly_falling(scores.astype(np.float32))
    units = [identifier(unit) for unit in dataset.units]
    for row, query in enumerate(judged.queries):
        query_id = identifier(dataset.queries[query].query_id)
        ranks = np.flatnonzero(judged.units[row] != NOTHING)
        if not len(ranks):  # without a line, trec_eval would leave the query out of its means
            yield f"{query_id} Q0 {NOTHING_RETRIEVED} 1 0.0 {tag}\n"
        columns = (judged.units[row], judged.repeated[row], passages[row], falling[row])
        for rank, unit, repeated, passage, score in zip(
            ranks.tolist(), *(column[ranks].tolist() for column in columns), strict=True
        ):
            later = f"@{identifier(dataset.passages[passage].chunk_id)}" if repeated else ""
            yield f"{query_id} Q0 {units[unit]}{later} {rank + 1} {score:.9g} {tag}\n"


def qrels_lines(dataset: Dataset) -> Iterator[str]:
    """Lines `query 0 unit grade`."""
    for row, unit, grade in zip(dataset.qrels.query, dataset.qrels.unit, dataset.qrels.grade, strict=True):
        yield f"{identifier(dataset.queries[row].query_id)} 0 {identifier(dataset.units[unit])} {grade}\n"
