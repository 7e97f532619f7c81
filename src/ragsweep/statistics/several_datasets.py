"""One configuration for several datasets: what it loses on each, whether they disagree, what to expect on another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ragsweep.core.arrays import Indices, Mask
from ragsweep.statistics.intervals import (
    COVERAGE,
    EQUAL,
    WEIGHTS_AT_ONCE,
    Array,
    affordable_resamples,
    first_best,
    resample_weights,
)
from ragsweep.statistics.pairs import affordable, distances, in_parts, inverse, largest_distance

FEWEST_DATASETS = 3  # of fewer, leaving one out says nothing
OF_DRAWS = 0.9  # share of the draws of a new dataset in which a choice loses at most what is stated
UNEVEN = 3  # how much more the squares of losses, often 0 and sometimes large, vary than those of normal deviations
POOLED = 0.1  # weight, in queries, of the variance over all in that of a dataset: a few queries may all be the same


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
        seed: Seed of the draws.
    """
    level = COVERAGE ** (1 / len(scores))
    bounds = [_bounds(own, level, resamples, seed + place) for place, own in enumerate(scores)]
    measured, low, high = (np.array(each) for each in zip(*bounds, strict=True))
    return Regrets(measured, low, high)


def least_regret(regret: Array, as_good: Mask | None = None) -> int:
    """The configuration whose largest regret is the smallest (minimax regret); of equal ones, that with the least mean.

    Args:
        regret: Shape [datasets, configurations].
        as_good: Which configurations may be the best of a dataset, shape [datasets, configurations]. Where some may be
            the best of every dataset, one of these is chosen: what a dataset cannot tell apart does not outvote what
            another one can.
    """
    possible = np.ones(regret.shape[1], dtype=bool) if as_good is None else as_good.all(axis=0)
    largest = np.where(possible if possible.any() else True, regret.max(axis=0), np.inf)
    equal = largest <= largest.min() + EQUAL
    return int(np.where(equal, regret.mean(axis=0), np.inf).argmin())


def in_one(scores: Sequence[Array]) -> Array:
    """The scores on all datasets side by side, scaled so that the mean over queries is the mean over datasets.

    Every dataset counts the same, however many queries it has. Signs can be flipped and queries be drawn as usual.

    Args:
        scores: As in `regrets`.

    Returns:
        Shape [configurations, queries of all datasets].
    """
    every = sum(own.shape[1] for own in scores)
    return np.concatenate([own * (every / (len(scores) * own.shape[1])) for own in scores], axis=1)


def mean_interval(scores: Sequence[Array], *, resamples: int = 10_000, seed: int = 0) -> tuple[Array, Array]:
    """95 % percentile bootstrap intervals of the means over these datasets, drawing queries within each of them.

    Those of a dataset with few queries are widened as in `regrets`.

    Args:
        scores: As in `regrets`.
        resamples: How many times the queries of each dataset are drawn.
        seed: Seed of the draws; each dataset has draws of its own.

    Returns:
        Lower and upper bounds, each of shape [configurations]; infinite where a dataset has a single query.
    """
    if min(own.shape[1] for own in scores) < 2:
        endless = np.full(len(scores[0]), np.inf)
        return -endless, endless
    tail = (1 + COVERAGE) / 2
    drawn = []
    for place, own in enumerate(scores):
        means, queries = own.mean(axis=1, keepdims=True), own.shape[1]
        resampled = _resampled(own - means, resamples, seed + place)
        drawn.append(means + resampled * _for_few(queries, tail) * np.sqrt(queries / max(queries - 1, 1)))
    fewest = min(means.shape[1] for means in drawn)
    low, high = np.quantile(np.mean([means[:, :fewest] for means in drawn], axis=0), [1 - tail, tail], axis=-1)
    return low, high


