"""Statistics of all pairs of configurations under many sign patterns: the slowest part of the tests of a sweep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from ragsweep.statistics.intervals import EQUAL, Array, Indices

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


def step_down(observed: Array, scale: Array, blocks: Iterable[Array]) -> tuple[Array, int]:
    """In how many patterns the largest statistic of all configurations that are left is as large as the observed one.

    Args:
        observed: How much better configuration j is than i, in standard errors, shape [i, j].
        scale: The inverse of the standard error of each pair, same shape.
        blocks: The configurations under several patterns, each of shape [configurations, patterns].

    Returns:
        The number of such patterns, shape [configurations], and the number of all patterns. No configuration has a
        lower number than one that is a clearer loser.
    """
    order, statistic = _clearest_losers(observed)
    scale = scale[np.ix_(order, order)]
    as_far, patterns = np.zeros(len(order)), 0
    for block in in_parts(blocks):
        sums, work, largest = block[order], np.empty_like(block), np.zeros(block.shape[1])
        for row in range(len(order) - 1, -1, -1):
            np.maximum(largest, largest_distance(sums, row, scale, work), out=largest)
            as_far[row] += (largest >= statistic[row] - EQUAL).sum()
        patterns += block.shape[1]
    placed = np.empty_like(as_far)
    placed[order] = np.maximum.accumulate(as_far)
    return placed, patterns


def _clearest_losers(observed: Array) -> tuple[Indices, Array]:
    """The configurations, clearest loser first, each with its largest statistic against those that come later."""
    left = observed.copy()
    np.fill_diagonal(left, 0)
    order, statistic = np.zeros(len(left), dtype=np.int64), np.zeros(len(left))
    for place in range(len(left)):
        worst = left.max(axis=1)
        row = int(worst.argmax())
        order[place], statistic[place] = row, worst[row]
        left[row], left[:, row] = -np.inf, -np.inf
    return order, statistic
