"""Accuracy, its intervals and its tests, compared with statsmodels, scipy, scikit-learn and slow loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, poisson_binom
from sklearn.metrics import confusion_matrix
from statsmodels.stats.proportion import proportion_confint

from ragsweep.statistics import mcnemar_p, randomisation_test
from ragsweep_answers.measuring.measures.accuracy import (
    NOT_ANSWERED,
    against_chance,
    at_most,
    counted_otherwise,
    difference,
    wilson,
)


def answers(right, n):
    return np.array([1.0] * right + [0.0] * (n - right))


# Intervals


@pytest.mark.parametrize("n", [1, 2, 10, 60, 10_000])
def test_the_interval_of_a_share_equals_statsmodels(n):
    right = np.unique(np.linspace(0, n, 30).astype(int))
    expected = proportion_confint(right, n, alpha=0.05, method="wilson")
    assert wilson(right, np.full(len(right), n)) == pytest.approx(np.array(expected), rel=1e-12, abs=1e-15)


def test_the_interval_of_a_share_covers_the_true_share_in_95_percent_of_samples():
    rng = np.random.default_rng(0)
    true = rng.random(20_000)
    low, high = wilson(rng.binomial(60, true), 60)
    assert ((low <= true) & (true <= high)).mean() == pytest.approx(0.95, abs=0.005)


# Guessing


@pytest.mark.parametrize(("right", "n"), [(0, 5), (5, 5), (1, 40), (15, 54), (31, 60), (2_600, 10_000)])
def test_p_of_guessing_is_twice_that_of_the_one_sided_binomial_test(right, n):
    tails = [binomtest(right, n, 0.25, alternative=side).pvalue for side in ("greater", "less")]
    assert against_chance(answers(right, n), np.full(n, 0.25)).p == pytest.approx(min(1, 2 * min(tails)), rel=1e-9)


@given(st.lists(st.tuples(st.booleans(), st.integers(2, 6)), min_size=1, max_size=30))
def test_p_of_guessing_among_different_numbers_of_options_equals_adding_one_question_at_a_time(questions):
    correct, options = (np.array(each, dtype=float) for each in zip(*questions, strict=True))
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


@pytest.mark.parametrize(
    ("right", "n", "chance", "verdict"),
    [(15, 54, 0.25, "no better"), (0, 54, 0.25, "worse"), (20, 54, 0.25, "no better"), (22, 54, 0.25, "better"),
     (10, 13, 0.5, "no better")],
)  # fmt: skip
def test_answers_are_better_or_worse_than_guessing_by_their_p(right, n, chance, verdict):
    assert against_chance(answers(right, n), np.full(n, chance)).verdict == f"{verdict} than guessing"


# Two answerers

PAIRED = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=60).map(
    lambda rows: np.array(rows, dtype=float).T
)


def table(both, only_first, only_second, neither):
    counts = both, only_first, only_second, neither
    return np.repeat([1.0, 1, 0, 0], counts), np.repeat([1.0, 0, 1, 0], counts)


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        ((36, 12, 2, 0), 0.0569, 0.3404),  # Newcombe (1998)
        ((20, 12, 2, 16), 0.0562, 0.3292),  # the same
        ((1, 1, 7, 12), -0.507, -0.026),  # Fagerland, Lydersen and Laake (2014), of the data of Bentur et al. (2009)
    ],
)
def test_the_interval_of_a_difference_is_the_published_one(counts, low, high):
    found = difference(*table(*counts))
    digits = len(str(high).partition(".")[2])
    assert (round(found.low, digits), round(found.high, digits)) == (low, high)


@given(PAIRED)
def test_a_difference_is_within_its_interval_and_changes_its_sign_with_the_order(correct):
    first, second = correct
    found, reversed_ = difference(first, second), difference(second, first)
    assert found.value == pytest.approx(first.mean() - second.mean())
    assert -1 - 1e-12 <= found.low <= found.value <= found.high <= 1 + 1e-12
    assert (reversed_.low, reversed_.high) == pytest.approx((-found.high, -found.low), abs=1e-12)
    counts = confusion_matrix(first, second, labels=[0, 1])
    assert (found.only_first, found.only_second) == (counts[1, 0], counts[0, 1])


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("n", [10, 20, 60])
@pytest.mark.parametrize(
    "shares", [(0.4, 0.1, 0.1, 0.4), (0.6, 0.25, 0.05, 0.1), (0.85, 0.1, 0.02, 0.03), (0.25, 0.25, 0.25, 0.25)]
)
def test_the_interval_of_a_difference_covers_it_in_95_percent_of_samples(n, shares):
    samples, counted = np.unique(np.random.default_rng(n).multinomial(n, shares, 4_000), axis=0, return_counts=True)
    true = shares[1] - shares[2]
    found = [difference(*table(*counts)) for counts in samples]
    covered = [each.low <= true <= each.high for each in found] @ counted / 4_000
    assert covered >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 4_000)


@pytest.mark.parametrize("only_first", range(8))
@pytest.mark.parametrize("only_second", range(6))
def test_mcnemar_is_the_randomisation_test_of_few_different_answers(only_first, only_second):
    first, second = table(2, only_first, only_second, 2)
    assert mcnemar_p(only_first, only_second) == pytest.approx(randomisation_test((first - second)[None])[0], rel=1e-12)


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


@pytest.mark.parametrize(("count", "n"), [(0, 1), (0, 50), (1, 50), (7, 60), (49, 50), (3, 10_000)])
def test_at_the_upper_bound_so_few_events_have_a_probability_of_5_percent(count, n):
    bound = at_most(count, n)
    assert binom.cdf(count, n, bound) == pytest.approx(0.05, rel=1e-9)
    assert bound == pytest.approx(binomtest(count, n, alternative="less").proportion_ci(0.95, "exact").high, rel=1e-9)
