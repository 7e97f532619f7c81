"""Judgments that look swapped: two queries, each of which finds the judged pages of the other and not its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragsweep.datasets.audit.finding import Finding, named, quoted
from ragsweep.datasets.audit.unit_ranks import UnitRanks
from ragsweep.datasets.dataset import Dataset

FOUND = 3  # a unit at a rank below this is found
LOST = 10  # a unit at this rank or below is lost


def swapped_judgments(dataset: Dataset, ranks: UnitRanks, relevance_level: int, level: float) -> Iterator[Finding]:
    """A finding if more pairs of queries look swapped than chance explains.

    A query is lost if none of its relevant units is among the first `LOST`. A lost query points to another lost query
    if a relevant unit of that one is among its first `FOUND`. Two queries look swapped if each points to the other. If
    queries point anywhere, m pointers between n queries make m^2 / (2 n (n - 1)) such pairs by chance. The finding is
    made if a Poisson variable with this mean reaches the number of pairs with a probability of at most `level`.

    Args:
        dataset: The dataset.
        ranks: Has the relevant units of its queries.
        relevance_level: The lowest grade that counts as relevant.
        level: The probability of an alarm in a clean dataset.
    """
    query, unit = ranks.relevant(dataset, relevance_level)
    row = np.searchsorted(ranks.queries, query)
    own = np.full(len(ranks.queries), np.iinfo(np.int32).max)
    np.minimum.at(own, row, ranks.of(query, unit))
    judged = np.isin(np.arange(len(own)), row)
    lost = np.flatnonzero(judged & (own >= LOST))
    if len(lost) < 2:
        return
    place = np.full(len(own), -1)
    place[lost] = np.arange(len(lost))
    of_lost = place[row] >= 0
    points = np.zeros((len(lost), len(lost)), dtype=bool)
    column = np.searchsorted(ranks.units, unit[of_lost])
    found = ranks.ranks[np.ix_(lost, column)] < FOUND
    np.logical_or.at(points.T, place[row[of_lost]], found.T)
    first, second = np.nonzero(np.triu(points & points.T, 1))
    by_chance = points.sum() ** 2 / (2 * len(lost) * (len(lost) - 1))
    if not len(first) or at_least(len(first), by_chance) > level:
        return
    pairs = [[dataset.queries[ranks.queries[lost[each]]] for each in pair] for pair in zip(first, second, strict=True)]
    examples = [f"{quoted(one.text)} and {quoted(other.text)}" for one, other in pairs]
    yield Finding(
        kind="swapped_judgments",
        problem=f"{len(pairs)} pairs of queries look as if their judgments were swapped: each query finds the relevant "
        f"{dataset.unit} of the other near the top, and not its own{named(examples, '; ')}.",
        cost="Every metric counts the right answers of these queries as wrong.",
        advice="Compare the judgments of both queries with the documents.",
        count=2 * len(pairs),
        out_of=len(own),
        examples=tuple(f"{one.query_id} and {other.query_id}" for one, other in pairs),
        details={"pairs": len(pairs), "pairs_by_chance": float(by_chance)},
    )


def at_least(count: int, mean: float) -> float:
    """Probability that a Poisson variable with this mean is at least `count`."""
    from scipy.special import gammainc

    return float(gammainc(count, mean))
