"""What a configuration returns for each query, measured: ranked passages, or the parts of documents around them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.core.errors import ConfigError
from ragsweep.datasets import Dataset
from ragsweep.retrieval import Ranking
from ragsweep.retrieval.kinds import Retriever
from ragsweep.retrieval.returned_units.merging import Enlarging
from ragsweep.retrieval.returned_units.units import ReturnedUnit
from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import Array
from ragsweep.store.stage_store import Store
from ragsweep.tasks.ranking import ranking_costs as costs
from ragsweep.tasks.ranking.coverage import unanswerable
from ragsweep.tasks.ranking.judging import Judged
from ragsweep.tasks.ranking.ranking_evaluation import CURVE, Evaluation, at_cutoff, described
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.returned_parts import ReturnedParts

PASSAGES_OF_A_PART = 10  # so many are ranked for each part that is returned, which as a rule make k parts


class Shown(NamedTuple):
    """What is returned, and what it is worth.

    Attributes:
        items: The dataset, whose passages are what is returned, or parts of it.
        ranking: These passages, ranked.
        evaluation: What they are worth.
        tokens: Those of each judged query at each cutoff, shape [cutoffs, queries]; None if they cannot be counted.
        characters: The mean size of what may be returned; 0 if that has no text.
        ranks_of: The ranks of the passages that each of these was returned for, by query and passage; empty if these
            are the ranked ones.
        ended: For how many queries all that is ranked is returned, and more would be if more were ranked.
    """

    items: Dataset
    ranking: Ranking
    evaluation: Evaluation
    tokens: Array | None
    characters: float
    ranks_of: dict[tuple[int, int], tuple[int, ...]]
    ended: int

    @property
    def context(self) -> Array | None:
        """The tokens of each judged query's context, shape [queries]; None if they cannot be counted."""
        return None if self.tokens is None else at_cutoff(self.tokens, self.evaluation.k, self.evaluation.ranks)


@dataclass(frozen=True)
class Measuring:
    """How what is returned is measured.

    Attributes:
        evaluation: The metrics.
        k: The cutoff.
        budget: The cutoff in tokens; None if it is k.
        depth: How many passages are ranked.
        counter: The tokenizer, and what keeps its counts.
        seed: Of the intervals.
    """

    evaluation: EvaluationSettings
    k: int
    budget: int | None
    depth: int
    counter: tuple[str, Store]
    seed: int

    def evaluated(
        self, items: Dataset, judged: Judged, values: Array, ranks: Indices | None, places: Indices | None = None
    ) -> Evaluation:
        """The values at the cutoffs 1, 2, ..., without the texts of spans: it is sent to who draws."""
        queries = [items.queries[row] for row in judged.queries]
        return Evaluation(
            self.largest(ranks),
            described(self.evaluation.metrics),
            values,
            tuple(query.query_type for query in queries),
            replace(judged, spans=None),
            Groups.named([query.group for query in queries]),
            self.evaluation.resamples,
            self.seed,
            ranks,
            places,
        )

    def largest(self, ranks: Indices | None) -> int:
        """The cutoff, or the largest of those of the queries."""
        return self.k if ranks is None else max(1, int(ranks.max()))

    @property
    def deepest(self) -> int:
        """The largest cutoff that may be measured."""
        return max(CURVE, self.k) if self.budget is None else self.depth

    def passages(self, items: Dataset, ranking: Ranking) -> Shown:
        """The ranked passages, measured."""
        judged = self.evaluation.judged(items, ranking, self.deepest)
        tokens = costs.tokens_of(items, ranking, judged, self.deepest, self.counter)
        ranks = costs.within(self.budget, (judged.units != NOTHING).sum(axis=1), tokens)
        cutoffs = max(CURVE, self.largest(ranks))
        values = np.stack([self.evaluation.values(items, judged, cutoff) for cutoff in range(1, cutoffs + 1)], axis=1)
        evaluation = self.evaluated(items, judged, values, ranks)
        characters = sum(map(len, items.texts)) / max(1, len(items.texts))
        ended = 0 if ranks is None or self.depth >= len(items.passages) else int((ranks >= self.depth).sum())
        return Shown(items, ranking, evaluation, None if tokens is None else tokens[:cutoffs], characters, {}, ended)

    def parts(self, items: Dataset, ranking: Ranking, unit: ReturnedUnit) -> Shown:
        """The parts of documents that are returned for the passages of a ranking, measured at every cutoff."""
        enlarging = Enlarging(unit, items.documents, items.passages)
        pieces = ReturnedParts(items, enlarging, ranking, self.evaluation, self.deepest)
        tokens = pieces.tokens(self.counter)
        ranks = costs.within(self.budget, pieces.numbers, tokens)
        cutoffs = max(CURVE, self.largest(ranks))
        values = np.stack([pieces.values(cutoff) for cutoff in range(1, cutoffs + 1)], axis=1)
        at = np.full(len(pieces.queries), self.k) if ranks is None else ranks
        returned, returned_ranking, judged, places = pieces.judged(at)
        return Shown(
            returned,
            returned_ranking,
            self.evaluated(items, judged, values, ranks, places),
            None if tokens is None else tokens[:cutoffs],
            pieces.mean_size,
            pieces.ranks_of(at),
            pieces.ended(at, self.depth, self.budget),
        )


def check_returns(unit: ReturnedUnit | None, retriever: Retriever, items: Dataset) -> None:
    """Raise `ConfigError` where nothing can be returned but what is found."""
    if unit is None:
        return
    if retriever.brings_passages:
        raise ConfigError("returns: the retriever is a system, which decides what it returns; choose returns=passage")
    if len(unanswerable(items)):
        raise ConfigError(
            "returns: the dataset has questions without an answer, which are measured on passages only; choose "
            "returns=passage"
        )
