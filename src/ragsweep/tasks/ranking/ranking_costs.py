"""What a query costs: the tokens of its context, its latency, and the size of the index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.core.csv_files import TIME
from ragsweep.core.errors import ConfigError
from ragsweep.core.timing import Note, added_up, timing_order
from ragsweep.datasets import Dataset
from ragsweep.models.encoders.token_counts import token_counts
from ragsweep.retrieval import Ranking, Retriever
from ragsweep.retrieval.ranking import STAGES
from ragsweep.statistics.intervals import Array
from ragsweep.store.stage_store import Store
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.ranking import coverage
from ragsweep.tasks.ranking.judging import Judged
from ragsweep.tasks.ranking.ranking_evaluation import Evaluation
from ragsweep.tasks.run_check import Checked
from ragsweep.tasks.scores import Curve, Measure, latency_measures, latency_metric, latency_metrics
from ragsweep.tasks.task import Measurement

TOKENS = Metric("context/tokens", "Tokens", "tokens", higher_is_better=False, low=0)
TOKENS_P95 = Metric("context/tokens_p95", "Tokens (95th percentile)", "tokens", higher_is_better=False, low=0)
LATENCIES = latency_metrics("Latency", "Latency of all queries")
STAGE_LATENCIES = [latency_metric(stage, f"Latency ({stage})") for stage in STAGES]
INDEX = Metric("index/bytes", "Size of the index", "bytes", higher_is_better=False, low=0)
INDEXED = Metric("index/tokens", "Indexed tokens", "tokens", higher_is_better=False, low=0)
INDEX_RECALL = Metric("index/recall", "Recall against exact search", low=0, high=1)
WITH_INTERVALS = ("recall",)  # metrics whose curves get intervals; for all metrics they would take too long
JUDGED = Metric("coverage/judged_at_k", "Judged@k", low=0, high=1)
OF_COVERAGE = (coverage.UNITS, coverage.EXPECTED, coverage.PRESENT, coverage.MISSING)
OF_INDEX = (INDEX, INDEXED, INDEX_RECALL)
MEASURES = (TOKENS, TOKENS_P95, *LATENCIES, *STAGE_LATENCIES, *OF_INDEX, *OF_COVERAGE, JUDGED)


def measures(
    ranking: Ranking,
    queries: Indices,
    tokens: Array | None,
    items: Dataset,
    relevance_level: int,
    *,
    lacking: Mapping[str, Any] | None = None,
) -> list[Measure]:
    """Everything of a run that is measured besides the metrics.

    Args:
        ranking: The ranking.
        queries: Positions of the judged queries.
        tokens: The tokens of each query's context, shape [queries]; None if not counted.
        items: Has the units.
        relevance_level: The lowest grade that counts as relevant.
        lacking: What is recorded of incomplete judgments; None if nothing is.
    """
    of_dataset = coverage.coverage_measures(items, relevance_level)
    if incomplete := (lacking or {}).get("incomplete_judgments"):
        of_dataset.append(Measure(JUDGED, incomplete["judged_at_k"]))
    return [*_costs(ranking, queries, tokens), *of_dataset]


def _costs(ranking: Ranking, queries: Indices, tokens: Array | None) -> Iterator[Measure]:
    if tokens is not None:
        yield Measure(TOKENS, float(tokens.mean()), per_item=tokens)
        yield Measure(TOKENS_P95, float(np.quantile(tokens, 0.95)))
    yield from _latencies(ranking, queries)
    if len(ranking.index_bytes):
        yield Measure(INDEX, float(ranking.index_bytes[0]))
    if len(ranking.recall_of_exact):
        yield Measure(INDEX_RECALL, float(ranking.recall_of_exact.mean()))


def _latencies(ranking: Ranking, queries: Indices) -> Iterator[Measure]:
    """The latency of judged queries, overall and by stage; a total only if all were timed."""
    times = times_of(ranking, queries)
    timed_queries = queries[~np.isnan(times)]
    if not len(timed_queries):
        return
    order = timing_order(len(ranking.latency_ms))
    sample = ranking.latency_ms[order[np.isin(order, timed_queries)]]
    overall = latency_measures(LATENCIES, ranking.latency_ms[timed_queries], sample=sample)
    yield from overall if len(timed_queries) == len(queries) else overall[:-1]
    for metric, ms in zip(STAGE_LATENCIES, ranking.by_stage[:, timed_queries].mean(axis=1).tolist(), strict=True):
        if ms:
            yield Measure(metric, ms)


def times_of(ranking: Ranking, queries: Indices) -> Array:
    """The latency of each of these queries in milliseconds, NaN where it is not known."""
    return ranking.latency_ms[queries] if len(ranking.latency_ms) else np.full(len(queries), np.nan)


def about_timed(times: Array) -> Checked:
    """Says that only some queries were timed; nothing if all were, or none."""
    timed = int((~np.isnan(times)).sum())
    text = f"Latency is that of {timed:,} of {len(times):,} queries, as it would take long to time all one by one"
    return Checked.section("Latency", [f"{text}; {TIME} is empty for the others."] if 0 < timed < len(times) else [])


def indexed(items: Dataset, counter: tuple[str, Store]) -> list[Measure]:
    """The number of indexed tokens, if other texts than the passages are indexed; the counter as of `tokens_of`."""
    counts = token_counts(items.indexed(), *counter) if items.indexed else None
    return [] if counts is None else [Measure(INDEXED, float(counts.sum()))]


def with_note(measurement: Measurement, noted: Sequence[Note], retriever: Retriever) -> Measurement:
    """The measurement with the machine of its latency, unless that was measured earlier or elsewhere."""
    if retriever.is_record:
        return measurement
    note = added_up(noted)
    with_machines = partial(replace, machines=note.machines, slowed_by=note.ms / note.idle_ms if note.ms else None)
    times = (*LATENCIES, *STAGE_LATENCIES)
    measures = [with_machines(measure) if measure.metric in times else measure for measure in measurement.measures]
    return replace(measurement, measures=measures)


def cut_short(ended: int, queries: int, k: int, budget: int | None) -> Iterator[str]:
    """Says that `ended` of the queries would get more if more passages were ranked; nothing if it is 0."""
    if ended:
        setting = f"returns and k={k}" if budget is None else "budget"
        little = "make fewer parts than k" if budget is None else f"fit into {budget:,} tokens"
        yield f"{setting}: for {ended} of {queries} queries, all ranked passages {little}; no more are ranked."


def curves(evaluation: Evaluation, tokens: Array | None) -> dict[str, Curve]:
    """The mean of each metric, and of the tokens, at each cutoff."""
    by_name = {
        name: Curve(curve, np.array(evaluation.curve_interval(name)) if name in WITH_INTERVALS else None)
        for name, curve in zip(evaluation.names, evaluation.curves, strict=True)
    }
    return by_name if tokens is None else by_name | {TOKENS.name: Curve(tokens.mean(axis=1))}


def tokens_of(
    items: Dataset, ranking: Ranking, judged: Judged, cutoffs: int, counter: tuple[str, Store]
) -> Array | None:
    """The tokens of each judged query's context at each cutoff, shape [cutoffs, queries]; None if they are not known.

    Args:
        items: Has the passages.
        ranking: The ranking.
        judged: The judged ranking.
        cutoffs: The largest cutoff.
        counter: The tokenizer, as of `token_counts`, and what keeps the counts.
    """
    if not any(items.texts):  # those that a system has not told
        return None
    counts = token_counts(items.texts, *counter, ranking.passages)
    return None if counts is None else context_tokens(judged, ranking.passages, counts, cutoffs)


def check_budget(budget: int | None, items: Dataset) -> None:
    """Raise `ConfigError` where a budget cannot be the cutoff."""
    if budget is not None and len(coverage.unanswerable(items)):
        raise ConfigError("budget: found questions without an answer, whose false finds are counted at a k; expected k")


def within(budget: int | None, returned: Indices, tokens: Array | None) -> Indices | None:
    """How much of what each query gets fits into a budget, shape [queries]; None without a budget.

    Args:
        budget: The most tokens.
        returned: How many passages each query gets at most, shape [queries].
        tokens: Those of each query's context at each cutoff, shape [cutoffs, queries]; None if they are not known.

    Raises:
        ConfigError: The tokens are not known.
    """
    if budget is None:
        return None
    if tokens is None:
        raise ConfigError("budget: the tokens of passages cannot be counted here; use k, or decision.tokenizer=words")
    ranks: Indices = np.minimum((tokens <= budget).sum(axis=0), returned)
    return ranks


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
    placed = np.take_along_axis(passages[judged.queries], ranks, axis=1)
    tokens = np.where(judged.units[:, :cutoffs] == NOTHING, 0, counts[placed])
    total = np.cumsum(tokens, axis=1, dtype=np.float64)
    missing = max(0, cutoffs - total.shape[1])
    return np.pad(total, ((0, 0), (0, missing)), mode="edge").T
