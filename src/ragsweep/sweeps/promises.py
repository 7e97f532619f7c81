"""Promises of `decision.target`: the smallest cutoff that keeps one, or the lowest threshold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ragsweep.statistics import Certificate, certify, effective_queries
from ragsweep.statistics.certificate import CertifiedThreshold, certify_threshold
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
        certificate: What the queries show about it, for the configuration that was chosen.
    """

    metric: str
    share: float
    queries: int
    largest: int
    certificate: Certificate


def at_each_cutoff(sweep: Sweep, run: Outcome, metric: str) -> tuple[list[int], tuple[float, ...]]:
    """The measured cutoffs of a configuration in ascending order, and a metric at each."""
    same = [each for each in sweep.outcomes if each.configuration == run.configuration]
    found = {each.cutoff or 0: each.value(metric) or 0.0 for each in same}
    cutoffs = sorted(found)
    return cutoffs, tuple(found[cutoff] for cutoff in cutoffs)


def promises(sweep: Sweep, named: Outcome) -> Iterator[Promise]:
    """What the queries show about each promise, of the configuration that was chosen by the same queries."""
    same = [each for each in sweep.outcomes if each.configuration == named.configuration]
    for metric, share in (sweep.settings.target or {}).items():
        curve, queries = sweep.deepest(named).facts.curves.get(metric), len(named.per_query)
        cutoffs: Sequence[int] = range(1, max(1, len(curve or ())) + 1)
        if curve is not None and (named.facts.cutoff_unit or not curve):  # measured at these cutoffs, not at each k
            cutoffs, curve = at_each_cutoff(sweep, named, metric)
        if not curve and metric in named.per_query:  # it does not depend on a cutoff
            curve = (float(named.per_query[metric].mean()),)
        if curve:
            known = [each.per_query[metric].to_numpy(dtype=float) for each in same if metric in each.per_query]
            effective = int(effective_queries(np.array(known or [np.ones(queries)]), sweep.groups).min())
            hits = [int(value * effective + ROUNDING) for value in curve]
            found = certify(hits, effective, share, configurations=sweep.configurations)
            needed = found.needed and -(-found.needed * queries // effective)
            at = found.cutoff and cutoffs[found.cutoff - 1]
            yield Promise(metric, share, queries, cutoffs[len(curve) - 1], replace(found, cutoff=at, needed=needed))


@dataclass(frozen=True)
class ThresholdPromise:
    """A promised rate of false finds.

    Attributes:
        metric: Name of the rate.
        rate: The largest promised one.
        questions: Number of questions that should find nothing.
        certificate: What they show about it, for the configuration that was chosen.
        hits: Share of the other questions that get what is right without a threshold.
        kept: Share of those that still do with the certified one.
        words: How the task speaks of a threshold.
    """

    metric: str
    rate: float
    questions: int
    certificate: CertifiedThreshold
    hits: float
    kept: float
    words: ThresholdWords


def threshold_promise(sweep: Sweep, named: Outcome) -> ThresholdPromise | None:
    """What the questions that should find nothing show about their promise in `decision.target`; None without one.

    The configuration is chosen by other questions, which needs no correction, unless a metric of these takes part.
    """
    settings, measured = sweep.settings, named.facts.false_finds
    if measured is None or measured.metric not in (settings.target or {}):
        return None
    chosen_by = {sweep.decided_by, *(settings.require or ()), settings.prefer, *settings.costs}
    curves = {each.facts.false_finds.scores for each in sweep.outcomes if each.facts.false_finds}
    rate = (settings.target or {})[measured.metric]
    found = _scores(measured.found)
    certificate = certify_threshold(
        _scores(measured.scores),
        rate,
        others=found,
        configurations=1 if chosen_by.isdisjoint(measured.metrics) else len(curves),
    )
    reached = found[found > -np.inf]
    hits, kept = (float((reached >= threshold).sum() / len(found)) for threshold in (-np.inf, certificate.threshold))
    return ThresholdPromise(measured.metric, rate, len(measured.scores), certificate, hits, kept, measured.words)


def _scores(recorded: Sequence[float | None]) -> Array:
    return np.array([-np.inf if each is None else each for each in recorded])
