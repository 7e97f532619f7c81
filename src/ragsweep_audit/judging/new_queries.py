"""What a race says about new queries like those that were judged.

The difference between two configurations on new queries differs from what the judgments show in two ways. The queries
are a sample: that error is the same at every look, and Student's t bounds it, with the spread of the estimates per
query (which contains the spread of the draws within a query, so that the bound is rather too wide). And not all pairs
are judged: that error changes from look to look, and a confidence sequence bounds it at all of them (the mixture of
Robbins; asymptotically with an estimated variance, Waudby-Smith et al. 2024, arXiv 2103.06476). Both are added.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from ragsweep.core.arrays import Indices
from ragsweep.statistics.intervals import Array

FEWEST_QUERIES = 20
OF_QUERIES = 0.8  # of the level, for the sample of queries; the rest is for the draws
TUNED_FOR = 25.0  # times the square of the first draw's weight: the variance at which the sequence is narrowest


class Evidence(NamedTuple):
    """What the judgments show.

    Attributes:
        weights: As of `Race`.
        queries: Position of the query of each pair, shape [pairs].
        of_all: How many queries there are, also those without a pair.
        grades: From 0 to 1, 0 where nothing is known, shape [pairs].
        counted: How often each pair counts in the estimates, shape [pairs].
        unknown: The pairs that the estimates take for not relevant without knowing it.
        covariance: Of the estimates, by what the draws showed, [configurations, configurations]; 0 where all is judged.
        first_variance: About what the first draw alone leaves of it; 0 where nothing is left to chance.
        level: The probability of an error.
    """

    weights: Array
    queries: Indices
    of_all: int
    grades: Array
    counted: Array
    unknown: Indices
    covariance: Array
    first_variance: float
    level: float


def largest_lead(shown: Evidence, configuration: int) -> Array:
    """By how much a configuration may be better than each, on new queries, shape [configurations].

    With a probability of at most the level, any of them is exceeded at any look.
    """
    ahead = shown.weights[configuration] - shown.weights
    rivals, queries = len(ahead) - 1, shown.of_all
    relevant = np.flatnonzero(shown.grades)
    gains = ahead[:, relevant] * (shown.grades * shown.counted)[relevant]
    values = np.array([np.bincount(shown.queries[relevant], gain, queries) for gain in gains])
    of_queries = student.isf(OF_QUERIES * shown.level / rivals, queries - 1) * np.sqrt(queries) * values.std(1, ddof=1)
    variance = np.diag(shown.covariance) + shown.covariance[configuration, configuration]
    variance = np.maximum(variance - 2 * shown.covariance[configuration], 0)
    of_draws = _boundary(variance, TUNED_FOR * shown.first_variance, (1 - OF_QUERIES) * shown.level / rivals)
    of_unknown = np.maximum(ahead[:, shown.unknown], 0) @ shown.counted[shown.unknown]
    lead: Array = values.sum(axis=1) + of_queries + of_draws + of_unknown
    lead[configuration] = 0.0
    return lead


def _boundary(variance: Array, tuned: float, level: float) -> Array | float:
    """What a sum of such a variance exceeds at any look with at most this probability (Howard et al. 2021, eq. 14)."""
    if not tuned:  # nothing was drawn
        return 0.0
    mixed = variance + tuned
    edge: Array = np.sqrt(2 * mixed * np.log(np.sqrt(mixed / tuned) / (2 * level) + 1))
    return edge
