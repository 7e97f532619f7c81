"""Statistics of all pairs of configurations under many sign patterns: the slowest part of the tests of a sweep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ragsweep.statistics.intervals import EQUAL, Array

CELLS, PATTERNS = 65_536, 256  # at once: what fits into the cache of a processor, but at least so many patterns
MOST_SIGNED_PAIRS = 1_000_000_000  # pairs x patterns of one test, which take a few seconds
FEWEST_PATTERNS = 1_000


def affordable(resamples: int, configurations: int) -> int:
    """The number of sign patterns for a test of all pairs: `resamples`, or fewer for many configurations.

    10,000 for up to 316 configurations, 1,000 for 1,000 of them and more. The test keeps its level with any number of
    patterns. With 1,000 of them, a p-value of 0.05 has a standard error of 0.007.
    """
    return min(resamples, max(FEWEST_PATTERNS, MOST_SIGNED_PAIRS // configurations**2))


def distances(rows: Array) -> Array:
    """Euclidean distance of all pairs of rows, shape [rows, rows]; loading SciPy's function for it takes longer."""
    return np.array([np.linalg.norm(rows - row, axis=1) for row in rows])


def inverse(norms: Array) -> Array:
    """1 / norm, and 0 for pairs without any difference."""
    return np.divide(1, norms, out=np.zeros_like(norms), where=norms > EQUAL)


def in_parts(blocks: Iterable[Array]) -> Iterator[Array]:
    """Split blocks of shape [configurations, patterns] into ones with fewer patterns, which are faster to work on."""
    for block in blocks:
        size = max(PATTERNS, CELLS // len(block))
        for start in range(0, block.shape[1], size):
            yield np.ascontiguousarray(block[:, start : start + size])


def largest_distance(sums: Array, row: int, scale: Array, work: Array) -> Array:
    """The largest scaled distance between one configuration and any later one, under each pattern.

    Args:
        sums: Of the differences under each pattern, shape [configurations, patterns].
        row: Position of the configuration.
        scale: The inverse of the standard error of each pair, shape [configurations, configurations].
        work: Memory for the distances, shape of `sums`.

    Returns:
        Shape [patterns], 0 for the last configuration.
    """
    apart = np.subtract(sums[row + 1 :], sums[row], out=work[row + 1 :])
    np.abs(apart, out=apart)
    apart *= scale[row, row + 1 :, None]
    largest: Array = apart.max(axis=0, initial=0)
    return largest
