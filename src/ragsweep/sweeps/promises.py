"""Promises of `decision.target`: the smallest cutoff that keeps one, or the lowest threshold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from ragsweep.statistics import certify, effective_queries
from ragsweep.statistics.certificate import certify_threshold
from ragsweep.statistics.intervals import Array
from ragsweep.sweeps.outcome import Outcome
from ragsweep.sweeps.sweep import Sweep
from ragsweep.tasks.false_finds import ThresholdWords

ROUNDING = 1e-6  # of a mean times the number of queries


@dataclass(frozen=True)
class Promise:
    """A promised share of questions for which a metric is 1.

    Attributes:
        metric: Name of the metric.
        share: The promised share.
        queries: Number of queries that were measured.
        largest: The largest measured cutoff.
        cutoff: The smallest one that is shown to keep it, of the configuration that was chosen; None if none is.
        lower_bounds: For each measured cutoff, the share that is shown.
        queries_needed: How many queries would show it at the largest cutoff; None if these do, or if none would.
    """

    metric: str
    share: float
    queries: int
    largest: int
    cutoff: int | None
    lower_bounds: Sequence[float]
    queries_needed: int | None


def at_each_cutoff(sweep: Sweep, run: Outcome, metric: str) -> tuple[list[int], tuple[float, ...]]:
    """The measured cutoffs of a configuration in ascending order, and a metric at each."""
    cuts = sorted(sweep.cuts_of(run), key=lambda cut: cut.cutoff or 0)
    return [cut.cutoff or 0 for cut in cuts], tuple(cut.value(metric) or 0.0 for cut in cuts)


def promises(sweep: Sweep, named: Outcome) -> Iterator[Promise]:
    """The result for each promise, for the configuration that was chosen by the same queries."""
    for metric, share in (sweep.settings.target or {}).items():
        curve, queries = sweep.deepest(named).facts.at_k.get(metric), len(named.per_query)
        cutoffs: Sequence[int] = range(1, max(1, len(curve or ())) + 1)
        if curve is not None and (named.facts.cutoff_unit or not curve):  # measured at these cutoffs, not at each k
            cutoffs, curve = at_each_cutoff(sweep, named, metric)
        if not curve and metric in named.per_query:  # it does not depend on a cutoff
            curve = (float(named.per_query[metric].mean()),)
        if curve:
            cuts = [cut for cut in sweep.cuts_of(named) if metric in cut.per_query]
            columns = [cut.per_query[metric].to_numpy(float) for cut in cuts]
            effective = int(effective_queries(np.array(columns or [np.ones(queries)]), sweep.groups).min())
            hits = [int(value * effective + ROUNDING) for value in curve]
            shown = certify(hits, effective, share, configurations=sweep.configurations)
            needed = shown.needed and -(-shown.needed * queries // effective)
            cutoff = shown.cutoff and cutoffs[shown.cutoff - 1]
            yield Promise(metric, share, queries, cutoffs[len(curve) - 1], cutoff, shown.lower_bounds, needed)


@dataclass(frozen=True)
class ThresholdPromise:
    """A promised rate of false finds.

    Attributes:
        metric: Name of the rate.
        rate: The largest promised one.
        queries: Number of questions that should find nothing.
        shown: Whether any threshold is shown to keep it, of the configuration that was chosen.
        threshold: The lowest one that is; None if none is, or if none is needed.
        false_finds: How many of these questions get something at it.
        upper_bound: The rate that is shown not to be exceeded there.
        queries_needed: How many such questions would show it if none of them got anything.
        hits: Share of the other questions that get what is right without a threshold.
        hits_kept: Share of those that still do with the certified one.
        words: How the task speaks of a threshold.
    """

    metric: str
    rate: float
    queries: int
    shown: bool
    threshold: float | None
    false_finds: int
    upper_bound: float
    queries_needed: int
    hits: float
    hits_kept: float
    words: ThresholdWords


def threshold_promise(sweep: Sweep, named: Outcome) -> ThresholdPromise | None:
    """The result for the promise in `decision.target` about questions that should find nothing; None without one.

    The configuration is chosen by other questions, which needs no correction, unless a metric of these takes part.
    """
    settings, measured = sweep.settings, named.facts.false_finds
    if measured is None or (rate := (settings.target or {}).get(measured.metric)) is None:
        return None
    chosen_by = {sweep.decided_by, *(settings.require or ()), settings.prefer, *settings.costs}
    curves = {run.facts.false_finds.scores for run in sweep.outcomes if run.facts.false_finds}
    configurations = 1 if chosen_by.isdisjoint(measured.metrics) else len(curves)
    scores, right = _scores(measured.scores), _scores(measured.found)
    certified = certify_threshold(scores, rate, answerable=right, configurations=configurations)
    reached = right[right > -np.inf]
    threshold = certified.threshold if isfinite(certified.threshold) else None
    counts = certified.shown, threshold, certified.false_finds, certified.upper, certified.needed
    hits, kept = (float((reached >= least).sum() / len(right)) for least in (-np.inf, certified.threshold))
    return ThresholdPromise(measured.metric, rate, len(scores), *counts, hits, kept, measured.words)


def _scores(recorded: Sequence[float | None]) -> Array:
    return np.array([-np.inf if score is None else score for score in recorded])
