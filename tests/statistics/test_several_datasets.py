"""Regret and means over several datasets, against slow and obvious computations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ragsweep.statistics import in_one, least_regret, regrets

REGRET = arrays(float, st.tuples(st.integers(3, 6), st.integers(2, 5)), elements=st.integers(0, 5).map(float))


def simulated(rng, sizes, means, noise=0.15):
    """Scores on datasets with so many queries: the mean of each configuration on each, its queries, and noise."""
    return [
        0.5 + np.array(own)[:, None] + rng.normal(0, 0.2, size) + rng.normal(0, noise, (len(own), size))
        for size, own in zip(sizes, means, strict=True)
    ]


def test_regret_is_the_best_mean_of_the_dataset_minus_ones_own():
    assert regrets(np.array([[0.3, 0.6, 0.5], [0.4, 0.2, 0.4]])) == pytest.approx(
        np.array([[0.3, 0, 0.1], [0, 0.2, 0]])
    )


@given(REGRET)
def test_the_least_regret_is_found_by_trying_all(regret):
    _, _, expected = min((max(column), np.mean(column), place) for place, column in enumerate(regret.T))
    assert least_regret(regret) == expected


def test_what_a_dataset_cannot_tell_apart_does_not_outvote_another():
    regret = np.array([[0.0, 0.05], [0.2, 0.0]])
    assert least_regret(regret) == 1
    assert least_regret(regret, np.array([True, False])) == 0
    assert least_regret(regret, np.array([False, False])) == 1  # none may be the best on both


def test_side_by_side_the_mean_over_queries_is_that_over_datasets():
    scores = simulated(np.random.default_rng(5), (8, 133, 40), [[0, 0.1]] * 3)
    assert in_one(scores).mean(axis=1) == pytest.approx(np.mean([own.mean(axis=1) for own in scores], axis=0))
