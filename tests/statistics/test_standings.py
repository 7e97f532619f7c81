"""The decision made from the scores of a sweep."""

import numpy as np
import pytest
from simulated import alike, f1_like

from ragsweep.statistics import (
    Groups,
    Power,
    compare_with_best,
    compare_with_reference,
    detectable_difference,
    intervals,
    standings,
)


@pytest.fixture(scope="module")
def scores():
    """Five configurations, the last one far worse than the others."""
    return f1_like(np.random.default_rng(3), alike(5), shift=np.array([0, 0.05, 0, 0, -1.5]))


def test_the_baseline_is_compared_with_all_others(scores):
    decision = standings(scores, [None] * 133, baseline=4, resamples=500, seed=1)
    assert np.array_equal(decision.baseline.p_holm, compare_with_reference(scores, 4, resamples=500, seed=1).p_holm)
    assert decision.baseline.p_holm[decision.best] < 0.05


def test_power_is_that_of_the_best_and_the_median_tied_configuration(scores):
    decision = standings(scores, [None] * 133, resamples=2_000)
    assert decision.with_best.tied.tolist() == [True, True, True, True, False]
    others = [row for row in range(4) if row != decision.best]
    deviation = np.median([np.std(scores[row] - scores[decision.best], ddof=1) for row in others])
    lost = scores.max() - scores.min()
    assert decision.power.detectable == pytest.approx(detectable_difference(deviation, 133, lost=lost))
    needed = decision.power.needed(0.02)
    assert detectable_difference(deviation, needed, lost=lost) <= 0.02
    assert detectable_difference(deviation, needed - 1, lost=lost) > 0.02


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("shift", [0.15, 0.3, 0.6])
def test_the_queries_needed_detect_the_difference_in_80_percent(shift):
    rng = np.random.default_rng(4)
    pair = f1_like(rng, alike(2), queries=100_000, shift=np.array([0, shift]))
    difference, deviation = pair[1].mean() - pair[0].mean(), (pair[1] - pair[0]).std()
    power = Power(0, 99, float(deviation), Groups.none(133), float(np.ptp(pair)))
    samples = (pair[:, rng.integers(0, 100_000, power.needed(difference))] for _ in range(600))
    worse = np.mean([not compare_with_best(sample, resamples=499).tied[0] for sample in samples])
    assert 0.74 <= worse <= 0.92, "80 % by an approximation that is safe for few queries"


def test_one_configuration_gives_no_selection(scores):
    decision = standings(scores[:1], ["a", "b"] * 66 + ["a"])
    assert (decision.selection, decision.by_type, decision.power) == (None, None, None)


def test_equal_configurations_have_no_power_analysis():
    assert standings(np.ones((3, 10)), [None] * 10).power is None


def test_types_are_compared_only_if_there_are_two(scores):
    assert standings(scores, ["a"] * 133).by_type is None
    assert standings(scores, ["a"] * 66 + ["b"] * 67, resamples=100).by_type is not None


@pytest.mark.usefixtures("long_work")
def test_types_pay_only_if_they_gain(scores):
    halves = np.repeat([0.0, 0.5], 40)
    noise = np.random.default_rng(0).normal(0, 0.01, (2, 80))
    types = ["a"] * 40 + ["b"] * 40
    assert standings(np.array([halves, 0.5 - halves]) + noise, types).types_pay
    assert not standings(np.array([halves, halves - 0.1]) + noise, types).types_pay


@pytest.mark.usefixtures("long_work")
def test_many_comparisons_with_a_baseline_get_enough_patterns_to_be_significant():
    better = np.random.default_rng(0).normal(1, 0.1, (600, 40))
    better[0] -= 1
    assert standings(better, [None] * 40, baseline=0, resamples=100).baseline.p_holm[1:].max() < 0.05


@pytest.mark.usefixtures("long_work")
def test_many_comparisons_are_significant_of_many_queries_too(monkeypatch):
    """Of which fewer patterns are drawn: here, 40 queries are already many."""
    monkeypatch.setattr(intervals, "MANY_QUERIES", 30)
    monkeypatch.setattr(intervals, "DRAWS_OF_MANY", 1)
    better = np.random.default_rng(0).normal(1, 0.1, (60, 40))
    better[0] -= 1
    assert standings(better, [None] * 40, baseline=0).baseline.p_holm[1:].max() < 0.05
