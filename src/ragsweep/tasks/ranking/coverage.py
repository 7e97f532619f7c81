"""What can be found and what is measured of a dataset."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragsweep.core.arrays import Indices
from ragsweep.core.errors import DatasetError
from ragsweep.core.terminal import named
from ragsweep.datasets.model.dataset import Dataset
from ragsweep.statistics.intervals import Array

BUT_GRADED = ", except in NDCG which counts every grade above 0"


def relevant(dataset: Dataset, level: int) -> tuple[Indices, Indices]:
    """Query and unit of each judgment with at least this grade, each of shape [judgments]."""
    chosen = dataset.qrels.grade >= level
    return dataset.qrels.query[chosen], dataset.qrels.unit[chosen]


def without_relevant(dataset: Dataset, level: int) -> list[int]:
    """Positions of the judged queries without a unit of at least this grade.

    Raises:
        DatasetError: No query has such a unit.
    """
    found, _ = relevant(dataset, level)
    if not len(found):
        raise DatasetError(
            f"{dataset.name}: nothing is relevant: found no grade above {dataset.qrels.grade.max()}, "
            f"expected some of at least {level} (evaluation.relevance_level)"
        )
    return sorted({*dataset.qrels.query.tolist()} - {*found.tolist()})


def unanswerable(dataset: Dataset) -> Indices:
    """Positions of the queries that the documents are known not to answer, in ascending order."""
    return np.flatnonzero([not query.answerable for query in dataset.queries])


def absent_units(dataset: Dataset, level: int) -> list[str]:
    """The units of at least this grade that have no passage."""
    absent = sorted(set(relevant(dataset, level)[1].tolist()) - set(dataset.found_units.tolist()))
    return [dataset.units[unit] for unit in absent]


def findable(dataset: Dataset, level: int) -> tuple[Indices, Array]:
    """The queries with a relevant unit, and the share of their relevant units with a passage, each [queries]."""
    query, unit = relevant(dataset, level)
    queries, row = np.unique(query, return_inverse=True)
    shares: Array = np.bincount(row, np.isin(unit, dataset.found_units), len(queries)) / np.bincount(row)
    return queries, shares


def but_graded(dataset: Dataset, rows: Sequence[int]) -> str:
    """What follows "score 0" of queries without a relevant unit, where some have grades above 0."""
    graded = dataset.qrels.query[dataset.qrels.grade > 0]
    return BUT_GRADED if np.isin(rows, graded).any() else ""


def about_left_out(dataset: Dataset, asked: int) -> tuple[str, str, str] | None:
    """How many questions a setting leaves out, what that does to the numbers, and what to do; None if none are.

    Args:
        dataset: The dataset.
        asked: Number of the questions that are measured.
    """
    found = dataset.left_out
    if not found.number:
        return None
    parts = [f"measured: {found.of_all(asked)}"]
    faulty = tuple(each.text for each in found.faulty)
    if faulty:
        parts.append(f"left out by dataset.on_error=skip: {len(faulty):,}{named(faulty, '; ')}")
    if found.unselected:
        parts.append(f"not selected by dataset.ids: {len(found.unselected):,}")
    return (
        f"Questions {', '.join(parts)}.",
        "Those that are left out count in no number.",
        "Compare only with numbers of the same questions.",
    )
