"""Sweeps whose truth is known: F1 at 5 of 133 queries, as skewed and as alike as those of real configurations."""

import numpy as np
from scipy.stats import binom, norm

QUERIES, K = 133, 5
RELEVANT = {1: 0.46, 2: 0.34, 3: 0.13, 4: 0.07}  # share of the queries with so many relevant units


def f1_like(rng, likeness, queries=QUERIES, hit=0.6, shift=0.0):
    """F1 of each configuration and query, shape [configurations, queries].

    The hits are binomial for every configuration; those of two configurations depend on each other through a normal
    variable whose correlation is in `likeness`. A query is as hard for similar configurations.

    Args:
        rng: Where the chance comes from.
        likeness: Correlations, shape [configurations, configurations].
        queries: How many there are.
        hit: The chance that a relevant unit is retrieved.
        shift: Added to the normal variable of each configuration: above 0 makes it better.
    """
    relevant = rng.choice([*RELEVANT], p=[*RELEVANT.values()], size=queries)
    normal = np.linalg.cholesky(likeness) @ rng.standard_normal((len(likeness), queries))
    hits = binom.ppf(norm.cdf(normal + np.reshape(shift, (-1, 1))), relevant, hit)
    return 2 * hits / (K + relevant)


def mean_f1(hit):
    """The true mean of `f1_like` without a shift."""
    return sum(share * 2 * count * hit / (K + count) for count, share in RELEVANT.items())


def alike(configurations, correlation=0.86):
    """All equally alike; .86 makes their F1 correlate by .8."""
    return np.where(np.eye(configurations), 1.0, correlation)


def one_unlike(configurations):
    """All but the last much alike, as the values of alpha of one sweep are; the last is another kind of retrieval."""
    likeness = alike(configurations, 0.97)
    likeness[-1, :-1] = likeness[:-1, -1] = 0.4
    return likeness
