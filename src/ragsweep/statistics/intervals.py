"""Confidence intervals by bootstrap over queries or groups of queries, and of shares; mean, deviation and quartiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ragsweep.statistics.groups import Groups

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

STATISTICS = ["mean", "std", "min", "25%", "50%", "75%", "max"]

COVERAGE = 0.95  # share of the resampled values within an interval
FEW_QUERIES = 20  # with fewer, intervals are too narrow, and tests do not keep their level
LEVEL = 0.05  # of tests: the probability of finding a difference where there is none
EQUAL = 1e-12  # smaller differences between metric values are rounding errors
WEIGHTS_AT_ONCE = 4_000_000  # weights in memory at once; bounds memory for many queries
MANY_QUERIES = 20_000  # of more, fewer resamples are drawn, and in a faster way
DRAWS_OF_MANY = 200_000_000  # queries x resamples
FEWEST_RESAMPLES = 1_000


def spread(values: Array) -> dict[str, Array]:
    """Mean, standard deviation and quartiles over the last axis, by their names in `STATISTICS`."""
    deviation = values.std(axis=-1, ddof=1) if values.shape[-1] > 1 else np.full(values.shape[:-1], np.nan)
    quartiles = np.quantile(values, [0, 0.25, 0.5, 0.75, 1], axis=-1)
    return dict(zip(STATISTICS, [values.mean(axis=-1), deviation, *quartiles], strict=True))


def confidence_intervals(
    per_query: Array, *, groups: Groups | None = None, resamples: int = 10_000, seed: int = 0
) -> tuple[Array, Array]:
    """95 % percentile bootstrap intervals of the means, resampling queries (Efron 1979).

    Args:
        per_query: Values, shape [..., queries]. All leading axes use the same resamples.
        groups: Those of the queries; then groups are drawn, with all of their queries.
        resamples: How many times the queries are drawn, with replacement.
        seed: Seed of the draws.

    Returns:
        Lower and upper bounds, each of shape [...].
    """
    weights = resample_weights(per_query.shape[-1], resamples, seed, groups)
    means = np.concatenate([per_query @ block for block in weights], axis=-1)
    low, high = np.quantile(means, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2], axis=-1)
    return low, high


def wilson(correct: npt.ArrayLike, questions: npt.ArrayLike) -> tuple[Array, Array]:
    """The 95 % score interval of a share (Wilson 1927).

    Args:
        correct: How many questions are answered correctly, any shape.
        questions: Of how many, same shape.

    Returns:
        Lower and upper bounds in [0, 1], same shape. Of no questions, 0 and 1.
    """
    from scipy.special import ndtri

    right, n = np.asarray(correct, dtype=float), np.asarray(questions, dtype=float)
    z = ndtri((1 + COVERAGE) / 2)
    centre = (right + z**2 / 2) / (n + z**2)
    half = z / (n + z**2) * np.sqrt(right * (n - right) / np.maximum(n, 1) + z**2 / 4)
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)


def effective_queries(values: Array, groups: Groups) -> Array:
    """How many queries without groups would tell as much: their number, divided by the design effect (at least 1).

    A few groups also say less of that effect, so that the quantile of t grows (Korn and Graubard 1998).

    Args:
        values: Shape [..., queries].
        groups: Those of the queries.

    Returns:
        Shape [...]; the number of queries without groups, and 1 for a single group.
    """
    effective: Array = groups.queries / np.maximum(1, groups.design_effect(values))
    if not groups.in_use:
        return effective
    return np.maximum(1, effective * (_student(groups.queries) / _student(groups.effective)) ** 2)


def _student(units: float) -> float:
    """The upper quantile of Student's t for the mean of so many independent values."""
    from scipy.special import stdtrit

    return float(stdtrit(max(1, units - 1), (1 + COVERAGE) / 2))


def affordable_resamples(resamples: int, queries: int, at_least: int = FEWEST_RESAMPLES) -> int:
    """The number of resamples for so many queries: fewer for more than `MANY_QUERIES`, whose intervals are narrow.

    It is never cut below `at_least`.
    """
    if queries <= MANY_QUERIES:
        return resamples
    return min(resamples, max(at_least, DRAWS_OF_MANY // queries))


def resample_weights(queries: int, resamples: int, seed: int, groups: Groups | None = None) -> Iterator[Array]:
    """The weight of each query in each bootstrap resample, in blocks of shape [queries, resamples of the block].

    There are `affordable_resamples` of them. With groups, groups are drawn, and their queries share the weight. They
    are fewer than there are, so that intervals are as wide as those by Student's t: Rao and Wu (1988) draw one less,
    and the fewer and the more unequal groups are, the less their sample says of their variance.
    """
    block, resamples = max(1, WEIGHTS_AT_ONCE // queries), affordable_resamples(resamples, queries)
    for number, start in enumerate(range(0, resamples, block)):
        size, key = min(block, resamples - start), (seed, number)
        if groups is None or not groups.in_use:
            yield _weights_of_block(queries, queries, size, key)
        else:
            weights = _weights_of_block(groups.number, _drawn(groups), size, key)[groups.of]
            yield weights / weights.sum(axis=0)


def _drawn(groups: Groups) -> int:
    """How many groups are drawn for a resample."""
    from scipy.special import ndtri

    return max(1, round((groups.number - 1) * (ndtri((1 + COVERAGE) / 2) / _student(groups.effective)) ** 2))


def resample_statistic(
    statistic: Callable[[Array], float], items: int, resamples: int, seed: int, groups: Groups | None = None
) -> Array:
    """The value of a statistic in each bootstrap resample. The resamples are those of `confidence_intervals`.

    Args:
        statistic: Takes the weight of each item (at least 0, adding up to 1, shape [items]) and returns a value.
        items: Number of items.
        resamples: How many times the items are drawn, with replacement.
        seed: Seed of the draws.
        groups: Those of the items.

    Returns:
        Shape [resamples], with `affordable_resamples`.
    """
    weights = resample_weights(items, resamples, seed, groups)
    return np.array([statistic(weight) for block in weights for weight in block.T], dtype=np.float64)


def first_best(means: Array) -> Indices:
    """Position of the highest mean along the first axis. Of means that differ only by rounding, the first."""
    position: Indices = np.asarray(means >= means.max(axis=0) - EQUAL).argmax(axis=0)
    return position


@lru_cache(maxsize=8)  # the runs of a sweep share their queries and query types
def _weights_of_block(units: int, drawn: int, resamples: int, seed: tuple[int, int]) -> Array:
    """The weight of each query, or group, in each resample of so many, shape [units, resamples]."""
    rng = np.random.default_rng(seed)
    if units > MANY_QUERIES:  # the same distribution as below, in a tenth of the time
        rows = (rng.integers(0, units, drawn, dtype=np.int32) for _ in range(resamples))
        return np.array([np.bincount(row, minlength=units) for row in rows]).T / drawn
    draws = rng.multinomial(drawn, np.full(units, 1 / units), size=resamples)
    return np.ascontiguousarray(draws.T / drawn)
