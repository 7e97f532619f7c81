"""Non-inferiority and equivalence of a pair, against scipy and in simulations with a known difference."""

import numpy as np
import pytest
from scipy.stats import permutation_test
from simulated import at_most

from ragsweep.statistics import against_baseline
from ragsweep.statistics.betting import BETS, STAKES


def scipys(values):
    """The one-sided p-value of scipy's exact paired permutation test."""
    return permutation_test((values,), np.mean, permutation_type="samples", alternative="greater").pvalue


def test_without_bounds_the_tests_are_scipys():
    differences = np.random.default_rng(0).normal(0.02, 0.1, 12)
    found = against_baseline(differences, 0.05, np.inf)
    assert found.p_not_worse == pytest.approx(scipys(differences + 0.05))
    assert found.p_worse == pytest.approx(scipys(-differences))
    assert found.p_equivalent == pytest.approx(max(scipys(differences + 0.05), scipys(0.05 - differences)))


def test_equal_runs_are_equivalent_only_with_enough_queries():
    few, many = (against_baseline(np.zeros(queries), 0.05, 1.0) for queries in (78, 79))
    assert few.least == few.needed == 79
    assert few.p_not_worse > 0.05 >= many.p_not_worse
    assert few.p_equivalent > 0.05 >= many.p_equivalent
    assert few.least >= np.log(0.05) / np.log(0.95)  # no test can do with fewer: 1 - margin to the n-th is seen as 0s


@pytest.mark.parametrize("span", [1.0, 4.0])
@pytest.mark.parametrize("queries", [30, 133, 300])
def test_a_few_queries_that_lose_everything_hide_in_at_most_5_percent(queries, span):
    rng, sets, margin = np.random.default_rng(7), 500, 0.03
    draws = -span * (rng.random((sets, queries)) < margin)
    passed = [against_baseline(each, margin * span, span, resamples=9).p_not_worse <= 0.05 for each in draws]
    assert np.mean(passed) <= at_most(0.05, sets)


def test_the_capital_is_that_of_a_slow_gambler():
    values, margin, span = np.random.default_rng(8).uniform(-1.5, 2, 40), 0.2, 2.0
    total = 0.0
    for stake, share in zip(STAKES, BETS, strict=True):
        capital = stake
        for value in values:
            capital *= 1 + share * (value + margin) / (span - margin)
        total += capital
    assert against_baseline(values, margin, span).p_not_worse == pytest.approx(min(1, 1 / total))


def test_a_clear_loss_is_worse():
    found = against_baseline(np.random.default_rng(1).normal(-0.1, 0.05, 40), 0.01, 1.0)
    assert found.p_worse < 0.001
    assert found.p_not_worse == pytest.approx(1, abs=0.001)
    assert found.needed is None


@pytest.mark.parametrize("queries", [30, 133])
@pytest.mark.parametrize("metric", ["scores", "hits"])
def test_what_is_worse_by_the_margin_passes_in_at_most_5_percent(metric, queries):
    rng, sets, margin = np.random.default_rng(2), 600, 0.05
    draw = {
        "scores": lambda: rng.normal(-margin, 0.15, queries),
        "hits": lambda: rng.choice([-1.0, 0.0, 1.0], queries, p=[0.15, 0.75, 0.10]),
    }[metric]
    passed = [against_baseline(draw(), margin, 1.0, resamples=999).p_not_worse <= 0.05 for _ in range(sets)]
    assert np.mean(passed) <= at_most(0.05, sets)


@pytest.mark.parametrize("side", [-1, 1])
def test_what_differs_by_the_margin_is_called_equivalent_in_at_most_5_percent(side):
    rng, sets, margin = np.random.default_rng(3), 600, 0.05
    found = [
        against_baseline(rng.normal(side * margin, 0.15, 133), margin, 1.0, resamples=999).p_equivalent <= 0.05
        for _ in range(sets)
    ]
    assert np.mean(found) <= at_most(0.05, sets)


def test_the_queries_needed_are_enough_of_the_same_and_one_less_is_not():
    differences, margin = np.array([0.1, -0.1, 0.2, -0.2, 0.0]), 0.02
    needed = against_baseline(differences, margin, 1.0).needed
    copies = needed // 5
    fewer, more = (against_baseline(np.tile(differences, each), margin, 1.0) for each in (copies - 1, copies + 1))
    assert fewer.p_not_worse > 0.05 >= more.p_not_worse


def test_the_order_of_the_queries_does_not_matter():
    differences = np.random.default_rng(5).normal(0, 0.1, 60)
    one, other = (against_baseline(each, 0.02, 1.0) for each in (differences, differences[::-1].copy()))
    assert (one.p_not_worse, one.p_worse, one.p_equivalent) == (other.p_not_worse, other.p_worse, other.p_equivalent)


@pytest.mark.parametrize("setting", [{"seed": 1}, {"resamples": 200}])
def test_every_setting_matters(setting):
    differences = np.random.default_rng(6).normal(-0.01, 0.1, 60)
    assert against_baseline(differences, 0.02, 1.0) != against_baseline(differences, 0.02, 1.0, **setting)
