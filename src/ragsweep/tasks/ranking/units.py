"""Which unit each passage of a ranking stands for."""

from __future__ import annotations

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.datasets import Dataset


def units_of_ranking(passages: Indices, dataset: Dataset) -> Indices:
    """The unit that the passage at each rank stands for.

    A passage of a single unit stands for that. A passage of several pages can have several units, but a rank holds only
    one. So the passage stands for its unit with the best grade for the query, among those of a grade above 0 that no
    earlier passage stands for; of equal grades, for the first page. If there is none, it stands for its first page that
    no earlier passage stands for, and else for its first page. So no unit earns credit twice, and a passage earns no
    more than one unit does, even if it has two relevant pages.

    Args:
        passages: Position of the passage at each rank, shape [queries, depth]. `NOTHING` if there is none.
        dataset: The passages with their units, and the judgments.

    Returns:
        Position of a unit in `dataset.units` at each rank, `NOTHING` where there is no passage; same shape.
    """
    units, is_passage = np.full_like(passages, NOTHING), passages != NOTHING
    units[is_passage] = dataset.passage_units[passages[is_passage]]  # of no passages, where nothing was found
    if not len(dataset.further_units):
        return units
    candidates = _candidates(dataset)  # padded with NOTHING
    grades = _Grades(dataset)
    several = (candidates[:, 1] != NOTHING)[passages] & (passages != NOTHING)
    for rank in np.flatnonzero(several.any(axis=0)).tolist():  # by rank, since each depends on those before
        rows = np.flatnonzero(several[:, rank])
        options = candidates[passages[rows, rank]]
        taken = (options[:, :, None] == units[rows, None, :rank]).any(axis=2)
        # of most worth: an untaken unit by its grade, then an untaken page, then the first page, which argmax takes
        worth = np.where(taken, 0, 1 + grades.of(rows, options))
        worth[options == NOTHING] = -1
        units[rows, rank] = np.take_along_axis(options, worth.argmax(axis=1)[:, None], axis=1)[:, 0]
    return units


def _candidates(dataset: Dataset) -> Indices:
    """The units of each passage in the order of its pages, shape [passages, most units of a passage]."""
    passage, unit = dataset.further_units.T
    place = np.arange(len(passage)) - np.searchsorted(passage, passage) + 1
    candidates = np.full((len(dataset.passages), place.max() + 1), NOTHING, dtype=np.int64)
    candidates[:, 0] = dataset.passage_units
    candidates[passage, place] = unit
    return candidates


class _Grades:
    """Finds the grades of units for queries."""

    def __init__(self, dataset: Dataset) -> None:
        qrels = dataset.qrels
        self._width = len(dataset.units) + 1  # leaves room for NOTHING
        keys = qrels.query * self._width + qrels.unit
        order = np.argsort(keys)
        self._keys, self._grades = keys[order], qrels.grade[order].clip(min=0)

    def of(self, rows: Indices, units: Indices) -> Indices:
        """The grade of each unit for the query of its row, shape of `units`; 0 if it is not judged, or below 0."""
        if not len(self._keys):
            return np.zeros_like(units)
        wanted = rows[:, None] * self._width + units
        place = np.searchsorted(self._keys, wanted).clip(max=len(self._keys) - 1)
        return np.where(self._keys[place] == wanted, self._grades[place], 0)
