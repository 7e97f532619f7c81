"""Which configuration to ship: everything that the scores of a sweep say about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ragsweep.statistics.comparison import (
    Comparison,
    ComparisonWithBest,
    compare,
    compare_aggregates_with_best,
    compare_with_best,
)
from ragsweep.statistics.intervals import EQUAL, Array, confidence_intervals
from ragsweep.statistics.intervals import LEVEL as INTERVAL
from ragsweep.statistics.power import detectable_difference, queries_needed
from ragsweep.statistics.selection import (
    Selection,
    SelectionByType,
    select,
    select_by_type,
    win_frequency,
)

PATTERNS_A_TEST = 100  # with fewer sign patterns a test of many, corrected by Holm, could not find anything
LEVEL = 0.05
WORTHWHILE = 0.02  # the difference for which the queries are counted that would show it


@dataclass(frozen=True)
class Power:
    """What the queries can show about two configurations that are as alike as the best of this sweep.

    Attributes:
        detectable: The smallest difference that is found in 80 of 100 such sets of queries where nothing else is
            compared, in the metric's unit.
        needed: How many queries a difference of `WORTHWHILE` needs for that.
        detectable_among_all: The same as `detectable` where all pairs of the sweep are compared; a little cautious.
        needed_among_all: The same as `needed`.
    """

    detectable: float
    needed: int
    detectable_among_all: float
    needed_among_all: int


@dataclass(frozen=True)
class Decision:
    """What the scores of a sweep say; each array has shape [configurations].

    Attributes:
        with_best: Which configurations cannot be told from the best.
        difference: Mean over queries of configuration minus best, in the metric's unit.
        difference_low: Lower bound of its 95 % bootstrap interval, of this pair alone.
        difference_high: Upper bound.
        wins: How often each would be the best, had other queries been drawn.
        baseline: Every configuration against the one that was fixed beforehand; None where there is none.
        selection: What choosing the best yields on other queries; None for a single query.
        by_type: Whether a configuration for each type of query yields more; None without two types.
        power: What the queries can show; None where no two configurations differ.
        higher_is_better: The direction of the metric; `wins` of the comparison with the baseline count better queries.
    """

    with_best: ComparisonWithBest
    difference: Array
    difference_low: Array
    difference_high: Array
    wins: Array
    baseline: Comparison | None
    selection: Selection | None
    by_type: SelectionByType | None
    power: Power | None
    higher_is_better: bool = True

    @property
    def best(self) -> int:
        """Position of the configuration with the highest mean, the first of equals."""
        return self.with_best.best

    @property
    def types_pay(self) -> bool:
        """Whether a configuration for each type of query is better on held-out queries, by more than chance."""
        if self.by_type is None or self.by_type.p > LEVEL:
            return False
        return self.by_type.gain > 0 if self.higher_is_better else self.by_type.gain < 0


def decide(
    scores: Array,
    types: Sequence[str | None],
    *,
    baseline: int | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    higher_is_better: bool = True,
) -> Decision:
    """Compare, select and count wins.

    Args:
        scores: One metric of every configuration, shape [configurations, queries]; all finite, at least one of each.
        types: Type of each query or None, shape [queries].
        baseline: Position of the configuration that was fixed beforehand as the one to beat.
        resamples: Of every test and interval.
        seed: Of every random draw.
        higher_is_better: The direction of the metric.
    """
    if not higher_is_better:
        return _negated(decide(-scores, types, baseline=baseline, resamples=resamples, seed=seed))
    configurations, queries = scores.shape
    several = queries > 1 and configurations > 1
    with_best = compare_with_best(scores, resamples=resamples, seed=seed)
    typed = len({kind for kind in types if kind is not None}) > 1
    by_type = select_by_type(scores, types, resamples=resamples, seed=seed) if several and typed else None
    differences = scores - scores[with_best.best]
    low, high = confidence_intervals(differences, resamples=resamples, seed=seed)
    enough = max(resamples, PATTERNS_A_TEST * configurations)
    return Decision(
        with_best=with_best,
        difference=differences.mean(axis=1),
        difference_low=low,
        difference_high=high,
        wins=win_frequency(scores, resamples=resamples, seed=seed),
        baseline=None if baseline is None else compare(scores, baseline, resamples=enough, seed=seed),
        selection=by_type.for_all if by_type else select(scores, types, seed=seed) if several else None,
        by_type=by_type,
        power=_power(scores, with_best) if several else None,
    )


def decide_by_aggregate(values: Array, resampled: Array, *, higher_is_better: bool = True) -> Decision:
    """Compare configurations by a metric that is no mean over queries, such as a calibration error.

    Nothing can be said of held-out queries, of types or of power, since single queries have no score.

    Args:
        values: The metric of every configuration, shape [configurations].
        resampled: The metric in each bootstrap resample, the same resamples for all, shape [configurations, resamples].
        higher_is_better: The direction of the metric.
    """
    if not higher_is_better:
        return _negated(decide_by_aggregate(-values, -resampled))
    with_best = compare_aggregates_with_best(values, resampled)
    differences = resampled - resampled[with_best.best]
    low, high = np.quantile(differences, [(1 - INTERVAL) / 2, (1 + INTERVAL) / 2], axis=1)
    is_best = resampled >= resampled.max(axis=0) - EQUAL
    return Decision(
        with_best=with_best,
        difference=values - values[with_best.best],
        difference_low=low,
        difference_high=high,
        wins=(is_best / is_best.sum(axis=0)).mean(axis=1),
        baseline=None,
        selection=None,
        by_type=None,
        power=None,
    )


def _negated(decision: Decision) -> Decision:
    """A decision between negated scores, in the units of the scores themselves."""
    against, by_type = decision.baseline, decision.by_type
    return replace(
        decision,
        difference=-decision.difference,
        difference_low=-decision.difference_high,
        difference_high=-decision.difference_low,
        baseline=against
        and replace(
            against,
            difference=-against.difference,
            low=-against.high,
            high=-against.low,
            effect_size=-against.effect_size,
        ),
        selection=decision.selection and _negated_selection(decision.selection),
        by_type=by_type
        and replace(
            by_type,
            for_all=_negated_selection(by_type.for_all),
            by_type=tuple(map(_negated_selection, by_type.by_type)),
            per_query=-by_type.per_query,
        ),
        higher_is_better=False,
    )


def _negated_selection(selection: Selection) -> Selection:
    return replace(selection, apparent=-selection.apparent, per_query=-selection.per_query)


def _power(scores: Array, with_best: ComparisonWithBest) -> Power | None:
    """Of the median pair of the best and one that is tied with it, or with any where none is.

    The less two configurations have in common, the larger is the deviation of their difference; those that matter for
    the decision are much alike.
    """
    deviations = (scores - scores[with_best.best]).std(axis=1, ddof=1)
    different = deviations > EQUAL
    if not different.any():
        return None
    close = different & with_best.tied
    deviation = float(np.median(deviations[close if close.any() else different]))
    configurations, queries = scores.shape
    corrected = LEVEL / (configurations * (configurations - 1) / 2)
    return Power(
        detectable=float(detectable_difference(deviation, queries)),
        needed=int(queries_needed(deviation, WORTHWHILE)),
        detectable_among_all=float(detectable_difference(deviation, queries, level=corrected)),
        needed_among_all=int(queries_needed(deviation, WORTHWHILE, level=corrected)),
    )
