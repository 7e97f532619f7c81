"""The promise about a score threshold, compared with scipy's exact intervals and kept in simulations."""

import numpy as np
import pytest
from scipy.stats import binomtest, norm
from simulated import at_most

from ragsweep.statistics.certificate import certify_threshold, lowest_threshold

SETS = 1_000
EVERYWHERE = np.linspace(-6, 6, 12_001)  # scores of other questions, so that a threshold is as low as it may be


@pytest.mark.parametrize(("questions", "shown"), [(58, False), (59, True)])
def test_59_questions_without_a_false_find_show_5_percent(questions, shown):
    found = certify_threshold(np.arange(questions, dtype=float), 0.05)
    assert (found.shown, found.needed) == (shown, 59)
    assert np.isfinite(found.threshold) == shown


@pytest.mark.parametrize("configurations", [1, 5])
def test_the_bound_is_that_of_clopper_and_pearson_and_one_more_false_find_breaks_it(configurations):
    found = certify_threshold(np.arange(300, dtype=float), 0.05, configurations=configurations)

    def upper(finds):
        interval = binomtest(finds, 300, alternative="less").proportion_ci(1 - 0.05 / configurations, method="exact")
        return interval.high

    assert found.upper == pytest.approx(upper(found.false_finds), abs=1e-9)
    assert found.upper <= 0.05 < upper(found.false_finds + 1)
    assert (np.arange(300) >= found.threshold).sum() == found.false_finds


def test_the_threshold_is_no_higher_than_what_another_question_has():
    """Only 1, 2 and 3 are known to be too low; 3.25 is a score that something relevant has."""
    scores = np.array([1.0, 2.0, 3.0])
    assert 3 < lowest_threshold(scores, 0, np.array([3.25, 9.0])) <= 3.25
    assert lowest_threshold(scores, 0) > 3


def test_equal_scores_are_left_out_together():
    assert lowest_threshold(np.array([1.0, 2.0, 2.0, 2.0]), 2) > 2


def test_no_threshold_is_needed_where_nothing_is_returned_anyway():
    found = certify_threshold(np.full(59, -np.inf), 0.05)
    assert (found.shown, found.threshold, found.false_finds) == (True, -np.inf, 0)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("questions", [59, 100, 200])
def test_the_promise_is_kept_in_at_least_95_percent_of_sets(questions):
    sets = np.random.default_rng(0).normal(size=(SETS, questions))
    broken = sum(norm.sf(certify_threshold(scores, 0.05, others=EVERYWHERE).threshold) > 0.05 for scores in sets)
    assert broken <= at_most(0.05, SETS) * SETS


def test_the_promise_is_kept_for_scores_of_which_many_are_equal():
    sets = np.random.default_rng(0).integers(0, 30, size=(SETS, 200))  # 2 of 30 values are more than 5 %
    broken = sum(certify_threshold(scores.astype(float), 0.05).threshold <= 28 for scores in sets)
    assert broken <= at_most(0.05, SETS) * SETS


@pytest.mark.usefixtures("long_work")
def test_the_luckiest_of_several_configurations_keeps_its_promise_if_it_is_corrected():
    rng, broken = np.random.default_rng(1), np.zeros(2)
    for sets in rng.normal(size=(SETS, 6, 100)):
        for place, number in enumerate((1, 6)):
            found = [certify_threshold(each, 0.05, others=EVERYWHERE, configurations=number) for each in sets]
            broken[place] += norm.sf(min(each.threshold for each in found)) > 0.05
    assert broken[1] <= at_most(0.05, SETS) * SETS
    assert broken[0] > 0.1 * SETS  # the reason for the correction


@pytest.mark.parametrize("answered", [1.0, 0.6])
def test_the_promise_is_kept_for_confidences_as_models_state_them(answered):
    """In steps of 0.05, many of them 1; some questions get no answer at any threshold."""
    stated, chances = np.arange(0, 1.01, 0.05), np.full(21, 0.7 / 20)
    chances[-1] = 0.3
    rng, broken = np.random.default_rng(2), 0
    for _ in range(SETS):
        confidences = np.where(rng.random(120) < answered, rng.choice(stated, size=120, p=chances), -np.inf)
        threshold = certify_threshold(confidences, 0.25, others=stated).threshold
        broken += answered * chances[stated >= threshold].sum() > 0.25
    assert broken <= at_most(0.05, SETS) * SETS
