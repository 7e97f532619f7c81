"""How configurations compare with the best of them, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ragsweep.statistics.best_configurations import (
    ComparisonWithBest,
    compare_aggregates_with_best,
    compare_with_best,
    win_frequency,
)
from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import COVERAGE, EQUAL, LEVEL, Array, confidence_intervals
from ragsweep.statistics.paired_tests import PATTERNS_PER_TEST, Comparison, compare_with_reference
from ragsweep.statistics.power import FEWEST_FLIPPED, detectable_difference, fewest_queries
from ragsweep.statistics.selection import Selection, SelectionByType, select, select_by_type

WORTHWHILE = 0.02  # a difference that is worth detecting
MOST_GROUPS = 10**12


@dataclass(frozen=True)
class Power:
    """Statistical power for two configurations that are as similar as the best configurations of this sweep.

    Attributes:
        rival: Position of the configuration that is compared with the best one.
        differing: The number of queries, or groups of queries, on which the two differ.
        deviation: Standard deviation of the differences of such pairs over queries, in the metric's unit; with groups,
            times the root of the design effect, at least 1. With repeats, what these add is in it, so that more
            questions need more repeats, too.
        groups: The groups of the queries.
        lost: The range of the scores, which `compare_with_best` counts as lost on one more query, or group.
    """

    rival: int
    differing: int
    deviation: float
    groups: Groups
    lost: float

    @property
    def queries(self) -> int:
        """The number of queries."""
        return self.groups.queries

    @property
    def too_alike(self) -> bool:
        """Whether the two differ on so few queries that no test can tell them apart, whatever the differences are."""
        return self.differing < min(self.groups.number, FEWEST_FLIPPED)

    @property
    def detectable(self) -> float:
        """The smallest difference that is found in 80 of 100 such sets of queries if only two are compared."""
        return self._detectable(self.groups.number)

    def needed(self, difference: float) -> int:
        """How many queries, in groups like these, are needed to find a difference as often."""
        enough = fewest_queries(lambda groups: self._detectable(groups) <= difference, MOST_GROUPS)
        return self.groups.queries_in(max(FEWEST_FLIPPED, enough or MOST_GROUPS))

    def _detectable(self, number: int) -> float:
        alike = self.groups.effective / self.groups.number * number  # of equal sizes
        deviation = self.deviation * np.sqrt(self.groups.effective / self.queries)
        return float(detectable_difference(deviation, alike, lost=self.lost))


@dataclass(frozen=True)
class Standings:
    """How configurations compare with the best of them. Arrays have shape [configurations].

    Attributes:
        with_best: Which configurations cannot be told apart from the best.
        difference: Configuration minus best, mean over queries, in the metric's unit.
        difference_low: Lower bound of the 95 % bootstrap interval of the difference, for this pair alone.
        difference_high: Upper bound.
        wins: How often each configuration is the best when the queries are resampled.
        baseline: Every configuration compared with the baseline that was fixed beforehand. None without a baseline.
        selection: The score on other queries after choosing the best. None for a single query.
        by_type: Whether a configuration for each type of query scores better. None if there are fewer than two types.
        power: Which differences the queries can detect. None if no two configurations differ.
        higher_is_better: Direction of the metric. `baseline.wins` always counts the queries that got better.
    """

    with_best: ComparisonWithBest
    difference: Array
    difference_low: Array
    difference_high: Array
    wins: Array
    baseline: Comparison | None = None
    selection: Selection | None = None
    by_type: SelectionByType | None = None
    power: Power | None = None
    higher_is_better: bool = True

    @property
    def best(self) -> int:
        """Position of the best configuration. Of equal ones, the first."""
        return self.with_best.best

    @property
    def types_pay(self) -> bool:
        """Whether a configuration for each type of query is better on held-out queries by more than chance."""
        sign = 1 if self.higher_is_better else -1
        return self.by_type is not None and self.by_type.p <= LEVEL and sign * self.by_type.gain > 0


def standings(
    scores: Array,
    types: Sequence[str | None],
    *,
    groups: Groups | None = None,
    baseline: int | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    higher_is_better: bool = True,
) -> Standings:
    """Compare configurations by a metric that is a mean over queries.

    Args:
        scores: One metric of every configuration, shape [configurations, queries]. All finite, at least one of each.
        types: Type of each query or None, shape [queries].
        groups: Those of the queries, which are then drawn, flipped and held out as a whole.
        baseline: Position of the configuration that was fixed beforehand as the one to beat.
        resamples: Number of resamples of every test and interval.
        seed: Seed of every random draw.
        higher_is_better: Direction of the metric.
    """
    configurations, groups = len(scores), groups or Groups.none(scores.shape[1])
    drawn = {"resamples": resamples, "seed": seed}
    several = groups.number > 1 and configurations > 1
    sign = 1 if higher_is_better else -1
    units = groups.totals(sign * scores)
    with_best = compare_with_best(units, **drawn)
    typed = several and len({kind for kind in types if kind is not None}) > 1
    by_type = select_by_type(scores, types, groups=groups, sign=sign, **drawn) if typed else None
    alone = None if by_type or not several else select(scores, types, groups=groups, seed=seed, sign=sign)
    differences = scores - scores[with_best.best]
    low, high = confidence_intervals(differences, groups=groups, **drawn)
    against = None
    if baseline is not None:
        drawn["resamples"] = max(resamples, PATTERNS_PER_TEST * configurations)
        against = compare_with_reference(scores, baseline, groups=groups, **drawn)
        if not higher_is_better:
            against = replace(against, wins=against.losses, losses=against.wins)
    return Standings(
        with_best=with_best,
        difference=differences.mean(axis=1),
        difference_low=low,
        difference_high=high,
        wins=win_frequency(units, resamples=resamples, seed=seed),
        baseline=against,
        selection=by_type.for_all if by_type else alone,
        by_type=by_type,
        power=_power(scores, with_best, groups) if several else None,
        higher_is_better=higher_is_better,
    )


def standings_by_aggregate(values: Array, resampled: Array, *, higher_is_better: bool = True) -> Standings:
    """Compare configurations by a metric that is not a mean over queries, such as a calibration error.

    Single queries have no score, so there is no cross-validation, no comparison by type and no power analysis.

    Args:
        values: The metric of every configuration, shape [configurations].
        resampled: The metric in each bootstrap resample, shape [configurations, resamples]. All configurations must
            use the same resamples.
        higher_is_better: Direction of the metric.
    """
    sign = 1 if higher_is_better else -1
    with_best = compare_aggregates_with_best(sign * values, sign * resampled)
    low, high = np.quantile(resampled - resampled[with_best.best], [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2], axis=1)
    is_best = sign * resampled >= (sign * resampled).max(axis=0) - EQUAL
    return Standings(
        with_best=with_best,
        difference=values - values[with_best.best],
        difference_low=low,
        difference_high=high,
        wins=(is_best / is_best.sum(axis=0)).mean(axis=1),
        higher_is_better=higher_is_better,
    )


def _power(scores: Array, with_best: ComparisonWithBest, groups: Groups) -> Power | None:
    """Power for the median pair of the best and a configuration tied with it; if none is tied, of the best and any.

    Different configurations have differences that vary more over queries. The configurations that matter for the
    decision are similar to each other.
    """
    differences = scores - scores[with_best.best]
    deviations = differences.std(axis=1, ddof=1) * np.sqrt(np.maximum(1, groups.design_effect(differences)))
    different = deviations > EQUAL
    if not different.any():
        return None
    close = different & with_best.tied
    rivals = np.flatnonzero(close if close.any() else different)
    rival = int(rivals[np.argsort(deviations[rivals], kind="stable")[(len(rivals) - 1) // 2]])
    differing = int((np.abs(groups.totals(differences[rival])) > EQUAL).sum())
    return Power(rival, differing, float(np.median(deviations[rivals])), groups, float(np.ptp(groups.totals(scores))))
