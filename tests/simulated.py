"""Simulated sweeps with known means: F1 at 5 of 133 queries, as skewed and as correlated as in real sweeps."""

from functools import cache

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binom, norm

from ragsweep.statistics import Groups

QUERIES, K = 133, 5
RELEVANT = {1: 0.46, 2: 0.34, 3: 0.13, 4: 0.07}  # share of queries by their number of relevant units
F1 = st.sampled_from([0.0, 1 / 3, 2 / 7, 1 / 2, 2 / 3, 1.0])
SCORES = st.tuples(st.integers(2, 5), st.integers(1, 18)).flatmap(lambda shape: arrays(float, shape, elements=F1))


@cache
def _thresholds(hit):
    """Normal values above which a further unit is retrieved, shape [relevant units, units retrieved]."""
    return norm.ppf(binom.cdf(np.arange(max(RELEVANT)), np.arange(max(RELEVANT) + 1)[:, None], hit))


def hits_of(normal, relevant, hit):
    """`binom.ppf(norm.cdf(normal), relevant, hit)`, many times as fast."""
    return (normal[..., None] > _thresholds(hit)[relevant]).sum(axis=-1)


def f1_like(rng, likeness, queries=QUERIES, hit=0.6, shift=0.0):
    """F1 of each configuration and query, shape [configurations, queries].

    The hits of each configuration are binomial. The hits of two configurations depend on each other through normal
    variables with the correlations in `likeness`, so that a query is about as hard for similar configurations.

    Args:
        rng: Random generator.
        likeness: Correlations, shape [configurations, configurations].
        queries: Number of queries.
        hit: Probability that a relevant unit is retrieved.
        shift: Added to the normal variable of each configuration. Values above 0 make it better.
    """
    relevant = rng.choice([*RELEVANT], p=[*RELEVANT.values()], size=queries)
    normal = np.linalg.cholesky(likeness) @ rng.standard_normal((len(likeness), queries))
    hits = hits_of(normal + np.reshape(shift, (-1, 1)), relevant, hit)
    return 2 * hits / (K + relevant)


def mean_f1(hit):
    """The true mean of `f1_like` without a shift."""
    return sum(share * 2 * count * hit / (K + count) for count, share in RELEVANT.items())


def alike(configurations, correlation=0.86):
    """Correlations of equally similar configurations. With .86, their F1 values correlate by .8."""
    return np.where(np.eye(configurations), 1.0, correlation)


def sweep(configurations=5, queries=40, seed=1):
    """A sweep of equally good and equally similar configurations."""
    return f1_like(np.random.default_rng(seed), alike(configurations), queries)


def at_most(level, times):
    """The share of `times` simulations that an exact test of this level exceeds once in 200."""
    return level + 2.6 * np.sqrt(level * (1 - level) / times)


def one_unlike(configurations):
    """Correlations of similar configurations, like values of alpha, and a last one that differs from all others."""
    likeness = alike(configurations, 0.97)
    likeness[-1, :-1] = likeness[:-1, -1] = 0.4
    return likeness


def near_copies(rng, configurations=5, queries=2_000, rare=0.2):
    """Scores of configurations that differ from the first by a small constant in most queries, and much in a few."""
    first = f1_like(rng, np.eye(1), queries)
    scores = np.repeat(first, configurations, axis=0)
    for row in range(1, configurations):
        few = rng.random(queries) < rare
        scores[row] = np.clip(scores[row] + np.where(few, -0.08, 0.02), 0, 1)
    return scores


def in_groups(rng, likeness, sizes, correlation=0.7, shift=0.0):
    """`f1_like` scores of queries in groups, and the group of each query: paraphrases have the same relevant units.

    Args:
        rng: Random generator.
        likeness: As in `f1_like`.
        sizes: Number of queries of each group.
        correlation: That of the normal variables of two queries of a group, under one configuration.
        shift: As in `f1_like`.
    """
    of = np.repeat(np.arange(len(sizes)), sizes)
    relevant = rng.choice([*RELEVANT], p=[*RELEVANT.values()], size=len(sizes))[of]
    shared, own = (rng.standard_normal((len(likeness), count)) for count in (len(sizes), len(of)))
    normal = np.linalg.cholesky(likeness) @ (
        np.sqrt(correlation) * shared[:, of] + np.sqrt(1 - correlation) * own
    ) + np.reshape(shift, (-1, 1))
    hits = hits_of(normal, relevant, 0.6)
    return 2 * hits / (K + relevant), Groups(of)


FIVES = [5] * 26 + [3]  # 133 queries
TENS = [10] * 30  # 300
UNEQUAL = [20, 15, 12, 10, 8, *[6] * 3, *[5] * 3, *[4] * 3, *[3] * 3, *[2] * 5, *[1] * 4]  # 133
