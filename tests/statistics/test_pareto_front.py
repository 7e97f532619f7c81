"""The Pareto front, compared with a slow loop and on simulated sweeps with a known front."""

import numpy as np
import pytest
from simulated import alike, at_most, f1_like

from ragsweep.statistics import shown_to_beat


def pareto_front(quality, cost, **settings):
    """Which configurations nothing is shown to beat."""
    return ~shown_to_beat(quality, cost, **settings).any(axis=1)


def shown(difference, critical):
    size = np.sqrt((difference**2).sum())
    return size > 1e-12 and difference.sum() / size > critical


@pytest.mark.parametrize("tolerance", [0.0, 0.3])
def test_the_front_equals_its_definition(tolerance):
    """A slow loop over all patterns and pairs, quality and cost at half of the level each."""
    rng = np.random.default_rng(1)
    quality = rng.random((3, 8)) + np.array([[0], [0.1], [0.9]])
    cost = rng.random((3, 8)) + np.array([[3], [2.6], [2.9]])
    signs = np.array(np.meshgrid(*[[1, -1]] * 8)).reshape(8, -1)
    pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
    slack = tolerance * cost.mean(axis=1)

    def critical(gains):
        largest = np.max([gain @ signs / np.linalg.norm(gain) for gain in gains], axis=0)
        return np.quantile(largest, 0.975, method="higher")

    of_quality = critical([quality[j] - quality[i] for i, j in pairs])
    savings = [cost[i] - cost[j] for i, j in pairs]
    of_cost = critical(savings + [cost[i] - cost[j] + slack[i] for i, j in pairs])

    def beats(i, j):
        better, cheaper = shown(quality[j] - quality[i], of_quality), shown(cost[i] - cost[j], of_cost)
        not_dearer = cheaper or shown(cost[i] - cost[j] + slack[i], of_cost)
        return better and not_dearer

    expected = [not any(beats(i, j) for j in range(3) if j != i) for i in range(3)]
    assert pareto_front(quality, cost, tolerance=tolerance).tolist() == expected
    assert expected == ([True, True, True] if not tolerance else [False, True, True])


def test_who_is_on_the_front():
    rng = np.random.default_rng(0)
    quality, cost = rng.random((3, 40)), rng.random((3, 40)) + 5
    quality[1], cost[1] = quality[0] + 0.1, cost[0] - 1
    assert pareto_front(quality, cost)[:2].tolist() == [False, True], "better and cheaper on every query"
    equal = np.tile(rng.random(60), (2, 1))
    for cost in (np.array([1.0, 2.0]), np.array([[1.0] * 60, [2.0] * 60])):
        assert pareto_front(equal, cost).tolist() == [True, False], "of equal quality, the dearer one is beaten"
    for cost in (np.ones((3, 5)), np.ones(3)):
        assert pareto_front(np.ones((3, 5)), cost).all(), "copies do not beat each other"
    scores = f1_like(np.random.default_rng(3), alike(2), 133)
    assert pareto_front(scores, np.array([1.0, 2.0])).all(), "cheaper, but perhaps worse"
    quality = np.array([[0.0, 1.0] * 20, [0.0, 1.0] * 20, [0.0, 1.0] * 19 + [1.0, 1.0]])  # the last differs on one
    beaten = shown_to_beat(quality, np.array([3.0, 1.0, 2.0]))
    assert beaten.tolist() == [[False, True, False], [False] * 3, [False] * 3]


def test_a_configuration_of_the_true_front_is_rarely_excluded(times):
    """Every configuration is on the front: quality rises with cost, but by so little that chance can reverse it."""
    sweeps, rng = times(300), np.random.default_rng(4)
    excluded = []
    for _ in range(sweeps):
        quality = f1_like(rng, alike(8), 133, shift=np.linspace(0, 0.02, 8))
        cost = rng.normal(1, 0.3, (1, 133)) + rng.normal(0, 0.2, (8, 133)) + np.linspace(0, 0.01, 8)[:, None]
        excluded.append(not pareto_front(quality, cost, resamples=499).all())
    assert np.mean(excluded) <= at_most(0.05, sweeps)


def test_the_quality_of_equally_cheap_configurations_alone_is_tested_at_the_level(times):
    """Costs that are known to be equal leave one test: the better one of two equals is shown to be better."""
    sweeps, rng = times(400), np.random.default_rng(5)
    wrong = [not pareto_front(f1_like(rng, alike(6), 60), np.ones(6), resamples=499).all() for _ in range(sweeps)]
    assert 0.01 <= np.mean(wrong) <= at_most(0.05, sweeps)


@pytest.mark.parametrize("queries", [30, 100, 300])
def test_a_loss_that_few_queries_carry_is_not_hidden_by_a_margin(queries, times):
    """Each dearer configuration gains the margin on a few queries, and is on the front. Signs err in 39 % at 30."""
    sweeps, rng, margin = times(300), np.random.default_rng(6), 0.05
    excluded = []
    for _ in range(sweeps):
        quality = (rng.random((1, queries)) < [[0.4], [0.4 + margin], [0.4 + 2 * margin]]).astype(float)
        excluded.append(not pareto_front(quality, np.arange(3.0), margin=margin, span=1.0, resamples=199).all())
    assert np.mean(excluded) <= at_most(0.05, sweeps)


@pytest.mark.usefixtures("long_work")
def test_with_enough_queries_a_margin_takes_what_is_hardly_better_from_the_front():
    rng = np.random.default_rng(7)
    quality = np.clip(rng.random((1, 400)) + rng.normal(0, 0.02, (3, 400)) + np.array([[0], [0.2], [0.21]]), 0, 1)
    assert pareto_front(quality, np.arange(3.0), margin=0.05, span=1.0).tolist() == [True, True, False]
    assert pareto_front(quality[:, :20], np.arange(3.0), margin=0.05, span=1.0).tolist() == [True, True, True]
