"""The fronts of quality and cost: which configurations nothing else is shown to beat."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragsweep.core.arrays import Mask
from ragsweep.statistics import shown_to_beat
from ragsweep.statistics.intervals import Array
from ragsweep.sweeps.choice import EQUAL_COST, MILLISECONDS, about_the_same, span, units
from ragsweep.sweeps.outcome import Outcome
from ragsweep.sweeps.sweep import Sweep


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
        counted = [_distinct(run, self.cost) for run in self.sweep.outcomes]
        if (key := _distinct(outcome, self.cost)) not in counted:
            return None

        def gained(metric: str, run: Outcome) -> float:
            return self.sweep.sign(metric) * ((run.value(metric) or 0) - (outcome.value(metric) or 0))

        shown = [self.sweep.outcomes[place] for place in np.flatnonzero(self.beaten[counted.index(key)]).tolist()]
        beating = [run for run in shown if min(gained(self.quality, run), gained(self.cost, run)) >= 0]
        return max(beating, key=lambda run: gained(self.quality, run), default=None)


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
        grows = any(cost in outcome.facts.at_k for outcome in sweep.outcomes)
        runs = sweep if grows else headline
        metric = next((name for name in sweep.settings.gains if grows), sweep.decided_by)
        distinct: dict[object, Outcome] = {}
        for outcome in runs.outcomes:
            if outcome.value(cost) is not None:
                distinct.setdefault(_distinct(outcome, cost), outcome)
        measured = sweep.only(list(distinct.values()))
        if len(measured.outcomes) > 1 and metric in measured.metrics and measured.is_mean(metric):
            margin = sweep.settings.margin if metric == sweep.decided_by else None
            rules: dict[str, Any] = {"resamples": sweep.resamples, "seed": sweep.seed, "alike": _alike(measured, cost)}
            rules |= {"margin": margin, "span": span(measured, metric)} if margin else {"tolerance": EQUAL_COST}
            beaten = shown_to_beat(units(measured, metric), _costs(measured, cost), **rules)
            yield CostFront(measured, metric, cost, beaten)


def _alike(sweep: Sweep, cost: str) -> Mask | None:
    """Between which configurations a time does not differ, shape [configurations, configurations]; else None."""
    if sweep.metric_info[cost].unit != MILLISECONDS:
        return None
    runs = sweep.outcomes
    return np.array([[about_the_same(sweep, cost, one, other, EQUAL_COST) for other in runs] for one in runs])


def _distinct(outcome: Outcome, cost: str) -> tuple[object, ...]:
    """Configurations with equal values count once on a front."""
    return outcome.measured, outcome.cutoff, outcome.value(cost)


def _costs(sweep: Sweep, cost: str) -> Array:
    """The cost of every configuration, lower is better: per query or group, per timed query, or as a known number.

    Of times without those of single queries, each is a sample of one, from which nothing can be shown.
    """
    if all(cost in outcome.per_query for outcome in sweep.outcomes):
        return -units(sweep, cost)
    sign = -sweep.sign(cost)
    values = sign * np.array([outcome.value(cost) for outcome in sweep.outcomes], dtype=float)
    measures = [outcome.facts.measures[cost] for outcome in sweep.outcomes if cost in outcome.facts.measures]
    lengths = {len(measure.sample) for measure in measures}
    only_some = 0 < len(measures) < len(values) or {0} < lengths
    if only_some or any(measure.is_one_time for measure in measures):
        return values[:, None]
    shortest = min(lengths, default=0)  # the first times of all samples are those of the same queries
    return sign * np.array([measure.sample[:shortest] for measure in measures]) if shortest else values
