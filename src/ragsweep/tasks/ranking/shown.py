"""What a configuration returns for each query, measured: the ranked passages themselves, as a task has them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from ragsweep.core.arrays import NOTHING
from ragsweep.datasets import Dataset
from ragsweep.retrieval import Ranking
from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import Array, Indices
from ragsweep.store.stage_store import Store
from ragsweep.tasks.ranking import ranking_costs as costs
from ragsweep.tasks.ranking.judging import Judged, judge
from ragsweep.tasks.ranking.ranking_evaluation import CURVE, Evaluation, at_cutoff, evaluate
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.spans.needs import needs_spans, with_spans
from ragsweep.tasks.ranking.units import units_of_ranking


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

    def about(self, items: Dataset, queries: Indices) -> tuple[tuple[str | None, ...], tuple[str, ...], Groups | None]:
        """The types, ids and groups of the judged queries."""
        of_rows = [items.queries[row] for row in queries]
        ids = tuple(query.query_id for query in of_rows)
        return tuple(query.query_type for query in of_rows), ids, Groups.named([query.group for query in of_rows])

    def passages(self, items: Dataset, ranking: Ranking) -> Shown:
        """The ranked passages, measured."""
        deepest = max(CURVE, self.k) if self.budget is None else self.depth
        judged = judged_ranking(items, ranking, self.evaluation, deepest)
        tokens = costs.tokens_of(items, ranking, judged, deepest, self.counter)
        ranks = costs.within(self.budget, (judged.units != NOTHING).sum(axis=1), tokens)
        types, ids, groups = self.about(items, judged.queries)
        evaluation = evaluate(
            judged,
            self.evaluation.metrics,
            self.k if ranks is None else max(1, int(ranks.max())),
            types,
            ids,
            groups=groups,
            ranks=ranks,
            resamples=self.evaluation.resamples,
            seed=self.seed,
        )
        characters = sum(map(len, items.texts)) / max(1, len(items.texts))
        cutoffs = evaluation.values.shape[1]
        tokens = None if tokens is None else tokens[:cutoffs]
        ended = 0 if ranks is None or self.depth >= len(items.passages) else int((ranks >= self.depth).sum())
        return Shown(items, ranking, light(evaluation), tokens, characters, {}, ended)


def judged_ranking(items: Dataset, ranking: Ranking, evaluation: EvaluationSettings, k: int) -> Judged:
    """A ranking, judged as the settings say."""
    qrels = items.qrels
    judged = judge(
        units_of_ranking(ranking.passages, items),
        qrels.query,
        qrels.unit,
        qrels.grade,
        collapse=evaluation.collapse,
        relevance_level=evaluation.relevance_level,
    )
    if any(map(needs_spans, evaluation.metrics.values())):
        judged = with_spans(judged, items, ranking, max(CURVE, k))
    return judged


def light(evaluation: Evaluation) -> Evaluation:
    """The evaluation without the texts of spans, which would go to the process that draws, too."""
    return replace(evaluation, judged=replace(evaluation.judged, spans=None))
