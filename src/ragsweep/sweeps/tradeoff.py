"""What a larger cutoff buys and costs: the front of quality and cost, and the smallest cutoff that keeps a promise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ragsweep.core.arrays import Mask
from ragsweep.statistics import Certificate, certify, effective_queries, shown_to_beat
from ragsweep.statistics.intervals import Array
from ragsweep.sweeps.choice import EQUAL_COST, MILLISECONDS, about_the_same, span, units
from ragsweep.sweeps.outcome import Outcome
from ragsweep.sweeps.sweep import Sweep

ROUNDING = 1e-6  # of a mean times the number of queries


@dataclass(frozen=True)
class CostFront:
    """The configurations, and which of them are not shown to be beaten in quality and cost.

    Attributes:
        sweep: The configurations.
        quality: Name of the metric of quality.
        cost: Name of the cost.
        beaten: Whether a configuration is shown to be beaten by another one, shape [configurations, other].
    """

    sweep: Sweep
    quality: str
    cost: str
    beaten: Mask

    @property
    def on_front(self) -> Mask:
        """Whether each of them is on the front, shape [configurations]."""
        return np.asarray(~self.beaten.any(axis=1))

    @property
    def members(self) -> list[Outcome]:
        """The configurations on the front, the cheapest first."""
        on_front = [self.sweep.outcomes[position] for position in np.flatnonzero(self.on_front).tolist()]
        return sorted(on_front, key=lambda outcome: outcome.value(self.cost) or 0)

    def beats(self, outcome: Outcome) -> Outcome | None:
        """The best one that is shown to beat a configuration and measures no worse; None for one on the front."""
        same = [each for each in self.sweep.outcomes if _distinct(each, self.cost) == _distinct(outcome, self.cost)]
        if not same:
            return None
        shown = self.beaten[self.sweep.outcomes.index(same[0])]

        def gained(metric: str, other: Outcome) -> float:
            return self.sweep.sign(metric) * ((other.value(metric) or 0) - (outcome.value(metric) or 0))

        others = [self.sweep.outcomes[place] for place in np.flatnonzero(shown).tolist()]
        beating = [each for each in others if min(gained(self.quality, each), gained(self.cost, each)) >= 0]
        return max(beating, key=lambda each: gained(self.quality, each), default=None)


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


def fronts(sweep: Sweep, headline: Sweep) -> Iterator[CostFront]:
    """The front for each cost. Configurations that measure the same count once.

    A cost that depends on the cutoff is compared with what a larger cutoff buys, over all cutoffs. Another cost is
    compared with the deciding metric, at one cutoff.

    Args:
        sweep: The runs at all cutoffs.
        headline: Those at the cutoff of the headline.
    """
    for cost in sweep.settings.costs:
        if cost == sweep.budgeted:  # what they are compared at
            continue
        grows = any(cost in outcome.facts.curves for outcome in sweep.outcomes)
        runs = sweep if grows else headline
        metric = next((name for name in sweep.settings.gains if grows), sweep.decided_by)
        distinct: dict[object, Outcome] = {}
        for outcome in runs.outcomes:
            if outcome.value(cost) is not None:
                distinct.setdefault(_distinct(outcome, cost), outcome)
        measured = sweep.only(list(distinct.values()))
        if len(measured.outcomes) > 1 and metric in measured.metrics and measured.is_mean(metric):
            costs = _costs(measured, cost)
            margin = sweep.settings.margin or 0.0 if metric == sweep.decided_by else 0.0
            slack: dict[str, Any] = {"tolerance": EQUAL_COST}
            if margin:
                slack = {"margin": margin, "span": span(measured, metric)}
            found = shown_to_beat(
                units(measured, metric),
                costs,
                **slack,
                alike=_alike(measured, cost),
                resamples=sweep.resamples,
                seed=sweep.seed,
            )
            yield CostFront(measured, metric, cost, found)


def _alike(sweep: Sweep, cost: str) -> Mask | None:
    """Between which configurations a time does not differ, shape [configurations, configurations]; else None."""
    if sweep.metric_info[cost].unit != MILLISECONDS:
        return None
    runs = sweep.outcomes
    return np.array([[about_the_same(sweep, cost, one, other, EQUAL_COST) for other in runs] for one in runs])


def _distinct(outcome: Outcome, cost: str) -> tuple[object, ...]:
    """What makes configurations count once on a front."""
    return outcome.measured, outcome.cutoff, outcome.value(cost)


def _costs(sweep: Sweep, cost: str) -> Array:
    """The cost of every configuration, lower is better: per query or group, per timed query, or as a known number.

    Of times without those of single queries, each is a sample of one, from which nothing can be shown.
    """
    if all(cost in outcome.per_query for outcome in sweep.outcomes):
        return -units(sweep, cost)
    sign = -sweep.sign(cost)
    values = sign * np.array([outcome.value(cost) for outcome in sweep.outcomes], dtype=float)
    known = [outcome.facts.measures[cost] for outcome in sweep.outcomes if cost in outcome.facts.measures]
    lengths = {len(each.sample) for each in known}
    if any(each.is_one_time for each in known) or len(lengths) > 1 or 0 < len(known) < len(values):
        return values[:, None]
    return values if lengths <= {0} else sign * np.array([each.sample for each in known])


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
