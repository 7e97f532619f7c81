"""From a ranking to gains: which rank earned what, by the judgments of each query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Collapse = Literal["after_cutoff", "before_cutoff"]
Gains = npt.NDArray[np.float64]
Hits = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]

NOTHING = -1  # at the ranks behind the last unit that was retrieved


@dataclass(frozen=True)
class Judged:
    """The judged ranking of every query that has judgments.

    Attributes:
        queries: Their positions among all queries, shape [queries].
        units: The unit at each rank, shape [queries, depth]; `NOTHING` where nothing was retrieved.
        ranks: The rank, from 0, that it had in the retriever's ranking, shape [queries, depth].
        repeated: Whether an earlier rank holds the same unit, shape [queries, depth].
        gains: Grade by rank, shape [queries, depth]; 0 where not relevant, not judged, or repeated.
        hits: Whether the gain reaches the relevance level, shape [queries, depth].
        relevant: How many relevant units each query has (R), shape [queries].
        relevance_level: The lowest grade that counts as relevant.
        ideal: Grades of each query's judged units, best first, shape [queries, most judged units of a query].
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


def judge(
    ranked_units: Indices,
    judged_query: Indices,
    judged_unit: Indices,
    grade: Indices,
    *,
    collapse: Collapse = "after_cutoff",
    relevance_level: int = 1,
) -> Judged:
    """Give every rank its grade; a unit earns credit once, at its first passage.

    Args:
        ranked_units: Unit of the passage at each rank, shape [all queries, depth]; `NOTHING` where there is none.
        judged_query: Position of the query of each judgment, shape [judgments].
        judged_unit: Its unit, shape [judgments].
        grade: Its grade, shape [judgments].
        collapse: `after_cutoff` leaves repeated units at their ranks, where they use up the cutoff; `before_cutoff`
            drops them, so that a cutoff counts distinct units (the usual MaxP ranking).
        relevance_level: Lowest grade that counts as relevant (trec_eval's `-l`).

    Returns:
        The judged rankings of the queries that have at least one judgment, in their order.
    """
    queries, row = np.unique(judged_query, return_inverse=True)
    units = ranked_units[queries]
    depth = units.shape[1]
    # Per query, its units in ascending order with their ranks in the low bits: a unit's first rank comes first.
    bits = max(1, depth - 1).bit_length()
    packed = np.sort((units << bits) | np.arange(depth), axis=1)
    in_order, their_ranks = packed >> bits, packed & ((1 << bits) - 1)
    gains = _gains(in_order, their_ranks, row, judged_unit, grade)
    repeated = _repeated(in_order, their_ranks)
    ranks = np.broadcast_to(np.arange(depth), units.shape)
    if collapse == "before_cutoff":
        ranks = np.argsort(repeated, axis=1, kind="stable")  # first passages to the front, in their order
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
    """Whether each rank's unit stands at an earlier rank of its query; arguments as of `_gains`, shape alike."""
    repeated = np.zeros(units.shape, dtype=bool)
    row, place = np.nonzero((units[:, 1:] == units[:, :-1]) & (units[:, 1:] != NOTHING))
    repeated[row, ranks[row, place + 1]] = True
    return repeated


def _gains(units: Indices, ranks: Indices, row: Indices, judged_unit: Indices, grade: Indices) -> Gains:
    """The grade at the first rank of each judged unit, shape [queries, depth]; 0 elsewhere.

    Args:
        units: Per query, its units in ascending order, those of equal units by rank, shape [queries, depth].
        ranks: Their ranks, same shape.
        row: Position in `units` of the query of each judgment, shape [judgments].
        judged_unit: Its unit.
        grade: Its grade.
    """
    gains = np.zeros(units.shape)
    if not units.size:
        return gains
    width = max(units.max(), judged_unit.max()) + 2  # leaves room for NOTHING
    keys = (units + width * np.arange(len(units))[:, None]).ravel()
    wanted = judged_unit + width * row
    place = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
    found = keys[place] == wanted
    gains[row[found], ranks.ravel()[place[found]]] = grade[found].clip(min=0)
    return gains


def _ideal(row: Indices, grade: Indices, rows: int) -> Gains:
    """Every query's grades in descending order, padded with 0."""
    order = np.lexsort((-grade, row))
    counts = np.bincount(row, minlength=rows)
    rank = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    ideal = np.zeros((rows, counts.max(initial=0)))
    ideal[row[order], rank] = grade[order].clip(min=0)
    return ideal