def disagreement(scores: Sequence[Array], *, resamples: int = 10_000, seed: int = 0) -> float:
    """P-value of the hypothesis that the configurations differ by the same amounts on all datasets.

    Of each query, only the deviations of the configurations from their mean on it count, so that it does not matter
    which dataset is harder. The statistic is Cochran's Q (1954) of these deviations over the datasets, the largest of
    all configurations. The queries are shuffled among the datasets: exact if their deviations have the same
    distribution, and right for many queries if these have the same means only, because Q divides by the variance of
    each dataset (Chung and Romano 2013). Of fewer than 20 queries that vary more than others, it errs in up to 9 %.

    Args:
        scores: As in `regrets`. At least two datasets.
        resamples: How often the queries are shuffled.
        seed: Seed of the shuffling.

    Returns:
        P-value, in (0, 1].
    """
    together = np.concatenate(scores, axis=1)
    deviations = together - together.mean(axis=0)
    deviations -= deviations.mean(axis=1, keepdims=True)
    deviations = deviations[np.abs(deviations).max(axis=1) > EQUAL]
    if not len(deviations):
        return 1.0
    deviations /= deviations.std(axis=1, keepdims=True)
    dataset = np.repeat(np.arange(len(scores)), [own.shape[1] for own in scores])
    observed = _largest_q(deviations, dataset[None], len(scores))[0]
    queries = len(dataset)
    resamples = affordable_resamples(resamples, queries)
    step, as_large = max(1, WEIGHTS_AT_ONCE // (queries + len(scores) * len(deviations))), 0
    rng = np.random.default_rng(seed)
    for start in range(0, resamples, step):
        shuffled = rng.permuted(np.tile(dataset, (min(step, resamples - start), 1)), axis=1)
        as_large += int((_largest_q(deviations, shuffled, len(scores)) >= observed * (1 - EQUAL)).sum())
    return (1 + as_large) / (1 + resamples)


@dataclass(frozen=True)
class Transfer:
    """What a configuration loses on a dataset that did not take part in choosing it.

    Attributes:
        losses: Regret on each dataset of the configuration that the others choose, shape [datasets].
        bound: What the choice loses at most on another dataset, in 90 % of draws; None where no dataset shows a loss,
            of which no bound can be made.
    """

    losses: Array
    bound: float | None


def leave_one_out(regret: Array, as_good: Mask | None = None) -> Transfer | None:
    """Leave one dataset out, choose on the others, and measure the regret on the one that was left out.

    The datasets are taken as a sample of those to come. If a loss is the size of a normal deviation, its square
    divided by the mean square of the D losses follows F(1, D), so that 90 % of further losses are below the 95 %
    quantile of Student's t with D degrees of freedom, times the root mean square (a prediction interval; Hahn and
    Meeker 1991). Losses are more uneven than that, which costs degrees of freedom (Satterthwaite 1946): D / 3 are left.

    Args:
        regret: Measured regrets, shape [datasets, configurations].
        as_good: As in `least_regret`.

    Returns:
        None of fewer than three datasets.
    """
    from scipy.special import stdtrit

    datasets = len(regret)
    if datasets < FEWEST_DATASETS:
        return None
    others = ~np.eye(datasets, dtype=bool)
    chosen = [least_regret(regret[rows], None if as_good is None else as_good[rows]) for rows in others]
    losses = regret[np.arange(datasets), chosen]
    size = float(np.sqrt((losses**2).mean()))
    return Transfer(losses, size * float(stdtrit(datasets / UNEVEN, (1 + OF_DRAWS) / 2)) if size > EQUAL else None)


def _bounds(scores: Array, level: float, resamples: int, seed: int) -> tuple[Array, Array, Array]:
    """Measured regrets on one dataset, and their bounds, each of shape [configurations]."""
    queries, means = scores.shape[1], scores.mean(axis=1)
    measured = means[first_best(means)] - means
    if queries < 2:
        return measured, np.zeros_like(means), np.full_like(means, np.inf)
    centred = scores - means[:, None]
    error = distances(centred) / np.sqrt(queries * (queries - 1))
    scale = inverse(error)
    largest = []
    for block in in_parts([_resampled(centred, affordable(resamples, len(scores)), seed)]):
        work = np.empty_like(block)
        of_rows = [largest_distance(block, row, scale, work) for row in range(len(block))]
        largest.append(np.max(of_rows, axis=0))
    tail = (1 + level) / 2
    width = np.quantile(np.concatenate(largest), level) * _for_few(queries, tail) * error
    apart = means - means[:, None]  # [configuration, another one]: how much better the other one is
    return measured, (apart - width).max(axis=1).clip(min=0), (apart + width).max(axis=1).clip(min=0)


def _for_few(queries: int, tail: float) -> float:
    """How much wider Student's quantile is than the normal one."""
    from scipy.special import ndtri, stdtrit

    return float(stdtrit(max(queries - 1, 1), tail) / ndtri(tail))


def _resampled(scores: Array, resamples: int, seed: int) -> Array:
    """The mean of each configuration in each bootstrap resample, shape [configurations, resamples]."""
    return np.concatenate([scores @ block for block in resample_weights(scores.shape[1], resamples, seed)], axis=1)


def _largest_q(deviations: Array, dataset: Indices, datasets: int) -> Array:
    """The largest Q of all configurations under each assignment of queries to datasets, shape [assignments].

    Args:
        deviations: With mean 0 and variance 1, shape [configurations, queries].
        dataset: The dataset of each query, shape [assignments, queries].
        datasets: Their number.
    """
    squares = deviations**2
    weights = weighted = q = np.zeros((len(dataset), len(deviations)))
    for place in range(datasets):
        inside = (dataset == place).astype(float)
        count = inside[0].sum()
        mean = inside @ deviations.T / count
        variance = (inside @ squares.T - count * mean**2 + POOLED) / (count - 1 + POOLED)
        weight = count / variance
        weights, weighted, q = weights + weight, weighted + weight * mean, q + weight * mean**2
    largest: Array = (q - weighted**2 / weights).max(axis=1)
    return largest
