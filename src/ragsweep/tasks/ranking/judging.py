"""Turns rankings into gains: the grade that each rank earns by the judgments of its query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.tasks.ranking.spans.spans import Spans

Collapse = Literal["after_cutoff", "before_cutoff"]
Gains = npt.NDArray[np.float64]
Hits = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Judged:
    """The judged ranking of every query that has judgments.

    Attributes:
        queries: Positions of these queries among all queries, shape [queries].
        units: The unit at each rank, shape [queries, depth]. `NOTHING` if nothing was retrieved at this rank.
        ranks: The rank, from 0, of this unit in the ranking of the retriever, shape [queries, depth].
        repeated: Whether the same unit is at an earlier rank, shape [queries, depth].
        gains: Grade at each rank, shape [queries, depth]. 0 if not relevant, not judged, or repeated.
        hits: Whether the gain reaches the relevance level, shape [queries, depth].
        relevant: How many relevant units each query has (R), shape [queries].
        relevance_level: The lowest grade that counts as relevant.
        ideal: Grades of each query's judged units, best first, shape [queries, most judged units of a query].
        spans: The references of the queries; None unless a metric asks for them.
    """

    queries: Indices
    units: Indices
    ranks: Indices
    repeated: Hits
    gains: Gains
    hits: Hits
    relevant: Indices
    relevance_level: int
    ideal: Gains
    spans: Spans | None = None

    def rows(self, rows: Indices) -> Judged:
        """The judged rankings of some of the queries, of judgments without spans."""
        assert self.spans is None
        return replace(
            self,
            queries=self.queries[rows],
            units=self.units[rows],
            ranks=self.ranks[rows],
            repeated=self.repeated[rows],
            gains=self.gains[rows],
            hits=self.hits[rows],
            relevant=self.relevant[rows],
            ideal=self.ideal[rows],
        )


def judge(
    ranked_units: Indices,
    judged_query: Indices,
    judged_unit: Indices,
    grade: Indices,
    *,
    collapse: Collapse = "after_cutoff",
    relevance_level: int = 1,
) -> Judged:
    """Assign a grade to every rank. A unit earns credit once, at its first passage.

    Args:
        ranked_units: Unit of the passage at each rank, shape [all queries, depth]. `NOTHING` if there is none.
        judged_query: Position of the query of each judgment, shape [judgments].
        judged_unit: Unit of each judgment, shape [judgments].
        grade: Grade of each judgment, shape [judgments].
        collapse: `after_cutoff` keeps repeated units at their ranks, so they count towards the cutoff. `before_cutoff`
            drops them, so the cutoff counts distinct units (the usual MaxP ranking).
        relevance_level: Lowest grade that counts as relevant (trec_eval's `-l`).

    Returns:
        The judged rankings of the queries that have at least one judgment, in the order of the queries.
    """
    queries, row = np.unique(judged_query, return_inverse=True)
    units = ranked_units[queries]
    depth = units.shape[1]
    # Sort the units of each query, with the rank in the low bits, so that the first rank of a unit comes first.
    bits = max(1, depth - 1).bit_length()
    packed = np.sort((units << bits) | np.arange(depth), axis=1)
    sorted_units, sorted_ranks = packed >> bits, packed & ((1 << bits) - 1)
    gains = _gains(sorted_units, sorted_ranks, row, judged_unit, grade)
    repeated = _repeated(sorted_units, sorted_ranks)
    ranks = np.broadcast_to(np.arange(depth), units.shape)
    if collapse == "before_cutoff":
        ranks = np.argsort(repeated, axis=1, kind="stable")  # first passages come first, in their order
        units = np.take_along_axis(np.where(repeated, NOTHING, units), ranks, axis=1)
        gains = np.take_along_axis(gains, ranks, axis=1)
        repeated = np.zeros_like(repeated)
    relevant = np.bincount(row, weights=grade >= relevance_level, minlength=len(queries))
    return Judged(
        queries=queries,
        units=units,
        ranks=ranks,
        repeated=repeated,
        gains=gains,
        hits=gains >= relevance_level,
        relevant=relevant.astype(np.int64),
        relevance_level=relevance_level,
        ideal=_ideal(row, grade, len(queries)),
    )


def _repeated(units: Indices, ranks: Indices) -> Hits:
    """Whether the unit of each rank is at an earlier rank too. Arguments as in `_gains`, result of the same shape."""
    repeated = np.zeros(units.shape, dtype=bool)
    row, place = np.nonzero((units[:, 1:] == units[:, :-1]) & (units[:, 1:] != NOTHING))
    repeated[row, ranks[row, place + 1]] = True
    return repeated


def _gains(units: Indices, ranks: Indices, row: Indices, judged_unit: Indices, grade: Indices) -> Gains:
    """The grade at the first rank of each judged unit and 0 elsewhere, shape [queries, depth].

    Args:
        units: The units of each query in ascending order, equal units by rank, shape [queries, depth].
        ranks: Ranks of these units, same shape.
        row: Row of the query of each judgment, shape [judgments].
        judged_unit: Unit of each judgment.
        grade: Grade of each judgment.
    """
    gains = np.zeros(units.shape)
    if not units.size:
        return gains
    width = max(units.max(), judged_unit.max()) + 2  # leaves room for NOTHING
    keys = (units + width * np.arange(len(units))[:, None]).ravel()
    wanted = judged_unit + width * row
    place = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
    is_ranked = keys[place] == wanted
    gains[row[is_ranked], ranks.ravel()[place[is_ranked]]] = grade[is_ranked].clip(min=0)
    return gains


def _ideal(row: Indices, grade: Indices, rows: int) -> Gains:
    """The grades of each query in descending order, padded with 0."""
    order = np.lexsort((-grade, row))
    counts = np.bincount(row, minlength=rows)
    rank = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    ideal = np.zeros((rows, counts.max(initial=0)))
    ideal[row[order], rank] = grade[order].clip(min=0)
    return ideal
