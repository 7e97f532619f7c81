"""The settings of the group `evaluation`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from ragsweep.config.run_settings import Resamples
from ragsweep.core.limits import Between
from ragsweep.datasets import Dataset
from ragsweep.datasets.model.word_positions import LEAST_HELD
from ragsweep.retrieval import Ranking
from ragsweep.statistics.intervals import Array
from ragsweep.tasks.ranking.judging import Collapse, Judged, judge
from ragsweep.tasks.ranking.metrics import Gain
from ragsweep.tasks.ranking.ranking_evaluation import CURVE, RankingMetric, values_at
from ragsweep.tasks.ranking.spans.needs import needs_spans, with_spans
from ragsweep.tasks.ranking.spans.span_metrics import SpanOverlap
from ragsweep.tasks.ranking.spans.spans import Token
from ragsweep.tasks.ranking.units import units_of_ranking


@dataclass(frozen=True)
class EvaluationSettings:
    """Which metrics are measured, and how repeated units and grades count.

    Attributes:
        collapse: Whether a cutoff counts passages or distinct units; see `judge`.
        relevance_level: The lowest grade that counts as relevant.
        gain: Gain function of NDCG.
        resamples: Number of resamples of every interval and test.
        metrics: Metrics by name, in display order.
        token: What the metrics of spans compare: characters by their offsets, or words.
        span_overlap: How they count what several passages or references have; see `token_iou`.
        fuzzy_threshold: Share of a reference that a passage must have to hold it.
    """

    collapse: Collapse
    relevance_level: Annotated[int, Between(1, 2**31)]
    gain: Gain
    resamples: Resamples
    metrics: Mapping[str, RankingMetric]
    token: Token = "character"
    span_overlap: SpanOverlap = "union"
    fuzzy_threshold: Annotated[float, Between(0, 1)] = LEAST_HELD

    def values(self, items: Dataset, judged: Judged, cutoff: int) -> Array:
        """The value of each metric at a cutoff, shape [metrics, queries]."""
        names = tuple(items.queries[row].query_id for row in judged.queries)
        return values_at(judged, self.metrics, cutoff, names)

    def judged(self, items: Dataset, ranking: Ranking, cutoffs: int) -> Judged:
        """A ranking of all queries, judged; with the spans of the first 20 or more ranks if a metric needs them."""
        qrels = items.qrels
        judged = judge(
            units_of_ranking(ranking.passages, items),
            qrels.query,
            qrels.unit,
            qrels.grade,
            collapse=self.collapse,
            relevance_level=self.relevance_level,
        )
        if any(map(needs_spans, self.metrics.values())):
            judged = with_spans(judged, items, ranking, max(CURVE, cutoffs))
        return judged
