"""Judgments that look swapped: two queries, each of which finds the judged units of the other and not its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from ragsweep.core.terminal import named, quoted
from ragsweep.datasets.model.dataset import Dataset
from ragsweep_audit.findings.finding import Audited, ByRanks, Finding
from ragsweep_audit.findings.unit_ranks import UnitRanks

LOST = 5  # a query whose best relevant unit has this rank or a worse one, from 0, has lost it
LOOKED_AT = 10  # units of other queries at lower ranks than this count
NAMED_BELOW_RANK = 3  # pairs are named if each query has a unit of the other at a lower rank than this
PERMUTATIONS = 999

Pulls = npt.NDArray[np.float64]


def swapped_judgments(dataset: Dataset, ranks: UnitRanks, relevance_level: int, level: float) -> Iterator[Finding]:
    """A finding if the judgments of queries look swapped in pairs.

    A query that has lost its own units is pulled to another one by `log(own rank / rank) / rank`, where `rank` (from 1)
    is that of the other one's best unit for it. Swapped judgments make two queries pull each other. So the sum over all
    pairs of the product of both pulls is compared with what it is if the queries on one side are relabelled at random
    (after Mantel 1967; Hubert and Schultz 1976).

    Args:
        dataset: The dataset.
        ranks: Has the relevant units of its queries.
        relevance_level: The lowest grade that counts as relevant.
        level: The probability of an alarm in a clean dataset.
    """
    query, unit = ranks.relevant(dataset, relevance_level)
    row = np.searchsorted(ranks.queries, query)
    own = np.full(len(ranks.queries), -1)
    np.maximum.at(own, row, np.iinfo(np.int32).max)
    np.minimum.at(own, row, ranks.of(query, unit))
    lost = np.flatnonzero(own >= LOST)
    best = np.full((len(lost), len(own)), np.iinfo(np.int32).max)
    np.minimum.at(best.T, row, ranks.ranks[np.ix_(lost, np.searchsorted(ranks.units, unit))].T)
    best = best[:, lost] + 1
    pulls = np.where(best <= LOOKED_AT, np.log((own[lost] + 1)[:, None] / best) / best, 0).clip(min=0)
    np.fill_diagonal(pulls, 0)
    p = mutual_p(pulls)
    first, second = np.nonzero(
        np.triu((best <= NAMED_BELOW_RANK) & (best.T <= NAMED_BELOW_RANK) & (pulls > 0) & (pulls.T > 0))
    )
    if p > level or not len(first):
        return
    strongest = np.argsort(-(pulls * pulls.T)[first, second], kind="stable")
    asked = [dataset.queries[row] for row in ranks.queries[lost]]
    pairs = [(asked[first[at]], asked[second[at]]) for at in strongest.tolist()]
    examples = [f"{quoted(one.text)} and {quoted(other.text)}" for one, other in pairs]
    problem = (
        f"Judgments look swapped: in {len(pairs)} pairs of queries, each one finds the relevant {dataset.unit} "
        f"of the other near the top, and not its own{named(examples, '; ')}."
    )
    cost = "Every metric counts the right answers of these queries as wrong."
    advice = "Compare the judgments of both queries with the documents. More may be swapped than are named."
    ids = tuple(f"{one.query_id} and {other.query_id}" for one, other in pairs)
    details = {"pairs": len(pairs), "p": p}
    yield Finding("swapped_judgments", problem, cost, advice, 2 * len(pairs), len(ranks.queries), ids, details)


def mutual_p(pulls: Pulls) -> float:
    """Probability that pulls without a direction are as mutual as these, if queries are exchanged in pairs at random.

    The sum has the product of both pulls of two queries twice. If queries are exchanged in pairs, each product is still
    in the sum twice, so that it varies as much as that of the data. After any other relabelling it would vary less, and
    there would be too many alarms. A pull is not multiplied with itself; the sum is scaled up by what that leaves out.

    Args:
        pulls: By how much each query is pulled to each other one, not negative, shape [queries, queries].
    """
    rows, columns = np.nonzero(pulls)
    values = pulls[rows, columns]

    def mutual(place: npt.NDArray[np.int64]) -> float:
        is_other = place[columns] != rows
        return float((values * pulls[place[columns], place[rows]])[is_other].sum())

    count = len(pulls)
    if count < 3:  # there is no other way to pair them
        return 1.0
    rng = np.random.default_rng(0)
    actual = mutual(np.arange(count)) * (1 - 1e-12) * (count - 2) / (count - 1)
    as_mutual = sum(mutual(_exchanged(count, rng)) >= actual for _ in range(PERMUTATIONS))
    return (1 + as_mutual) / (1 + PERMUTATIONS)


def _exchanged(count: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Random pairs of numbers below `count`, each at the place of the other; an odd one stays."""
    drawn, place = rng.permutation(count), np.arange(count)
    one, other = drawn[: count // 2], drawn[count // 2 : 2 * (count // 2)]
    place[one], place[other] = other, one
    return place


class SwappedJudgments(ByRanks):
    """Queries whose judgments look swapped."""

    kind = "swapped_judgments"

    def find(self, audited: Audited) -> Iterator[Finding]:
        """A finding as of `swapped_judgments`."""
        return swapped_judgments(audited.items, audited.ranks, audited.relevance_level, audited.level)
