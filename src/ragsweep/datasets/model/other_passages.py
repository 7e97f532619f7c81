"""The questions and judgments of a dataset that a system was asked, with the passages that it has returned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from ragsweep.core.arrays import Indices
from ragsweep.datasets.model.collection import Judgment
from ragsweep.datasets.model.dataset import Dataset, Passage, Qrels
from ragsweep.datasets.model.numbered_words import LEAST_HELD
from ragsweep.datasets.model.span_judgments import relevant_passages


@dataclass(frozen=True)
class ReturnedDataset(Dataset):
    """A dataset whose passages are those that came back; what else could have come back is not known."""

    @cached_property
    def found_units(self) -> Indices:
        """Positions of all units: any of them may be retrieved for another query."""
        return np.arange(len(self.units))

    def coverage(self, relevance_level: int = 1) -> float:
        """NaN, as it is not known."""
        return float("nan")


def only_asked(dataset: Dataset, asked: Sequence[int]) -> Dataset:
    """A dataset with the judgments of the queries that a system was asked; the others that have some are left out.

    Args:
        dataset: The dataset.
        asked: Positions of the queries.
    """
    kept = np.isin(dataset.qrels.query, np.array(asked, dtype=np.int64))
    if kept.all():
        return dataset
    ids = {dataset.queries[row].query_id for row in asked}
    others = [dataset.queries[row].query_id for row in np.unique(dataset.qrels.query[~kept]).tolist()]
    return replace(
        dataset,
        qrels=Qrels(*(column[kept] for column in vars(dataset.qrels).values())),
        references=tuple(each for each in dataset.references if each.query_id in ids),
        left_out=dataset.left_out._replace(unselected=(*dataset.left_out.unselected, *others)),
    )


def with_passages(
    dataset: Dataset,
    passages: Sequence[Passage],
    units: Sequence[Sequence[str]],
    fuzzy_threshold: float = LEAST_HELD,
) -> ReturnedDataset:
    """A dataset with other passages.

    Args:
        dataset: The dataset.
        passages: The passages.
        units: The units of each passage, at least one; they need not be known.
        fuzzy_threshold: As of `relevant_passages`.
    """
    positions = {unit: position for position, unit in enumerate(dataset.units)}
    for of_passage in units:
        for unit in of_passage:
            positions.setdefault(unit, len(positions))
    further = [(row, positions[unit]) for row, of_passage in enumerate(units) for unit in of_passage[1:]]
    others = {each.name: vars(dataset)[each.name] for each in fields(Dataset)}
    own: dict[str, Any] = {
        "passages": tuple(passages),
        "units": tuple(positions),
        "passage_units": np.array([positions[of_passage[0]] for of_passage in units], dtype=np.int64),
        "further_units": np.array(further, dtype=np.int64).reshape(-1, 2),
    }
    if dataset.references and passages:
        judgments = relevant_passages(dataset.references, passages, fuzzy_threshold)
        own["qrels"] = _qrels(judgments, dataset, positions)
    return ReturnedDataset(**{**others, **own})


def _qrels(judgments: Sequence[Judgment], dataset: Dataset, positions: Mapping[str, int]) -> Qrels:
    rows = {query.query_id: row for row, query in enumerate(dataset.queries)}
    grades = {(rows[each.query_id], positions[each.unit]): each.grade for each in judgments}
    columns = np.array([(*key, grade) for key, grade in grades.items()], dtype=np.int64).reshape(-1, 3).T
    return Qrels(*columns)
