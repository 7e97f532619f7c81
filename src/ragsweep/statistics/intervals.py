"""How far a mean over queries can be trusted: the bootstrap over queries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

LEVEL = 0.95  # share of the resampled values that an interval holds
EQUAL = 1e-12  # metrics are exact to this: what differs by less differs by rounding
BLOCK = 4_000_000  # weights that are held at once, so that memory does not grow with the number of queries


def confidence_intervals(
    per_query: Array, *, resamples: int = 10_000, seed: int = 0, level: float = LEVEL
) -> tuple[Array, Array]:
    """Percentile bootstrap intervals of the means, resampling queries (Efron 1979).

    Args:
        per_query: Values, shape [..., queries]; all leading axes see the same resamples.
        resamples: How many times the queries are drawn, with replacement.
        seed: Of the draws.
        level: Share of the resampled means that the interval holds.

    Returns:
        Lower and upper bounds, shape [...] each.
    """
    weights = resamplings(per_query.shape[-1], resamples, seed)
    means = np.concatenate([per_query @ block for block in weights], axis=-1)
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=-1)
    return low, high


def resamplings(queries: int, resamples: int, seed: int) -> Iterator[Array]:
    """How much each query weighs in each bootstrap resample, in pieces of shape [queries, some of the resamples]."""
    block = max(1, BLOCK // queries)
    for number, start in enumerate(range(0, resamples, block)):
        yield _resampling(queries, min(block, resamples - start), (seed, number))


def resampled(statistic: Callable[[Array], float], items: int, resamples: int, seed: int) -> Array:
    """A statistic in each bootstrap resample, the same resamples in which `confidence_intervals` takes means.

    Args:
        statistic: Of the items, given how much each of them counts: weights of at least 0 that add up to 1, shape
            [items].
        items: How many there are.
        resamples: How many times they are drawn, with replacement.
        seed: Of the draws.

    Returns:
        Shape [resamples].
    """
    weights = resamplings(items, resamples, seed)
    return np.array([statistic(weight) for block in weights for weight in block.T], dtype=np.float64)


def first_best(means: Array) -> Indices:
    """Position of the highest mean along the first axis, the first of those that only rounding tells apart."""
    position: Indices = np.asarray(means >= means.max(axis=0) - EQUAL).argmax(axis=0)
    return position


@lru_cache(maxsize=8)  # the runs of a sweep ask the same queries, of the same few types
def _resampling(queries: int, resamples: int, seed: tuple[int, int]) -> Array:
    """How much each query weighs in each resample, shape [queries, resamples]."""
    draws = np.random.default_rng(seed).multinomial(queries, np.full(queries, 1 / queries), size=resamples)
    return np.ascontiguousarray(draws.T / queries)
