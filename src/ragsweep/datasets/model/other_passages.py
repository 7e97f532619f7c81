"""The questions and judgments of a dataset that a system was asked, with the passages that it has returned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ragsweep.datasets.model.dataset import Dataset, Passage, Qrels
from ragsweep.datasets.model.span_judgments import relevant_passages
from ragsweep.datasets.model.word_positions import LEAST_HELD


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
    unselected = [dataset.queries[row].query_id for row in np.unique(dataset.qrels.query[~kept]).tolist()]
    return replace(
        dataset,
        qrels=Qrels(*(column[kept] for column in vars(dataset.qrels).values())),
        references=tuple(reference for reference in dataset.references if reference.query_id in ids),
        left_out=dataset.left_out._replace(unselected=(*dataset.left_out.unselected, *unselected)),
    )


def with_passages(
    dataset: Dataset,
    passages: Sequence[Passage],
    units: Sequence[Sequence[str]],
    fuzzy_threshold: float = LEAST_HELD,
) -> Dataset:
    """A dataset with the passages that a system has returned.

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
    qrels = dataset.qrels
    if dataset.references and passages:
        judgments = relevant_passages(dataset.references, passages, fuzzy_threshold)
        qrels = Qrels.of(judgments, dataset.queries, positions)
    return replace(
        dataset,
        passages=tuple(passages),
        units=tuple(positions),
        passage_units=np.array([positions[of_passage[0]] for of_passage in units], dtype=np.int64),
        further_units=np.array(further, dtype=np.int64).reshape(-1, 2),
        qrels=qrels,
        is_returned=True,
    )
