"""Regret, disagreement and transfer over several datasets, against slow and obvious computations."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import t as student
from simulated import at_most

from ragsweep.statistics import (
    disagreement,
    in_one,
    least_regret,
    leave_one_out,
    mean_interval,
    regrets,
)

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
    as_good = np.array([[True, False], [True, True]])
    assert least_regret(regret) == 1
    assert least_regret(regret, as_good) == 0
    assert least_regret(regret, np.eye(2, dtype=bool)) == 1  # none may be the best on both


def test_side_by_side_the_mean_over_queries_is_that_over_datasets():
    scores = simulated(np.random.default_rng(5), (8, 133, 40), [[0, 0.1]] * 3)
    assert in_one(scores).mean(axis=1) == pytest.approx(np.mean([own.mean(axis=1) for own in scores], axis=0))


@given(REGRET)
def test_leave_one_out_is_a_loop_over_the_datasets(regret):
    found = leave_one_out(regret)
    for place, loss in enumerate(found.losses):
        assert loss == regret[place][least_regret(np.delete(regret, place, axis=0))]
    if any(found.losses):
        size = np.sqrt(np.mean(np.square(found.losses)))
        assert found.bound == pytest.approx(size * student.ppf(0.95, len(regret) / 3))
    else:
        assert found.bound is None


def test_two_datasets_say_nothing_of_a_third():
    assert leave_one_out(np.zeros((2, 3))) is None


def q_by_hand(first, second):
    """Cochran's Q of one row of deviations on two datasets."""
    means = [np.mean(each) for each in (first, second)]
    weights = [len(each) / np.var(each, ddof=1) for each in (first, second)]
    centre = np.average(means, weights=weights)
    return sum(weight * (mean - centre) ** 2 for weight, mean in zip(weights, means, strict=True))


def test_disagreement_is_the_share_of_shuffles_with_a_q_as_large():
    rng = np.random.default_rng(6)
    scores = [rng.random((2, 4)), rng.random((2, 5)) + np.array([[0.3], [0.0]])]
    deviations = np.concatenate([own[0] - own.mean(axis=0) for own in scores])
    every = [
        q_by_hand(deviations[list(few)], np.delete(deviations, few)) for few in combinations(range(9), 4)
    ]  # exactly: all ways to take 4 of 9 queries
    exact = np.mean(np.array(every) >= every[0] - 1e-9)
    assert disagreement(scores, resamples=20_000) == pytest.approx(exact, abs=0.03)


def test_a_harder_dataset_does_not_disagree():
    rng = np.random.default_rng(7)
    one, other = simulated(rng, (60, 60), [[0, 0.1, 0.2]] * 2)
    assert disagreement([one, other], resamples=500) == disagreement([one, other - 0.4], resamples=500)


def test_configurations_that_measure_the_same_cannot_disagree():
    same = np.repeat(np.random.default_rng(8).random((1, 20)), 3, axis=0)
    assert disagreement([same, same[:, :4]]) == 1.0


def share_of_alarms(times, sizes, means, noises):
    found = []
    for seed in range(times):
        rng = np.random.default_rng((9, seed))
        scores = [
            part
            for size, own, noise in zip(sizes, means, noises, strict=True)
            for part in simulated(rng, [size], [own], noise)
        ]
        found.append(disagreement(scores, resamples=199, seed=seed) <= 0.05)
    return np.mean(found)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("sizes", "noises"), [((60, 60), (0.15, 0.15)), ((133, 8), (0.15, 0.15)), ((100, 30, 60), (0.15, 0.25, 0.1))]
)
def test_datasets_that_agree_are_rarely_said_to_disagree(times, sizes, noises):
    most = times(600)
    assert share_of_alarms(most, sizes, [[0, 0.1, 0.05]] * len(sizes), noises) <= at_most(0.06, most)


@pytest.mark.usefixtures("long_work")
def test_an_outlier_among_three_is_found(times):
    means = [[0, 0.06, 0], [0, 0.06, 0], [0.06, 0, 0]]
    assert share_of_alarms(times(300), (100, 100, 100), means, [0.15] * 3) >= 0.8


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


@pytest.mark.usefixtures("long_work")
def test_a_new_dataset_rarely_loses_more_than_is_stated(times):
    kept, most = [], times(1500)
    for seed in range(most):
        rng = np.random.default_rng((11, seed))
        means = rng.normal(0, 0.05, 5) + rng.normal(0, 0.05, (7, 5)) + rng.normal(0, 0.01, (7, 5))
        regret = means.max(axis=1, keepdims=True) - means
        stated = leave_one_out(regret[:6]).bound
        if stated is not None:
            kept.append(regret[6, least_regret(regret[:6])] <= stated)
    assert 1 - np.mean(kept) <= at_most(0.1, len(kept))
