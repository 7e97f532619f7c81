"""The Pareto front of quality and cost, with the uncertainty of both."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragsweep.core.arrays import Mask
from ragsweep.statistics.bounded_mean import least_queries, p_above
from ragsweep.statistics.intervals import EQUAL, LEVEL, Array
from ragsweep.statistics.pair_statistics import affordable, distances, in_parts, inverse, largest_distance
from ragsweep.statistics.paired_tests import sign_patterns


def shown_to_beat(
    quality: Array,
    cost: Array,
    *,
    margin: float = 0.0,
    span: float = np.inf,
    tolerance: float = 0.0,
    alike: Mask | None = None,
    resamples: int = 10_000,
    seed: int = 0,
    level: float = LEVEL,
) -> Mask:
    """Find which configurations beat which: better in one of quality and cost, and not worse in the other.

    A configuration is beaten if another one is shown to be better in quality and not dearer, or cheaper and not worse
    in quality. "Not" allows for `tolerance` and `margin`, since two configurations never cost exactly the same. All
    pairs are tested at once, by the largest paired t statistic under random signs of the queries; quality and a
    measured cost at half of the level each. The probability that any configuration of the true front is beaten is at
    most the level if the differences of equally good configurations are symmetric, and near it otherwise.

    "Not worse" by a margin is shown by a test that holds also where few queries carry the loss
    (`bounded_mean`), at half of the level of quality. Without a margin, configurations that measure the same on every
    query count as equally good.

    Args:
        quality: One metric of every configuration, shape [configurations, queries]. Higher is better.
        cost: Of every configuration, lower is better: for the same queries or for any sample of queries, shape
            [configurations, sample]; or known without uncertainty, shape [configurations].
        margin: How much worse a quality may be that counts as not worse, in its unit.
        span: The range of the quality: the largest possible size of a difference; finite where there is a margin.
        tolerance: How much more may be paid for what counts as not dearer, as a share of the cost. Set this or
            `margin`: with both, two configurations could beat each other.
        alike: Which pairs cost the same, whatever their costs, shape [configurations, configurations]; None for none.
        resamples: Number of sign patterns to try; fewer with more than about 300 configurations (`affordable`).
        seed: Seed of the draws.
        level: Probability that any configuration of the true front is beaten.

    Returns:
        Whether a configuration is beaten by another one, shape [configurations, other].
    """
    is_exact = cost.ndim == 1
    share = level if is_exact else level / 2
    better, not_worse = _shown(quality, np.zeros(len(quality)), resamples, seed, share / 2 if margin else share)
    if is_exact:
        cheaper, not_dearer = cost < cost[:, None], cost <= (1 + tolerance) * cost[:, None]
    else:
        cheaper, not_dearer = _shown(-cost, tolerance * cost.mean(axis=1), resamples, seed, share)
    if alike is not None:
        cheaper, not_dearer = cheaper & ~alike, not_dearer | alike
    beaten: Mask = np.asarray(better & not_dearer)
    if margin:
        among = cheaper & ~beaten.any(axis=1, keepdims=True)
        beaten |= _nearly_as_good(quality, among, margin, span, level=share / 2)
    else:
        beaten |= cheaper & not_worse
    return beaten


def _nearly_as_good(values: Array, among: Mask, margin: float, span: float, *, level: float) -> Mask:
    """Whether another one is shown not to be worse by the margin, shape [i, j], of those in `among`, same shape.

    Corrected for the number of pairs: of two configurations, only one can be worse by the margin (Shaffer 1986).
    """
    level /= max(1, len(values) * (len(values) - 1) // 2)
    near = among & (values.mean(axis=1) - values.mean(axis=1)[:, None] > -margin)
    shown: Mask = np.zeros(near.shape, dtype=bool)
    if least_queries(margin, span, level) <= values.shape[1]:
        for row in np.flatnonzero(near.any(axis=1)):
            shown[row, near[row]] = p_above(values[near[row]] - values[row], margin, span) <= level
    return shown


def _shown(values: Array, slack: Array, resamples: int, seed: int, level: float) -> tuple[Mask, Mask]:
    """Which pairs are shown to differ, shape [i, j]: j is higher than i; j is not lower than i by `slack[i]`."""
    queries, sums = values.shape[1], values.sum(axis=1)
    norms = distances(values)
    gains = sums - sums[:, None]
    shifted = gains + queries * slack[:, None]
    shifted_norms = np.sqrt((norms**2 + 2 * slack[:, None] * gains + queries * slack[:, None] ** 2).clip(min=0))
    scales = [inverse(norms), inverse(shifted_norms)]
    largest = np.concatenate([*_largest(values, slack, scales, resamples, seed)])
    critical = np.quantile(largest, 1 - level, method="higher") + EQUAL
    higher, not_lower = gains * scales[0] > critical, shifted * scales[1] > critical
    return higher, higher | not_lower | (norms <= EQUAL)


def _largest(values: Array, slack: Array, scales: list[Array], resamples: int, seed: int) -> Iterator[Array]:
    """The largest statistic of any pair, with and without slack, under each sign pattern."""
    scale, shifted_scale = scales
    patterns = sign_patterns(values.shape[1], affordable(resamples, len(values)), seed)
    for flipped in in_parts(np.vstack([values @ signs, signs.sum(axis=0)]) for signs in patterns):
        sums, drift = flipped[:-1], flipped[-1]
        work, largest = np.empty_like(sums), np.zeros(len(drift))
        for row in range(len(sums)):
            np.maximum(largest, largest_distance(sums, row, scale, work), out=largest)
            if slack[row]:
                np.subtract(sums, sums[row] - slack[row] * drift, out=work)
                work *= shifted_scale[row, :, None]
                work[row] = 0
                np.maximum(largest, work.max(axis=0), out=largest)
        yield largest
