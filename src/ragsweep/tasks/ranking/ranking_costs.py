"""What a query costs: the tokens of its context, its latency, and the size of the index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.core.timing import Circumstances, put_together
from ragsweep.retrieval import Ranker, Ranking
from ragsweep.statistics.intervals import Array
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.ranking.judging import Judged
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings
from ragsweep.tasks.systems.own_passages import ReturnedRanking
from ragsweep.tasks.task import Measure, Measurement

TOKENS = Metric("context/tokens", "Tokens", "tokens", higher_is_better=False, low=0)
TOKENS_P95 = Metric("context/tokens_p95", "Tokens (95th percentile)", "tokens", higher_is_better=False, low=0)
LATENCY = Metric("latency/mean_ms", "Latency", "ms", higher_is_better=False, low=0)
LATENCY_P95 = Metric("latency/p95_ms", "Latency (95th percentile)", "ms", higher_is_better=False, low=0)
INDEX = Metric("index/bytes", "Size of the index", "bytes", higher_is_better=False, low=0)
INDEX_RECALL = Metric("index/recall", "Recall against exact search", low=0, high=1)
COVERAGE = Metric("coverage/units", "Coverage", low=0, high=1)
JUDGED = Metric("coverage/judged_at_k", "Judged@k", low=0, high=1)
RESIDUAL = Metric("coverage/rbp_residual", "RBP residual", higher_is_better=False, low=0, high=1)
MEASURES = (TOKENS, TOKENS_P95, LATENCY, LATENCY_P95, INDEX, INDEX_RECALL, COVERAGE, JUDGED, RESIDUAL)


def measures(
    ranking: Ranking, tokens: Array | None, coverage: float, incomplete: Mapping[str, Any] | None = None
) -> list[Measure]:
    """Everything of a run that is measured besides the metrics.

    Args:
        ranking: The ranking.
        tokens: The tokens of each query's context, shape [queries]; None if not counted.
        coverage: Share of the relevant units that can be found; NaN if it is not known.
        incomplete: What is known of incomplete judgments, as of `facts_of`; None if nothing is.
    """
    known = [] if np.isnan(coverage) else [Measure(COVERAGE, coverage)]
    if incomplete:
        known += [Measure(JUDGED, incomplete["judged_at_k"]), Measure(RESIDUAL, incomplete["residual"])]
    return [*_costs(ranking, tokens), *known]


def _costs(ranking: Ranking, tokens: Array | None) -> Iterator[Measure]:
    if tokens is not None:
        yield Measure(TOKENS, float(tokens.mean()), per_item=tokens)
        yield Measure(TOKENS_P95, float(np.quantile(tokens, 0.95)))
    if len(ranking.latency_ms):
        yield Measure(LATENCY, float(ranking.latency_ms.mean()), sample=ranking.latency_ms)
        yield Measure(LATENCY_P95, float(np.quantile(ranking.latency_ms, 0.95)))
    if len(ranking.index_bytes):
        yield Measure(INDEX, float(ranking.index_bytes[0]))
    if len(ranking.recall_of_exact):
        yield Measure(INDEX_RECALL, float(ranking.recall_of_exact.mean()))


def with_circumstances(
    measurement: Measurement, noted: Sequence[Circumstances], retriever: Ranker, settings: EvaluationSettings
) -> Measurement:
    """The measurement with the circumstances of its latency, or a notice that none is measured again."""
    times = [each.metric for each in measurement.measures if each.metric in (LATENCY, LATENCY_P95)]
    if times and not isinstance(retriever, ReturnedRanking):
        taken = put_together(noted)
        measures = [replace(each, taken=taken) if each.metric in times else each for each in measurement.measures]
        return replace(measurement, measures=measures)
    if settings.latency == "kept":
        return measurement
    why = "it was returned earlier or elsewhere, and keeps the times of that" if times else "it has no times"
    notice = f"evaluation.latency=again: nothing of this ranking is timed again, as {why}."
    return replace(measurement, notices=[*measurement.notices, notice])


def context_tokens(judged: Judged, passages: Indices, counts: Indices, cutoffs: int) -> Array:
    """The tokens of the first passages of each judged query, at each cutoff.

    Args:
        judged: The judged rankings. If repeated units do not count towards the cutoff, their passages are left out.
        passages: Passage at each rank, shape [all queries, depth].
        counts: Tokens of each passage, shape [passages].
        cutoffs: The largest cutoff.

    Returns:
        Shape [cutoffs, queries].
    """
    ranks = np.broadcast_to(judged.ranks, judged.units.shape)[:, :cutoffs]
    found = np.take_along_axis(passages[judged.queries], ranks, axis=1)
    tokens = np.where(judged.units[:, :cutoffs] == NOTHING, 0, counts[found])
    total = np.cumsum(tokens, axis=1, dtype=np.float64)
    missing = max(0, cutoffs - total.shape[1])
    return np.pad(total, ((0, 0), (0, missing)), mode="edge").T
