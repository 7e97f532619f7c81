"""Deals out the judgments of a dataset to the components that learn from them, and says what they have learnt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import counted
from ragsweep.datasets import Dataset
from ragsweep.datasets.model.dataset import Qrels
from ragsweep.retrieval import Ranking
from ragsweep.retrieval.judgments import Judgments, learners_in
from ragsweep.retrieval.routing.query_words import Routing, sentences
from ragsweep.retrieval.routing.routed import RoutedQueries
from ragsweep.statistics.intervals import Array, Indices
from ragsweep.store.code import name_of
from ragsweep.tasks.metric import metric_of
from ragsweep.tasks.ranking.aspect import Aspect
from ragsweep.tasks.ranking.judging import Judged, judge
from ragsweep.tasks.ranking.ranking_evaluation import CURVE
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.ranking.spans.needs import needs_spans, with_spans
from ragsweep.tasks.ranking.units import units_of_ranking

LEARNS = "Learning from judgments"  # heading of a section


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


@dataclass(frozen=True, eq=False)
class Values:
    """Values of metrics for some queries.

    Attributes:
        items: The dataset, with the judgments of these queries only.
        queries: Which ones.
        evaluation: What is measured.
        k: The cutoff.
    """

    items: Dataset
    queries: Indices
    evaluation: EvaluationSettings
    k: int

    def __call__(self, ranking: Ranking, metric: str) -> Array:
        """The value of a metric at k for each query, higher is better, NaN without judgments; shape [queries]."""
        if metric not in self.evaluation.metrics:
            there_is = ", ".join(self.evaluation.metrics)
            raise ConfigError(f"{metric}: no such metric is measured (there is {there_is})")
        judged = judged_ranking(self.items, ranking, self.evaluation, self.k)
        values = np.full(len(self.items.queries), np.nan)
        sign = 1 if metric_of(metric, self.evaluation.metrics[metric]).higher_is_better else -1
        values[judged.queries] = sign * self.evaluation.metrics[metric](judged, self.k)
        return values[self.queries]


def judgments_of(
    items: Dataset, components: Mapping[str, object], evaluation: EvaluationSettings, k: int
) -> Judgments | None:
    """The judgments of a dataset for those components that learn from them; None if there is no such component."""
    learners = {place: each for name, part in components.items() for place, each in learners_in(part, name).items()}
    if not learners:
        return None

    def values_of(queries: Indices) -> Values:
        return Values(_of_queries(items, queries), queries, evaluation, k)

    types, groups = (tuple(getattr(query, name) for query in items.queries) for name in ("query_type", "group"))
    return Judgments(learners, types, values_of, groups)


def _of_queries(items: Dataset, queries: Indices) -> Dataset:
    """A dataset without what is known of the other queries: judgments, references, right answers, types and fields."""
    known, ids = np.isin(items.qrels.query, queries), {items.queries[query].query_id for query in queries}
    return replace(
        items,
        queries=tuple(
            each if each.query_id in ids else replace(each, query_type=None, fields=(), group=None)
            for each in items.queries
        ),
        qrels=Qrels(*(column[known] for column in vars(items.qrels).values())),
        cases=(),
        references=tuple(each for each in items.references if each.query_id in ids),
    )


def learnt(items: Dataset, judgments: Judgments | None, evaluation: EvaluationSettings, k: int) -> Aspect:
    """What is said and recorded of components that learn from judgments. They have ranked, and are not asked."""
    if judgments is None:
        return Aspect()
    found: dict[str, Sequence[str]] = {}
    everything = Values(items, np.arange(len(items.queries)), evaluation, k)
    facts = []
    for place, learner in judgments.learners.items():
        found_by = next((each for (at, _), each in judgments.learnt.items() if at == place), None)
        if found_by is None:
            continue
        routed = [ranker for ranker in found_by.rankers if isinstance(ranker, RoutedQueries)]
        if len(routed) == len(found_by.rankers):
            heading = "Routing" if "Routing" not in found else f"Routing ({place})"
            found[heading] = sentences(Routing.of(routed, found_by.fold, judgments.types, everything))
        facts.append(
            f"{place} ({name_of(learner)}) learns from the relevance judgments and types of queries. What ranks for a "
            f"query was learnt from the queries of the {counted(len(found_by.rankers) - 1, 'other fold')}, never from "
            "this query."
        )
    return Aspect(sections=found | {LEARNS: facts}, facts={"learns_from_judgments": [*judgments.learners]})
