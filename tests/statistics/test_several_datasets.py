"""Regret and means over several datasets, against slow and obvious computations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import t as student
from simulated import at_most

from ragsweep.statistics import in_one, least_regret, mean_interval, regrets

REGRET = arrays(float, st.tuples(st.integers(3, 6), st.integers(2, 5)), elements=st.integers(0, 5).map(float))


def simulated(rng, sizes, means, noise=0.15):
    """Scores on datasets with so many queries: the mean of each configuration on each, its queries, and noise."""
    return [
        0.5 + np.array(own)[:, None] + rng.normal(0, 0.2, size) + rng.normal(0, noise, (len(own), size))
        for size, own in zip(sizes, means, strict=True)
    ]


def test_regret_is_the_best_mean_of_the_dataset_minus_ones_own():
    scores = simulated(np.random.default_rng(1), (30, 50), [[0, 0.1, 0.2], [0.2, 0.1, 0]])
    found = regrets(scores, resamples=200)
    for place, own in enumerate(scores):
        for row in range(3):
            assert found.measured[place, row] == pytest.approx(max(own.mean(axis=1)) - own[row].mean())
    assert (found.low <= found.measured + 1e-12).all()
    assert (found.measured <= found.high + 1e-12).all()


def test_bounds_of_two_configurations_are_those_of_their_difference():
    [own] = simulated(np.random.default_rng(2), (400,), [[0, 0.1]])
    found = regrets([own], resamples=4000)
    difference = own[1] - own[0]
    half = student.ppf(0.975, 399) * difference.std(ddof=1) / 20
    assert found.high[0, 0] == pytest.approx(difference.mean() + half, rel=0.05)
    assert found.low[0, 0] == pytest.approx(difference.mean() - half, rel=0.05)
    assert found.high[0, 1] == 0.0


def test_few_queries_bound_less():
    few, many = (
        regrets(simulated(np.random.default_rng(3), (size, 100), [[0, 0], [0, 0]]), resamples=500).high[0].max()
        for size in (8, 400)
    )
    assert few > 4 * many


def test_one_query_bounds_nothing():
    assert np.isinf(regrets([np.array([[0.2], [0.4]])], resamples=10).high).all()


def test_configurations_that_measure_the_same_lose_nothing():
    same = np.repeat(np.random.default_rng(4).random((1, 20)), 3, axis=0)
    found = regrets([same, same], resamples=50)
    assert not found.measured.any()
    assert not found.high.any()


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


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("sizes", [(133, 8), (60, 30, 100)])
def test_bounds_hold_for_the_configuration_that_was_chosen(times, sizes):
    held, most = [], times(300)
    for seed in range(most):
        rng = np.random.default_rng((10, seed))
        means = rng.normal(0, 0.05, (len(sizes), 4))
        found = regrets(scores := simulated(rng, sizes, means), resamples=500, seed=seed)
        chosen, true = least_regret(found.measured), means.max(axis=1, keepdims=True) - means
        low, high = (bounds[:, chosen].max() for bounds in (found.low, found.high))
        below, above = mean_interval(scores, resamples=500, seed=seed)
        mean = 0.5 + means[:, 0].mean()
        held.append((low <= true[:, chosen].max() <= high, below[0] <= mean <= above[0]))
    of_regret, of_mean = np.mean(held, axis=0)
    assert 1 - of_regret <= at_most(0.05, most)
    assert 1 - of_mean <= at_most(0.07, most)  # of 8 queries, a bootstrap knows the spread roughly
