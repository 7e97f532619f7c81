"""One configuration for several datasets: what it loses on each, and its mean over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragsweep.core.arrays import Mask
from ragsweep.statistics.intervals import COVERAGE, EQUAL, Array, first_best, resample_weights
from ragsweep.statistics.pairs import affordable, distances, in_parts, inverse, largest_distance


@dataclass(frozen=True)
class Regrets:
    """What each configuration loses against the best one of each dataset. Arrays have shape [datasets, configurations].

    Attributes:
        measured: Best mean on the dataset minus the mean of the configuration on it, in the metric's unit.
        low: Lower bounds.
        high: Upper bounds; infinite on a dataset with a single query. The true regrets of all configurations on all
            datasets are within their bounds with 95 % confidence: so are those of a configuration that was chosen by
            them, and the largest of its regrets is between the largest of its lower and of its upper bounds.
    """

    measured: Array
    low: Array
    high: Array


def regrets(scores: Sequence[Array], *, resamples: int = 10_000, seed: int = 0) -> Regrets:
    """What each configuration loses against the best one of each dataset (regret; Savage 1951), with bounds.

    The best one was chosen by the same queries, so the measured regret is no estimate of the true one. The bounds are
    simultaneous intervals of the differences of all pairs, by the largest t statistic (Hsu 1984, multiple comparisons
    with the best; Romano and Wolf 2005). Its quantile is taken from a bootstrap over the queries of the dataset, and
    widened by the ratio of Student's and the normal quantile for as many queries. The datasets share the error of 5 %
    (Sidak 1967: they are independent).

    Args:
        scores: One metric of every configuration on each dataset, each of shape [configurations, queries]. Higher is
            better.
        resamples: How many times the queries of a dataset are drawn.
        seed: Seed of the draws; each dataset has draws of its own.
    """
    level = COVERAGE ** (1 / len(scores))
    bounds = [_bounds(own, level, resamples, seed + place) for place, own in enumerate(scores)]
    return Regrets(*(np.array(bound) for bound in zip(*bounds, strict=True)))


def least_regret(regret: Array, possible: Mask | None = None) -> int:
    """The configuration whose largest regret is the smallest (minimax regret); of equal ones, that with the least mean.

    Args:
        regret: Shape [datasets, configurations].
        possible: Which configurations may be chosen, shape [configurations]; all of them if none may.
    """
    possible = np.ones(regret.shape[1], dtype=bool) if possible is None or not possible.any() else possible
    largest = np.where(possible, regret.max(axis=0), np.inf)
    return int(np.where(largest <= largest.min() + EQUAL, regret.mean(axis=0), np.inf).argmin())


def in_one(scores: Sequence[Array]) -> Array:
    """The scores on all datasets side by side, scaled so that the mean over queries is the mean over datasets.

    Every dataset counts the same, however many queries it has. Signs can be flipped and queries be drawn as usual.
    The result has shape [configurations, queries of all datasets]; `scores` are those of `regrets`.
    """
    queries = sum(own.shape[1] for own in scores)
    return np.concatenate([own * (queries / (len(scores) * own.shape[1])) for own in scores], axis=1)


def mean_interval(scores: Sequence[Array], *, resamples: int = 10_000, seed: int = 0) -> tuple[Array, Array]:
    """95 % percentile bootstrap intervals of the means over these datasets, drawing queries within each of them.

    Those of a dataset with few queries are widened as in `regrets`, which has the same arguments. The bounds have shape
    [configurations]; they are infinite where a dataset has a single query.
    """
    if min(own.shape[1] for own in scores) < 2:
        endless = np.full(len(scores[0]), np.inf)
        return -endless, endless
    tail, drawn = (1 + COVERAGE) / 2, list[Array]()
    for place, own in enumerate(scores):
        means, queries = own.mean(axis=1, keepdims=True), own.shape[1]
        resampled = _resampled(own - means, resamples, seed + place)
        drawn.append(means + resampled * _for_few(queries, tail) * np.sqrt(queries / max(queries - 1, 1)))
    fewest = min(means.shape[1] for means in drawn)
    low, high = np.quantile(np.mean([means[:, :fewest] for means in drawn], axis=0), [1 - tail, tail], axis=-1)
    return low, high


def _bounds(scores: Array, level: float, resamples: int, seed: int) -> tuple[Array, Array, Array]:
    """Measured regrets on one dataset, and their bounds, each of shape [configurations]."""
    queries, means = scores.shape[1], scores.mean(axis=1)
    measured = means[first_best(means)] - means
    if queries < 2:
        return measured, np.zeros_like(means), np.full_like(means, np.inf)
    centred = scores - means[:, None]
    error = distances(centred) / np.sqrt(queries * (queries - 1))
    scale, largest = inverse(error), list[Array]()
    for block in in_parts([_resampled(centred, affordable(resamples, len(scores)), seed)]):
        work = np.empty_like(block)
        largest.append(np.max([largest_distance(block, row, scale, work) for row in range(len(block))], axis=0))
    width = np.quantile(np.concatenate(largest), level) * _for_few(queries, (1 + level) / 2) * error
    apart = means - means[:, None]  # [configuration, another one]: how much better the other one is
    return measured, (apart - width).max(axis=1).clip(min=0), (apart + width).max(axis=1).clip(min=0)


def _for_few(queries: int, tail: float) -> float:
    """How much wider Student's quantile is than the normal one."""
    from scipy.special import ndtri, stdtrit

    return float(stdtrit(max(queries - 1, 1), tail) / ndtri(tail))


def _resampled(scores: Array, resamples: int, seed: int) -> Array:
    """The mean of each configuration in each bootstrap resample, shape [configurations, resamples]."""
    return np.concatenate([scores @ block for block in resample_weights(scores.shape[1], resamples, seed)], axis=1)
