"""The decision made from the scores of a sweep, its power, and that every setting and seed matters."""

import numpy as np
import pytest
from simulated import alike, f1_like

from ragsweep.statistics import (
    Groups,
    Power,
    against_baseline,
    compare_with_best,
    compare_with_reference,
    confidence_intervals,
    detectable_difference,
    intervals,
    randomisation_test,
    select,
    select_by_type,
    shown_to_beat,
    standings,
    win_frequency,
)
from ragsweep.statistics.power import fewest_queries


@pytest.fixture(scope="module")
def scores():
    """Five configurations, the last one far worse than the others."""
    return f1_like(np.random.default_rng(3), alike(5), shift=np.array([0, 0.05, 0, 0, -1.5]))


def test_power_is_that_of_the_best_and_the_median_tied_configuration_and_has_its_textbook_value(scores):
    decision = standings(scores, [None] * 133, resamples=2_000)
    assert decision.with_best.tied.tolist() == [True, True, True, True, False]
    tied = [row for row in range(4) if row != decision.best]
    deviation = np.median([np.std(scores[row] - scores[decision.best], ddof=1) for row in tied])
    lost = scores.max() - scores.min()
    assert decision.power.detectable == pytest.approx(detectable_difference(deviation, 133, lost=lost))
    needed = decision.power.needed(0.02)
    assert detectable_difference(deviation, needed, lost=lost) <= 0.02
    assert detectable_difference(deviation, needed - 1, lost=lost) > 0.02
    # Cohen 1988: a paired effect of .5 needs about 32 pairs at 80 % power, two-sided .05 (normal approximation)
    assert queries_needed(1.0, 0.5) == 32
    assert detectable_difference(np.array([0.1, 0.2]), 100) == pytest.approx([0.02801585, 0.0560317], rel=1e-6)


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


@pytest.mark.usefixtures("long_work")
def test_what_needs_two_configurations_types_or_values_is_left_out_without_and_types_pay_only_if_they_gain(scores):
    decision = standings(scores[:1], ["a", "b"] * 66 + ["a"])
    assert (decision.selection, decision.by_type, decision.power) == (None, None, None)
    assert standings(np.ones((3, 10)), [None] * 10).power is None
    assert standings(scores, ["a"] * 133).by_type is None
    assert standings(scores, ["a"] * 66 + ["b"] * 67, resamples=100).by_type is not None
    halves, types = np.repeat([0.0, 0.5], 40), ["a"] * 40 + ["b"] * 40
    noise = np.random.default_rng(0).normal(0, 0.01, (2, 80))
    assert standings(np.array([halves, 0.5 - halves]) + noise, types).types_pay
    assert not standings(np.array([halves, halves - 0.1]) + noise, types).types_pay


@pytest.mark.usefixtures("long_work")
def test_the_baseline_is_compared_with_all_others_by_patterns_enough_to_be_significant(scores, monkeypatch):
    """Of many queries, too, of which fewer patterns are drawn: here, 40 queries are already many."""
    better = np.random.default_rng(0).normal(1, 0.1, (200, 40))
    better[0] -= 1
    of_five = standings(scores, [None] * 133, baseline=4, resamples=500, seed=1)
    expected = compare_with_reference(scores, 4, resamples=500, seed=1).p_holm
    assert of_five.baseline.p_holm.tolist() == expected.tolist()
    assert expected[of_five.best] < 0.05
    assert standings(better, [None] * 40, baseline=0, resamples=100).baseline.p_holm[1:].max() < 0.05
    monkeypatch.setattr(intervals, "MANY_QUERIES", 30)
    monkeypatch.setattr(intervals, "DRAWS_OF_MANY", 1)
    assert standings(better[:60], [None] * 40, baseline=0).baseline.p_holm[1:].max() < 0.05


def queries_needed(deviation, difference):
    return fewest_queries(lambda queries: detectable_difference(deviation, queries) <= difference, 10**6)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("shift", [0.15, 0.3])
def test_the_randomisation_test_detects_the_difference_in_80_percent(shift):
    rng = np.random.default_rng(4)
    worse, better = f1_like(rng, alike(2), queries=400_000, shift=[0, shift])
    population = better - worse
    queries = queries_needed(population.std(), population.mean())
    p = randomisation_test(rng.choice(population, size=(1500, queries)), resamples=2000)
    assert 0.77 <= (p <= 0.05).mean() <= 0.83  # 3 standard errors


SHIFTED = f1_like(np.random.default_rng(1), np.eye(2), 300, shift=np.array([0, 0.1]))
GAINS = np.random.default_rng(6).normal(-0.01, 0.1, 60)
SWEEP = f1_like(np.random.default_rng(1), alike(5))
TYPES = ["how"] * 70 + ["what"] * 40 + ["why"] * 23
FRONTS = [f1_like(np.random.default_rng(seed), alike(4), 60, shift=[0, 0.3, 0.4, 0.5]) for seed in range(40)]
SETTINGS = {  # functions of settings, with settings other than the usual ones
    "best": (lambda **given: compare_with_best(SHIFTED, **given).p, {"seed": 1, "resamples": 500}),
    "pair": (lambda **given: randomisation_test(GAINS[None], **given), {"seed": 1, "resamples": 500}),
    "interval": (lambda **given: confidence_intervals(GAINS, **given), {"seed": 1, "resamples": 500}),
    "margin": (lambda **given: against_baseline(GAINS, 0.02, 1, **given).p_worse, {"seed": 1, "resamples": 200}),
    "selection": (lambda **given: select(SWEEP, **given).expected, {"seed": 1, "folds": 10, "repeats": 7}),
    "types": (lambda **given: select_by_type(SWEEP, TYPES, **given).p, {"seed": 1, "resamples": 500}),
    "wins": (lambda **given: win_frequency(SWEEP, **given), {"seed": 1, "resamples": 500}),
    "front": (
        lambda **given: [shown_to_beat(scores, np.ones(4), **given) for scores in FRONTS],
        {"seed": 1, "resamples": 20, "level": 0.9},
    ),
}


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_changes_the_result_and_the_same_settings_do_not(name):
    result, settings = SETTINGS[name]
    usual = result()
    assert np.array_equal(result(), usual)
    for setting, value in settings.items():
        assert not np.array_equal(result(**{setting: value}), usual), setting
