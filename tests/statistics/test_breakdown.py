"""How many wrong judgments a better mean can bear, against all subsets of items and against simulated ones."""

from itertools import combinations
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ragsweep.statistics import breakdown

VALUES = st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 2 / 3, 1.0])
SCORES = st.tuples(st.integers(2, 4), st.integers(1, 7)).flatmap(lambda shape: arrays(float, shape, elements=VALUES))


def best_first(scores):
    return scores[np.argsort(-scores.mean(axis=1), kind="stable")]


def better_when_wrong(best, other, wrong, low=0.0, high=1.0):
    """Whether the other one has the better mean if the best should have `low` on these items, and the other `high`."""
    corrected, of_other = best.copy(), other.copy()
    corrected[list(wrong)], of_other[list(wrong)] = low, high
    return of_other.sum() > corrected.sum() + 1e-9


@given(SCORES)
def test_the_worst_case_is_the_smallest_set_of_items_that_makes_any_other_one_better(scores):
    best, *others = best_first(scores)
    items = range(len(best))
    fewest = next(
        size
        for size in items
        for wrong in combinations(items, size + 1)
        if any(better_when_wrong(best, other, wrong) for other in others)
    )
    found = breakdown(best, np.array(others), 0, 1)
    assert found.worst == fewest + 1
    assert any(better_when_wrong(best, others[found.rival], wrong) for wrong in combinations(items, found.worst))


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("seed", range(5))
def test_drawn_at_random_it_is_the_number_that_makes_it_better_in_half_of_the_draws(seed):
    rng = np.random.default_rng(seed)
    best, other = rng.choice([0, 0.5, 1.0], (2, 60), p=[0.2, 0.3, 0.5])
    best[:15] = 1
    found = breakdown(best, other[None], 0, 1)

    def share(number):
        drawn = (rng.choice(60, number, replace=False) for _ in range(2000))
        return np.mean([better_when_wrong(best, other, wrong) for wrong in drawn])

    assert found.worst <= found.at_random
    assert share(found.at_random) >= 0.45  # 0.05 is more than 3 standard errors of both simulations
    assert share(found.at_random - 1) <= 0.55


@pytest.mark.usefixtures("long_work")
@given(SCORES)
def test_costs_and_scores_are_alike_turned_round(scores):
    best, *others = best_first(scores)
    others = np.array(others)
    assert breakdown(best, others, 0, 1) == breakdown(5 * best - 2, 5 * others - 2, -2, 3)


def test_without_bounds_the_measured_values_are_the_bounds():
    best, other = np.array([3.0, 2.0, 2.0]), np.array([[1.0, 1.0, 1.0]])
    assert breakdown(best, other, -inf, inf) == breakdown(best, other, 1, 3)


def test_nothing_is_said_where_nothing_can_differ():
    assert breakdown(np.ones(4), np.empty((0, 4)), 0, 1) is None
    assert breakdown(np.ones(4), np.ones((2, 4)), -inf, inf) is None
