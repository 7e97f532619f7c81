"""Non-inferiority and equivalence of a pair, against scipy and in simulations with a known difference."""

import numpy as np
import pytest
from scipy.stats import permutation_test
from simulated import at_most

from ragsweep.statistics import against_baseline


def scipys(values):
    """The one-sided p-value of scipy's exact paired permutation test."""
    return permutation_test((values,), np.mean, permutation_type="samples", alternative="greater").pvalue


def test_the_tests_are_scipys():
    differences = np.random.default_rng(0).normal(0.02, 0.1, 12)
    found = against_baseline(differences, 0.05)
    assert found.p_not_worse == pytest.approx(scipys(differences + 0.05))
    assert found.p_worse == pytest.approx(scipys(-differences))
    assert found.p_equivalent == pytest.approx(max(scipys(differences + 0.05), scipys(0.05 - differences)))


def test_equal_runs_are_not_worse_and_equivalent():
    found = against_baseline(np.zeros(20), 0.01)
    assert found.p_not_worse < 0.001
    assert found.p_equivalent < 0.001
    assert found.p_worse == 1


def test_a_clear_loss_is_worse():
    found = against_baseline(np.random.default_rng(1).normal(-0.1, 0.05, 40), 0.01)
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
    passed = [against_baseline(draw(), margin, resamples=999).p_not_worse <= 0.05 for _ in range(sets)]
    assert np.mean(passed) <= at_most(0.05, sets)


@pytest.mark.parametrize("side", [-1, 1])
def test_what_differs_by_the_margin_is_called_equivalent_in_at_most_5_percent(side):
    rng, sets, margin = np.random.default_rng(3), 600, 0.05
    found = [
        against_baseline(rng.normal(side * margin, 0.15, 133), margin, resamples=999).p_equivalent <= 0.05
        for _ in range(sets)
    ]
    assert np.mean(found) <= at_most(0.05, sets)


def test_the_queries_needed_have_80_percent_power():
    rng, margin = np.random.default_rng(4), 0.02
    differences = rng.normal(0, 1, 40)
    differences = 0.15 * (differences - differences.mean()) / differences.std(ddof=1)
    needed = against_baseline(differences, margin).needed
    assert needed == pytest.approx((2.486 * 0.15 / margin) ** 2, rel=0.01)  # (z of .95 + z of .80)^2
    passed = [
        against_baseline(rng.normal(0, 0.15, needed), margin, resamples=499).p_not_worse <= 0.05 for _ in range(300)
    ]
    assert np.mean(passed) == pytest.approx(0.8, abs=0.07)


def test_the_order_of_the_queries_does_not_matter():
    differences = np.random.default_rng(5).normal(0, 0.1, 60)
    one, other = (against_baseline(each, 0.02) for each in (differences, differences[::-1].copy()))
    assert (one.p_not_worse, one.p_worse, one.p_equivalent) == (other.p_not_worse, other.p_worse, other.p_equivalent)


@pytest.mark.parametrize("setting", [{"seed": 1}, {"resamples": 200}])
def test_every_setting_matters(setting):
    differences = np.random.default_rng(6).normal(-0.01, 0.1, 60)
    assert against_baseline(differences, 0.02) != against_baseline(differences, 0.02, **setting)
