"""Confidence intervals: by bootstrap over queries, and of shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

COVERAGE = 0.95  # share of the resampled values within an interval
LEVEL = 0.05  # of tests: the probability of finding a difference where there is none
EQUAL = 1e-12  # smaller differences between metric values are rounding errors
WEIGHTS_AT_ONCE = 4_000_000  # weights in memory at once; bounds memory for many queries
MANY_QUERIES = 20_000  # of more, fewer resamples are drawn, and in a faster way
DRAWS_OF_MANY = 200_000_000  # queries x resamples
FEWEST_RESAMPLES = 1_000


def confidence_intervals(
    per_query: Array, *, resamples: int = 10_000, seed: int = 0, level: float = COVERAGE
) -> tuple[Array, Array]:
    """Percentile bootstrap intervals of the means, resampling queries (Efron 1979).

    Args:
        per_query: Values, shape [..., queries]. All leading axes use the same resamples.
        resamples: How many times the queries are drawn, with replacement.
        seed: Seed of the draws.
        level: Share of the resampled means within the interval.

    Returns:
        Lower and upper bounds, each of shape [...].
    """
    weights = resample_weights(per_query.shape[-1], resamples, seed)
    means = np.concatenate([per_query @ block for block in weights], axis=-1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=-1)
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


def affordable_resamples(resamples: int, queries: int, at_least: int = FEWEST_RESAMPLES) -> int:
    """The number of resamples for so many queries: fewer for more than `MANY_QUERIES`, whose intervals are narrow.

    It is never cut below `at_least`.
    """
    if queries <= MANY_QUERIES:
        return resamples
    return min(resamples, max(at_least, DRAWS_OF_MANY // queries))


def resample_weights(queries: int, resamples: int, seed: int) -> Iterator[Array]:
    """The weight of each query in each bootstrap resample, in blocks of shape [queries, resamples of the block].

    There are `affordable_resamples` of them.
    """
    block, resamples = max(1, WEIGHTS_AT_ONCE // queries), affordable_resamples(resamples, queries)
    for number, start in enumerate(range(0, resamples, block)):
        yield _weights_of_block(queries, min(block, resamples - start), (seed, number))


def resample_statistic(statistic: Callable[[Array], float], items: int, resamples: int, seed: int) -> Array:
    """The value of a statistic in each bootstrap resample. The resamples are those of `confidence_intervals`.

    Args:
        statistic: Takes the weight of each item (at least 0, adding up to 1, shape [items]) and returns a value.
        items: Number of items.
        resamples: How many times the items are drawn, with replacement.
        seed: Seed of the draws.

    Returns:
        Shape [resamples], with `affordable_resamples`.
    """
    weights = resample_weights(items, resamples, seed)
    return np.array([statistic(weight) for block in weights for weight in block.T], dtype=np.float64)


def first_best(means: Array) -> Indices:
    """Position of the highest mean along the first axis. Of means that differ only by rounding, the first."""
    position: Indices = np.asarray(means >= means.max(axis=0) - EQUAL).argmax(axis=0)
    return position


@lru_cache(maxsize=8)  # the runs of a sweep share their queries and query types
def _weights_of_block(queries: int, resamples: int, seed: tuple[int, int]) -> Array:
    """The weight of each query in each resample, shape [queries, resamples]."""
    rng = np.random.default_rng(seed)
    if queries > MANY_QUERIES:  # the same distribution as below, in a tenth of the time
        drawn = (rng.integers(0, queries, queries, dtype=np.int32) for _ in range(resamples))
        return np.array([np.bincount(rows, minlength=queries) for rows in drawn]).T / queries
    draws = rng.multinomial(queries, np.full(queries, 1 / queries), size=resamples)
    return np.ascontiguousarray(draws.T / queries)
