"""Measures one configuration: the value of every metric for every query at every cutoff."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ragsweep.core.arrays import Indices
from ragsweep.core.errors import ConfigError
from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import Array, confidence_intervals
from ragsweep.tasks.metric import Metric, metric_of
from ragsweep.tasks.ranking.judging import Judged
from ragsweep.tasks.ranking.metrics import PerQuery
from ragsweep.tasks.scores import Score, mean_scores

RankingMetric = Callable[[Judged, int], PerQuery]

CURVE = 20  # metrics are measured at the cutoffs 1 to 20, or 1 to k if k is larger


@dataclass(frozen=True)
class Evaluation:
    """The values of one measurement.

    Attributes:
        k: The cutoff of the run; with `ranks`, the largest of these.
        metrics: Descriptions of the metrics, shape [metrics].
        values: Shape [metrics, cutoffs, queries]. Cutoff c is at index c - 1.
        query_types: Type of each query or None, shape [queries].
        judged: The judged rankings that were measured.
        groups: The groups of the queries.
        resamples: Bootstrap resamples of all intervals.
        seed: Seed of the bootstrap.
        ranks: The cutoff of each query, shape [queries]; None if it is k for all.
        places: How many places of its judged ranking a query's cutoff has, shape [queries], where what is returned can
            hold several units; None if as many as the cutoff.
    """

    k: int
    metrics: tuple[Metric, ...]
    values: Array
    query_types: tuple[str | None, ...]
    judged: Judged
    groups: Groups
    resamples: int
    seed: int
    ranks: Indices | None = None
    places: Indices | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the metrics."""
        return tuple(metric.name for metric in self.metrics)

    @property
    def per_query(self) -> Array:
        """The values at the cutoff, shape [metrics, queries]; 0 for a query of which nothing is returned."""
        return at_cutoff(self.values, self.k, self.ranks)

    @property
    def within(self) -> Indices:
        """How many places of its judged ranking are within each query's cutoff, shape [queries]."""
        ranks = self.ranks if self.places is None else self.places
        return np.full(len(self.judged.units), self.k) if ranks is None else ranks

    @property
    def means(self) -> dict[str, float]:
        """The mean over queries of each metric at the cutoff."""
        return dict(zip(self.names, self.per_query.mean(axis=1).tolist(), strict=True))

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """The metrics at the cutoff, with their 95 % intervals."""
        values, groups = self.per_query, self.groups
        return mean_scores(self.metrics, values, groups=groups, resamples=self.resamples, seed=self.seed)

    @property
    def curves(self) -> Array:
        """The mean over queries at each cutoff, shape [metrics, cutoffs]."""
        curves: Array = self.values.mean(axis=2)
        return curves

    def curve_interval(self, name: str) -> tuple[Array, Array]:
        """Lower and upper bounds of the 95 % interval of a metric's mean at each cutoff, each of shape [cutoffs]."""
        values = self.values[self.names.index(name)]
        return confidence_intervals(values, groups=self.groups, resamples=self.resamples, seed=self.seed)


def evaluate(
    judged: Judged,
    metrics: Mapping[str, RankingMetric],
    k: int,
    query_types: tuple[str | None, ...],
    query_ids: tuple[str, ...] = (),
    *,
    groups: Groups | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> Evaluation:
    """Measure every metric at the cutoffs 1 to max(20, k), with intervals at the cutoff of the run.

    Args:
        judged: The judged rankings.
        metrics: Functions `(judged, k)` by name.
        k: The cutoff of the run, at least 1.
        query_types: Type of each judged query, shape [queries].
        query_ids: Id of each judged query for error messages, shape [queries]. By default their positions.
        groups: Those of the judged queries; by default, each is alone.
        resamples: Number of bootstrap resamples.
        seed: Seed of the bootstrap.

    Raises:
        ConfigError: A metric did not return one finite number per query.
    """
    names = query_ids or tuple(str(query) for query in judged.queries)
    values = np.stack([values_at(judged, metrics, cutoff, names) for cutoff in range(1, max(CURVE, k) + 1)], axis=1)
    groups = groups or Groups.none(len(judged.queries))
    return Evaluation(k, described(metrics), values, query_types, judged, groups, resamples, seed)


def described(metrics: Mapping[str, RankingMetric]) -> tuple[Metric, ...]:
    """The descriptions of metrics."""
    return tuple(metric_of(name, function) for name, function in metrics.items())


def values_at(judged: Judged, metrics: Mapping[str, RankingMetric], cutoff: int, query_ids: tuple[str, ...]) -> Array:
    """The value of each metric at a cutoff, shape [metrics, queries].

    Raises:
        ConfigError: A metric did not return one finite number per query.
    """
    return np.array([checked_values(of(judged, cutoff), query_ids, name, cutoff) for name, of in metrics.items()])


def at_cutoff(values: Array, k: int, ranks: Indices | None) -> Array:
    """The values of each query at k or at a cutoff of its own, shape [..., queries].

    Args:
        values: Shape [..., cutoffs, queries].
        k: The cutoff.
        ranks: That of each query, shape [queries], at which values are 0 where it is 0; None if it is k for all.
    """
    if ranks is None:
        return values[..., k - 1, :]
    return np.where(ranks > 0, values[..., np.maximum(ranks, 1) - 1, np.arange(len(ranks))], 0.0)


def checked_values(values: object, query_ids: tuple[str, ...], name: str, cutoff: int) -> PerQuery:
    """The values of a metric as an array. Raises `ConfigError` unless they are one finite number per query."""
    try:
        array = np.asarray(values)
    except ValueError:  # lists of several lengths
        array = np.array(None)
    if array.dtype.kind not in "biuf":
        problem = f"a non-numeric {type(values).__name__}"
    elif array.shape != (len(query_ids),):
        problem = f"values of shape {array.shape}"
    elif (faulty := np.flatnonzero(~np.isfinite(array))).size:
        problem = f"{array[faulty[0]]} for query {query_ids[faulty[0]]!r}"
    else:
        return array.astype(np.float64, copy=False)
    raise ConfigError(
        f"evaluation.metrics.{name}: returned {problem} at k={cutoff}; "
        f"expected an array of shape ({len(query_ids)},) with one finite number per query"
    )
