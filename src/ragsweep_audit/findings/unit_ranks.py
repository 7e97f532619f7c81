"""The ranks of judged units, and of the units beside them, in a ranking of all units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import Indices
from ragsweep.datasets.model.dataset import Dataset
from ragsweep.tasks.ranking.coverage import relevant

Ranks = npt.NDArray[np.int32]


@dataclass(frozen=True)
class UnitRanks:
    """The rank of some units for some queries, from 0.

    Attributes:
        queries: Positions of the queries in `Dataset.queries`, ascending, shape [queries].
        units: Positions of the units in `Dataset.units`, ascending, shape [units].
        ranks: How many units have a higher score for the query, shape [queries, units].
    """

    queries: Indices
    units: Indices
    ranks: Ranks

    def of(self, queries: Indices, units: Indices) -> Ranks:
        """The rank of a unit for a query, for pairs of both that are ranked, shape [pairs]."""
        found: Ranks = self.ranks[np.searchsorted(self.queries, queries), np.searchsorted(self.units, units)]
        return found

    def relevant(self, dataset: Dataset, level: int) -> tuple[Indices, Indices]:
        """Query and unit of each judgment of a ranked query with at least this grade."""
        query, unit = relevant(dataset, level)
        ranked = np.isin(query, self.queries)
        return query[ranked], unit[ranked]


def best_per_query(values: npt.NDArray[np.int32], row: Indices, rows: int, worst: int) -> Ranks:
    """The lowest rank in each row, or `worst` in a row without one.

    Args:
        values: Ranks, shape [judgments].
        row: Row of each, same shape.
        rows: Number of rows.
        worst: The rank of a row without judgments.
    """
    best = np.full(rows, worst, dtype=np.int32)
    np.minimum.at(best, row, values)
    return best
