"""How far a mean over queries can be trusted."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

BLOCK = 4_000_000  # weights that are held at once, so that memory does not grow with the number of queries


def confidence_intervals(
    per_query: Array, *, resamples: int = 10_000, seed: int = 0, level: float = 0.95
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
    queries = per_query.shape[-1]
    block = max(1, BLOCK // queries)
    sizes = [min(block, resamples - start) for start in range(0, resamples, block)]
    means = np.concatenate(
        [per_query @ _resampling(queries, size, (seed, number)) for number, size in enumerate(sizes)], axis=-1
    )
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], axis=-1)
    return low, high


@lru_cache(maxsize=8)  # the runs of a sweep ask the same queries, of the same few types
def _resampling(queries: int, resamples: int, seed: tuple[int, int]) -> Array:
    """How much each query weighs in each resample, shape [queries, resamples]."""
    draws = np.random.default_rng(seed).multinomial(queries, np.full(queries, 1 / queries), size=resamples)
    return np.ascontiguousarray(draws.T / queries)
