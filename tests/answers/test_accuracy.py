"""Accuracy, its intervals and its tests, also by groups of copies, against statsmodels, scipy and slow loops."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, poisson_binom
from sklearn.metrics import confusion_matrix
from statsmodels.stats.proportion import proportion_confint

from ragsweep.statistics import Groups, mcnemar_p, randomisation_test
from ragsweep_answers.measuring.measures.accuracy import (
    NOT_ANSWERED,
    against_chance,
    at_most,
    counted_otherwise,
    difference,
    share,
    wilson,
)
from ragsweep_answers.measuring.measures.confidence import AUROC, confidence_scores, confidence_summary


def answers(right, n):
    return np.array([1.0] * right + [0.0] * (n - right))


def p_of(right, n, side):
    return binomtest(right, n, 0.25, alternative=side).pvalue


# Intervals


def test_the_interval_of_a_share_equals_statsmodels_and_covers_the_true_share_in_95_percent_of_samples():
    for n in (1, 2, 10, 60, 10_000):
        right = np.unique(np.linspace(0, n, 30).astype(int))
        expected = proportion_confint(right, n, alpha=0.05, method="wilson")
        assert wilson(right, np.full(len(right), n)) == pytest.approx(np.array(expected), rel=1e-12, abs=1e-15), n
    rng = np.random.default_rng(0)
    true = rng.random(20_000)
    low, high = wilson(rng.binomial(60, true), 60)
    assert ((low <= true) & (true <= high)).mean() == pytest.approx(0.95, abs=0.005)


# Guessing


def test_p_of_guessing_is_that_of_one_sided_binomial_tests_and_decides_the_verdict():
    verdicts = {(15, 54): "no better", (0, 54): "worse", (20, 54): "no better", (22, 54): "better"}
    verdicts |= {(0, 5): "no better", (5, 5): "better", (1, 40): "worse", (31, 60): "better", (16, 64): "no better"}
    verdicts |= {(64, 64): "better", (3, 8): "no better", (2_600, 10_000): "better"}
    for (right, n), verdict in verdicts.items():
        comparison = against_chance(answers(right, n), np.full(n, 0.25))
        greater, less = p_of(right, n, "greater"), p_of(right, n, "less")
        expected = min(1, 2 * min(greater, less)), greater, 2 * less if right < n / 4 else 1
        found = comparison.p, comparison.p_better, comparison.p_worse
        assert found == pytest.approx(expected, rel=1e-9), (right, n)
        assert comparison.verdict == f"{verdict} than guessing", (right, n)


@given(st.lists(st.tuples(st.booleans(), st.integers(2, 6)), min_size=1, max_size=30))
def test_p_of_guessing_among_different_numbers_of_options_equals_adding_one_question_at_a_time(questions):
    correct, options = np.array(questions, dtype=float).T
    probabilities = np.ones(1)
    for chance in 1 / options:
        probabilities = np.append(probabilities, 0) * (1 - chance) + np.append(0, probabilities) * chance
    p, right = against_chance(correct, 1 / options).p, int(correct.sum())
    expected = 2 * min(probabilities[right:].sum(), probabilities[: right + 1].sum())
    assert p == pytest.approx(min(1, expected), rel=1e-11)
    tails = poisson_binom.sf(right - 1, 1 / options), poisson_binom.cdf(right, 1 / options)
    assert p == pytest.approx(min(1, 2 * min(tails)), abs=1e-12)


@pytest.mark.usefixtures("long_work")
def test_guesses_are_called_better_or_worse_than_guesses_in_at_most_5_percent_of_samples():
    rng = np.random.default_rng(0)
    chance = np.repeat([1 / 2, 1 / 4, 1 / 5], [10, 40, 10])
    verdicts = [against_chance((rng.random(60) < chance).astype(float), chance).verdict for _ in range(4_000)]
    for verdict in ("better than guessing", "worse than guessing"):
        assert 0.005 < verdicts.count(verdict) / 4_000 <= 0.025 + 3 * np.sqrt(0.025 * 0.975 / 4_000)


# Two answerers

PAIRED = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=60).map(
    lambda rows: np.array(rows, dtype=float).T
)


def table(both_right, only_first, only_second, neither):
    counts = both_right, only_first, only_second, neither
    return np.repeat([1.0, 1, 0, 0], counts), np.repeat([1.0, 0, 1, 0], counts)


PUBLISHED = {  # intervals of differences, by how often both, one, the other, and none is right
    (36, 12, 2, 0): (0.0569, 0.3404),  # Newcombe (1998)
    (20, 12, 2, 16): (0.0562, 0.3292),  # the same
    (1, 1, 7, 12): (-0.507, -0.026),  # Fagerland, Lydersen and Laake (2014), of the data of Bentur et al. (2009)
}


def test_the_interval_of_a_difference_is_the_published_one():
    for counts, (low, high) in PUBLISHED.items():
        interval, digits = difference(*table(*counts)), len(str(high).partition(".")[2])
        assert (round(interval.low, digits), round(interval.high, digits)) == (low, high)


@given(PAIRED)
def test_a_difference_is_within_its_interval_and_changes_its_sign_with_the_order(correct):
    first, second = correct
    forwards, backwards = difference(first, second), difference(second, first)
    assert forwards.value == pytest.approx(first.mean() - second.mean())
    assert -1 - 1e-12 <= forwards.low <= forwards.value <= forwards.high <= 1 + 1e-12
    assert (backwards.low, backwards.high) == pytest.approx((-forwards.high, -forwards.low), abs=1e-12)
    counts = confusion_matrix(first, second, labels=[0, 1])
    assert (forwards.only_first, forwards.only_second) == (counts[1, 0], counts[0, 1])


SHARES = [(0.4, 0.1, 0.1, 0.4), (0.6, 0.25, 0.05, 0.1), (0.85, 0.1, 0.02, 0.03), (0.25, 0.25, 0.25, 0.25)]


@pytest.mark.usefixtures("long_work")
def test_the_interval_of_a_difference_covers_it_in_95_percent_of_samples():
    for n, shares in itertools.product((10, 20, 60), SHARES):
        samples, counted = np.unique(np.random.default_rng(n).multinomial(n, shares, 4_000), axis=0, return_counts=True)
        true, intervals = shares[1] - shares[2], [difference(*table(*counts)) for counts in samples]
        covered = [interval.low <= true <= interval.high for interval in intervals] @ counted / 4_000
        assert covered >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 4_000), (n, shares)


def test_mcnemar_is_the_randomisation_test_of_few_different_answers():
    for only_first, only_second in itertools.product(range(8), range(6)):
        first, second = table(2, only_first, only_second, 2)
        expected = pytest.approx(randomisation_test((first - second)[None])[0], rel=1e-12)
        assert mcnemar_p(only_first, only_second) == expected


# Missing answers

CHOICES = st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 3)), min_size=1, max_size=40).map(
    lambda rows: np.array(rows).T
)


@given(CHOICES)
def test_a_missing_answer_is_wrong_unless_it_is_counted_otherwise(choices):
    correct, answered = choices
    missing = answered == NOT_ANSWERED
    first, guess = counted_otherwise(correct, answered, np.full(len(correct), 0.25))
    assert first.tolist() == np.where(missing, correct == 0, correct == answered).tolist()
    assert guess.tolist() == np.where(missing, 0.25, correct == answered).tolist()


def test_at_the_upper_bound_so_few_events_have_a_probability_of_5_percent():
    for count, n in [(0, 1), (0, 50), (1, 50), (7, 60), (49, 50), (3, 10_000)]:
        bound, expected = at_most(count, n), binomtest(count, n, alternative="less").proportion_ci(0.95, "exact").high
        assert binom.cdf(count, n, bound) == pytest.approx(0.05, rel=1e-9)
        assert bound == pytest.approx(expected, rel=1e-9)


# Questions in groups: each statistic takes a group of copies as the one question that it is

COPIES = 5
FIRST = np.random.default_rng(1).permutation(np.repeat([1.0, 0.0], [22, 18]))
SECOND = np.random.default_rng(2).permutation(np.repeat([1.0, 0.0], [12, 28]))
FIRST_COPIED, SECOND_COPIED = np.repeat(FIRST, COPIES), np.repeat(SECOND, COPIES)
GROUPS = Groups(np.repeat(np.arange(40), COPIES))


def test_accuracies_of_copies_are_as_sure_and_as_different_as_those_of_the_questions():
    single, copied = share(FIRST), share(FIRST_COPIED, GROUPS)
    assert copied.value == single.value
    assert (copied.low, copied.high) == pytest.approx((single.low, single.high), abs=0.02)
    assert share(FIRST_COPIED).low > copied.low + 0.05
    single, copied = difference(FIRST, SECOND), difference(FIRST_COPIED, SECOND_COPIED, GROUPS)
    assert copied.p == pytest.approx(single.p)
    assert difference(FIRST_COPIED, SECOND_COPIED).p < single.p / 100


def test_guesses_that_are_copied_are_not_better_than_guessing(times):
    """One lucky question in four, in groups: 15 of 40 questions right, five times."""
    correct, chance = np.repeat(np.arange(40) < 15, COPIES).astype(float), np.full(200, 0.25)
    alone, copied = (against_chance(correct, chance, groups=groups) for groups in (None, GROUPS))
    assert (alone.verdict, copied.verdict) == ("better than guessing", "no better than guessing")
    assert against_chance(np.zeros(200), chance, groups=GROUPS).verdict == "worse than guessing"
    assert against_chance(np.zeros(200), chance, np.ones(200), GROUPS).p_worse == 1
    sets, rng = times(900), np.random.default_rng(3)
    guesses = (np.repeat((rng.random(40) < 0.25).astype(float), COPIES) for _ in range(sets))
    p = [against_chance(correct, chance, groups=GROUPS).p for correct in guesses]
    assert np.mean(np.array(p) <= 0.05) <= 0.05


def test_calibration_is_resampled_by_groups():
    confidence = np.repeat(np.random.default_rng(4).uniform(0.3, 0.9, 40), COPIES)

    def estimates(groups):
        arguments = {"bins": 10, "resamples": 1_000, "seed": 0, "groups": groups}
        scores = confidence_scores(confidence, FIRST_COPIED, **arguments)
        return [*scores, confidence_summary(confidence, FIRST_COPIED, **arguments).estimates[AUROC]]

    for alone, grouped in zip(estimates(None), estimates(GROUPS), strict=True):
        assert alone.value == grouped.value
        assert grouped.high - grouped.low > 1.5 * (alone.high - alone.low)
