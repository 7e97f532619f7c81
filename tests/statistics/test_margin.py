"""Non-inferiority and equivalence of a pair, against scipy and in simulations with a known difference."""

import numpy as np
import pytest
from scipy.stats import binom, permutation_test
from simulated import at_most

from ragsweep.statistics import against_baseline
from ragsweep.statistics.bounded_mean import least_margin, least_queries, p_above


@pytest.mark.usefixtures("long_work")
def test_equal_runs_are_equivalent_only_with_enough_queries():
    few, many = (against_baseline(np.zeros(queries), 0.05, 1.0) for queries in (58, 59))
    assert few.least == few.needed == 59
    assert few.p_not_worse > 0.05 >= many.p_not_worse
    assert few.p_equivalent > 0.05 >= many.p_equivalent
    assert few.p_not_worse == pytest.approx(0.95**58, rel=0.02)  # how often a loss of 1 in 5 % of queries is not seen


@pytest.mark.parametrize("span", [1.0, 4.0])
@pytest.mark.parametrize("queries", [30, 133, 300])
def test_a_few_queries_that_lose_everything_hide_in_at_most_5_percent(queries, span, times):
    rng, sets, margin = np.random.default_rng(7), times(500), 0.03
    draws = -span * (rng.random((sets, queries)) < margin)
    passed = [against_baseline(draw, margin * span, span, resamples=9).p_not_worse <= 0.05 for draw in draws]
    assert np.mean(passed) <= at_most(0.05, sets)


def test_of_values_of_two_sizes_the_test_is_the_exact_binomial_one():
    for lost, queries, margin in ((0, 30, 0.1), (1, 133, 0.05), (3, 133, 0.1), (20, 300, 0.1)):
        values = np.repeat([-1.0, 0.0], [lost, queries - lost])
        assert p_above(values[None], margin, 1.0)[0] == pytest.approx(binom.cdf(lost, queries, margin), rel=0.02)


def test_the_test_is_that_of_random_weights_and_one_more_worst_value():
    rng, margin = np.random.default_rng(8), 0.15
    values, weights = rng.uniform(-0.6, 0.7, (3, 40)), rng.dirichlet(np.ones(41), 100_000)
    for span in (1.0, 2.5):
        expected = [(weights @ np.append(row, -span) <= -margin).mean() for row in values]
        assert p_above(values, margin, span) == pytest.approx(expected, rel=0.1, abs=0.002)


def test_the_smallest_margin_is_about_3_of_the_number_of_queries_and_needs_all_of_them():
    for queries in (8, 20, 133, 1_000):
        margin = least_margin(queries, 1.0)
        assert margin == pytest.approx(3 / queries, rel=0.02 + 1.6 / queries)
        assert least_queries(margin, 1.0) == queries
        assert least_queries(0.99 * margin, 1.0) == pytest.approx(queries + 1, rel=0.02)


def test_whether_it_is_worse_is_tested_like_scipy():
    losses = -np.random.default_rng(0).normal(0.02, 0.1, 12)
    expected = permutation_test((losses,), np.mean, permutation_type="samples", alternative="greater").pvalue
    assert against_baseline(-losses, 0.05, 1.0).p_worse == pytest.approx(expected)


def test_a_clear_loss_is_worse():
    comparison = against_baseline(np.random.default_rng(1).normal(-0.1, 0.05, 40), 0.01, 1.0)
    assert comparison.p_worse < 0.001
    assert comparison.p_not_worse == pytest.approx(1, abs=0.001)
    assert comparison.needed is None


@pytest.mark.parametrize("queries", [30, 133])
@pytest.mark.parametrize("metric", ["scores", "hits"])
def test_what_is_worse_by_the_margin_passes_in_at_most_5_percent(metric, queries, times):
    rng, sets, margin = np.random.default_rng(2), times(600), 0.05
    draw = {
        "scores": lambda: rng.normal(-margin, 0.15, queries),
        "hits": lambda: rng.choice([-1.0, 0.0, 1.0], queries, p=[0.15, 0.75, 0.10]),
    }[metric]
    passed = [against_baseline(draw(), margin, 1.0, resamples=999).p_not_worse <= 0.05 for _ in range(sets)]
    assert np.mean(passed) <= at_most(0.05, sets)


@pytest.mark.parametrize("side", [-1, 1])
def test_what_differs_by_the_margin_is_called_equivalent_in_at_most_5_percent(side, times):
    rng, sets, margin = np.random.default_rng(3), times(600), 0.05
    draws = (rng.normal(side * margin, 0.15, 133) for _ in range(sets))
    passed = [against_baseline(draw, margin, 1.0, resamples=999).p_equivalent <= 0.05 for draw in draws]
    assert np.mean(passed) <= at_most(0.05, sets)


@pytest.mark.usefixtures("long_work")
def test_the_queries_needed_are_enough_of_the_same_and_one_less_is_not():
    differences, margin = np.array([0.1, -0.1, 0.2, -0.2, 0.0]), 0.02
    needed = against_baseline(differences, margin, 1.0).needed
    copies = needed // 5
    fewer, more = (against_baseline(np.tile(differences, n), margin, 1.0) for n in (copies - 1, copies + 1))
    assert fewer.p_not_worse > 0.05 >= more.p_not_worse


def test_the_order_of_the_queries_does_not_matter():
    differences = np.random.default_rng(5).normal(0, 0.1, 60)
    one, other = (against_baseline(order, 0.02, 1.0) for order in (differences, differences[::-1].copy()))
    assert (one.p_not_worse, one.p_worse, one.p_equivalent) == (other.p_not_worse, other.p_worse, other.p_equivalent)
