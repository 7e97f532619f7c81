"""Promises about a cutoff and a score threshold, against scipy's exact intervals and kept in simulations."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest, norm
from simulated import at_most

from ragsweep.statistics import certify
from ragsweep.statistics.certificate import certify_threshold, lowest_threshold

SUCCESSES, QUERIES = [60, 90, 110, 121, 127, 130], 133
SETS = 1_000
EVERYWHERE = np.linspace(-6, 6, 12_001)  # scores of other questions, so that a threshold is as low as it may be


# A cutoff


def test_the_bounds_are_those_of_clopper_and_pearson_and_the_cutoff_is_the_first_that_keeps_the_promise():
    for configurations in (1, 5):
        certificate, level = certify(SUCCESSES, QUERIES, 0.9, configurations=configurations), 0.05 / configurations
        tests = [binomtest(hits, QUERIES, alternative="greater") for hits in SUCCESSES]
        expected = [test.proportion_ci(1 - level, method="exact").low for test in tests]
        assert certificate.level == level
        assert certificate.lower_bounds == pytest.approx(expected, abs=1e-9)
    for share in (0.3, 0.6, 0.8, 0.9, 0.95, 0.99):
        certificate = certify(SUCCESSES, QUERIES, share)
        kept = [cutoff for cutoff, low in enumerate(certificate.lower_bounds, start=1) if low >= share]
        assert certificate.cutoff == (min(kept) if kept else None)
    assert certify([0, 0], 10, 0.5).lower_bounds == (0, 0)
    assert certify([10], 10, 0.5).cutoff == 1
    assert certify([10], 10, 0.9).cutoff is None  # 10 of 10 show only that 74 % succeed


def test_the_queries_needed_show_it_and_a_few_fewer_do_not():
    certificate, rate = certify([92], 100, 0.9), 0.92
    assert certificate.cutoff is None
    needed = certificate.needed
    passes = [binom.sf(round(rate * n) - 1, n, 0.9) <= 0.05 for n in range(needed - 1, needed + 50)]
    assert passes[1:] == [True] * 50
    assert not passes[0]
    assert [certify([hits], 100, 0.9).needed for hits in (0, 50, 90)] == [None] * 3, "too few succeed"


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("configurations", [1, 6])
def test_the_promise_is_broken_in_at_most_5_percent_of_sets_of_questions(configurations):
    """Of several equally good configurations, the one with most successes is certified."""
    share, sets, rng = 0.9, SETS, np.random.default_rng(1)
    true = np.array([0.6, 0.8, 0.88, 0.899, 0.92, 0.95])  # the promise holds from the fifth cutoff on
    broken = 0
    for _ in range(sets):
        hits = (rng.random((configurations, 133, 1)) < true).sum(axis=1)
        best = hits[hits.sum(axis=1).argmax()]
        certificate = certify(np.maximum.accumulate(best).tolist(), 133, share, configurations=configurations)
        broken += certificate.cutoff is not None and true[certificate.cutoff - 1] < share
    assert broken / sets <= at_most(0.05, sets)


# A threshold


def test_the_bound_of_a_threshold_is_that_of_clopper_and_pearson_and_59_questions_without_a_false_find_show_it():
    def upper(finds, configurations):
        interval = binomtest(finds, 300, alternative="less").proportion_ci(1 - 0.05 / configurations, method="exact")
        return interval.high

    for configurations in (1, 5):
        certificate = certify_threshold(np.arange(300, dtype=float), 0.05, configurations=configurations)
        finds = certificate.false_finds
        assert certificate.upper == pytest.approx(upper(finds, configurations), abs=1e-9)
        assert certificate.upper <= 0.05 < upper(finds + 1, configurations)
        assert (np.arange(300) >= certificate.threshold).sum() == finds
    for questions, shown in ((58, False), (59, True)):
        certificate = certify_threshold(np.arange(questions, dtype=float), 0.05)
        assert (certificate.shown, certificate.needed) == (shown, 59)
        assert np.isfinite(certificate.threshold) == shown


def test_the_threshold_is_no_higher_than_what_another_question_has_and_leaves_equal_scores_out_together():
    """Only 1, 2 and 3 are known to be too low; 3.25 is a score that something relevant has."""
    scores = np.array([1.0, 2.0, 3.0])
    assert 3 < lowest_threshold(scores, 0, np.array([3.25, 9.0])) <= 3.25
    assert lowest_threshold(scores, 0) > 3
    assert lowest_threshold(np.array([1.0, 2.0, 2.0, 2.0]), 2) > 2
    certificate = certify_threshold(np.full(59, -np.inf), 0.05)  # nothing is returned anyway
    assert (certificate.shown, certificate.threshold, certificate.false_finds) == (True, -np.inf, 0)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("questions", [59, 100, 200])
def test_the_promise_is_kept_in_at_least_95_percent_of_sets(questions):
    sets = np.random.default_rng(0).normal(size=(SETS, questions))
    broken = sum(norm.sf(certify_threshold(scores, 0.05, answerable=EVERYWHERE).threshold) > 0.05 for scores in sets)
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
            promises = (certify_threshold(row, 0.05, answerable=EVERYWHERE, configurations=number) for row in sets)
            broken[place] += norm.sf(min(promise.threshold for promise in promises)) > 0.05
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
        threshold = certify_threshold(confidences, 0.25, answerable=stated).threshold
        broken += answered * chances[stated >= threshold].sum() > 0.25
    assert broken <= at_most(0.05, SETS) * SETS
