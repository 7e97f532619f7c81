"""The ranks of judged units, and of the units beside them, in a ranking of all units."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import Indices
from ragsweep.core.timing import sample
from ragsweep.datasets.model.dataset import Dataset
from ragsweep.retrieval import SparseRetriever
from ragsweep.store.stage_store import Store
from ragsweep.tasks.ranking.coverage import relevant

ENGLISH: Literal["english"] = "english"  # stop words and stemmer of the ranks
MOST_AUDITED_QUERIES = 1000  # that are ranked for the audit, evenly spread
SCORES_AT_ONCE = 1 << 24
OFFSETS = (-2, -1, 1, 2)  # of the pages beside a judged one
NUMBERED = 5  # pages of a document with a printed number that fits
PRINTED = re.compile(r"(?:page\s+|-\s*)?(\d{1,4})(?:\s*-|\s+of\s+\d+)?", re.IGNORECASE)

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
        ranks: Ranks = self.ranks[np.searchsorted(self.queries, queries), np.searchsorted(self.units, units)]
        return ranks

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


def evenly_spread(queries: Indices) -> Indices:
    """At most `MOST_AUDITED_QUERIES` of them."""
    return queries[sample(len(queries), MOST_AUDITED_QUERIES)]


def sampled_part(queries: int) -> str:
    """The part of the queries in which a problem is looked for, as words; empty for all of them."""
    return f"in {MOST_AUDITED_QUERIES:,} of {queries:,} queries" if queries > MOST_AUDITED_QUERIES else ""


def unit_ranks(items: Dataset, relevance_level: int, store: Store) -> UnitRanks:
    """The ranks of the relevant units, and of the pages beside them, for at most `MOST_AUDITED_QUERIES` queries.

    BM25 of English stems; the score of a unit is that of its best passage.
    """
    query, unit = relevant(items, relevance_level)
    queries = evenly_spread(np.unique(query))
    judged = unit[np.isin(query, queries)]
    units = np.union1d(judged, neighbours(items, judged))
    passages, their_units = items.passages_with_units[np.argsort(items.passages_with_units[:, 1], kind="stable")].T
    retrievable, starts = np.unique(their_units, return_index=True)
    index = SparseRetriever(store, stop_words=ENGLISH, stemmer=ENGLISH).index(items.texts)
    ranks = np.empty((len(queries), len(units)), dtype=np.int32)
    step = max(1, SCORES_AT_ONCE // len(items.passages))
    for first in range(0, len(queries), step):
        block = slice(first, first + step)
        scores = np.zeros((len(queries[block]), len(items.units)))
        of_passages = index.scores([items.queries[row].text for row in queries[block]])
        scores[:, retrievable] = np.maximum.reduceat(of_passages[:, passages], starts, axis=1)
        for row, descending in enumerate(np.sort(-scores, axis=1)):
            ranks[first + row] = np.searchsorted(descending, -scores[row, units])
    return UnitRanks(queries, units, ranks)


def neighbours(dataset: Dataset, units: Indices) -> Indices:
    """The units, and those beside them by any offset that is tested; empty unless pages are judged."""
    if dataset.unit != "page":
        return np.empty(0, dtype=np.int64)
    printed = printed_offsets(dataset)
    offsets = {0, *OFFSETS, *printed.values(), *(-offset for offset in printed.values())}
    beside = np.concatenate([units + offset for offset in sorted(offsets)])
    return np.unique(beside[(beside >= 0) & (beside < len(dataset.units))])


def printed_offsets(dataset: Dataset) -> Mapping[str, int]:
    """By document: physical page (from 1) minus the number printed at the page's top or bottom, if it is not 0.

    Only documents in which at least `NUMBERED` pages and half of those with a number agree.
    """
    lines: dict[tuple[str, int], list[str]] = {}
    for passage in dataset.passages:
        lines.setdefault((passage.source, passage.page), []).extend(passage.text.strip().splitlines())
    offsets: dict[str, Counter[int]] = {}
    for (source, page), of_page in lines.items():
        printed = {
            int(match[1]) for line in (*of_page[:1], *of_page[-1:]) if (match := PRINTED.fullmatch(line.strip()))
        }
        offsets.setdefault(source, Counter()).update({page + 1 - number for number in printed})
    likely = {source: counted.most_common(1)[0] for source, counted in offsets.items() if counted}
    return {
        source: offset
        for source, (offset, pages) in likely.items()
        if offset and pages >= NUMBERED and 2 * pages >= sum(offsets[source].values())
    }
