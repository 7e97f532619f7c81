"""Paired tests compared with scipy, with slow loops, and on simulated sweeps with known means."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import permutation_test, ttest_rel
from simulated import F1, SCORES, alike, f1_like, sweep

from ragsweep.statistics import (
    compare_with_best,
    compare_with_reference,
    confidence_intervals,
    holm,
    randomisation_test,
)

P_VALUES = arrays(float, st.integers(0, 8), elements=st.floats(0.001, 1))


def scipy_p(differences, resamples=np.inf, rng=None):
    """The p-value of scipy's test, which tries all sign patterns if there are at most `resamples`."""
    test = permutation_test(
        (differences,), np.mean, permutation_type="samples", vectorized=True, n_resamples=resamples, rng=rng
    )
    return test.pvalue


# The randomisation test


def test_p_from_all_patterns_equals_scipy():
    for queries, seed in product((2, 5, 13), range(5)):
        differences = np.random.default_rng(seed).choice([0.0, 1 / 3, 2 / 7, 1 / 2], size=(4, queries, 2)) @ [1, -1]
        assert randomisation_test(differences) == pytest.approx([scipy_p(row) for row in differences], rel=1e-12)


@given(arrays(float, (3, 6), elements=st.sampled_from([-0.5, -0.25, 0.0, 0.25, 1.0])))
def test_p_from_all_patterns_is_the_share_of_extreme_patterns(differences):
    def p(row):
        means = [abs(np.dot(signs, row)) for signs in product([1, -1], repeat=len(row))]
        return np.mean([mean >= abs(row.sum()) for mean in means])

    assert randomisation_test(differences).tolist() == [p(row) for row in differences]


@pytest.mark.usefixtures("long_work")
def test_p_from_random_patterns_is_close_to_scipy_with_all_and_with_random_patterns():
    differences = np.random.default_rng(3).normal(0.25, 1, size=(8, 14))  # 16,384 patterns, more than are drawn
    drawn, exact = randomisation_test(differences), np.array([scipy_p(row) for row in differences])
    assert (np.abs(drawn - exact) <= 4 * np.sqrt(exact * (1 - exact) / 10_000) + 1e-4).all()
    scores = sweep(queries=133)
    differences = scores[1:] - scores[0]
    p = randomisation_test(differences, resamples=50_000)
    expected = [scipy_p(row, 50_000, np.random.default_rng(5)) for row in differences]
    assert p == pytest.approx(expected, abs=4 * np.sqrt(2 * 0.25 / 50_000))


def test_queries_without_a_difference_and_other_comparisons_do_not_matter_and_p_is_never_0():
    differences = np.random.default_rng(1).normal(0.2, 1, size=(3, 20))
    for equal in (7, 300):
        padded = np.concatenate([np.zeros((3, equal)), differences], axis=1)
        assert (randomisation_test(padded) == randomisation_test(differences)).all()
    few = np.zeros((1, 133))
    few[0, [3, 50, 99]] = [0.2, 0.3, 0.4]  # all patterns are tried
    assert randomisation_test(np.vstack([few, np.ones(133)]))[0] == 2 / 8
    many = np.random.default_rng(1).normal(0.2, 1, size=(30, 40))
    assert randomisation_test(many)[7] == randomisation_test(many[7:8])[0]
    assert randomisation_test(np.ones((1, 133)), resamples=999).tolist() == [1 / 1000]


@given(SCORES, st.randoms(use_true_random=False))
def test_p_is_above_0_and_at_most_1_and_the_order_of_the_queries_does_not_matter(scores, random):
    order, differences = random.sample(range(scores.shape[1]), scores.shape[1]), scores - scores[0]
    p = randomisation_test(differences, resamples=200)
    assert ((p > 0) & (p <= 1)).all()
    assert randomisation_test(differences[:, order], resamples=200).tolist() == p.tolist()


@pytest.mark.usefixtures("long_work")
def test_a_true_hypothesis_is_rejected_as_often_as_the_level_says():
    rng = np.random.default_rng(11)
    pairs = [f1_like(rng, alike(2)) for _ in range(1000)]
    p = randomisation_test(np.array([first - second for first, second in pairs]), resamples=2000)
    assert 0.03 <= (p <= 0.05).mean() <= 0.07  # 3 standard errors


# Holm's correction


@given(P_VALUES)
def test_holm_equals_the_step_down_procedure_done_step_by_step(p):
    adjusted, largest = {}, 0.0
    for step, position in enumerate(sorted(range(len(p)), key=lambda position: p[position])):
        largest = max(largest, min(1.0, p[position] * (len(p) - step)))
        adjusted[position] = largest
    assert holm(p).tolist() == [adjusted[position] for position in range(len(p))]
    assert (np.diff(holm(p)[np.argsort(p)]) >= 0).all()
    assert ((holm(p) >= p) & (holm(p) <= np.minimum(1, p * len(p)))).all(), "between p and Bonferroni"


def test_holm_worked_by_hand():
    # 4 x .01, 3 x .02, 2 x .03, and 1 x .04, raised to the value before it
    assert holm(np.array([0.04, 0.01, 0.03, 0.02])) == pytest.approx([0.06, 0.04, 0.06, 0.06])


# Comparison with a reference


def test_the_difference_is_that_of_the_means_and_the_reference_is_equal_to_itself():
    scores, comparison = sweep(), compare_with_reference(sweep(), 2, resamples=500, seed=3)
    assert comparison.difference == pytest.approx(scores.mean(axis=1) - scores[2].mean())
    interval = confidence_intervals(scores - scores[2], resamples=500, seed=3)
    assert np.array_equal((comparison.low, comparison.high), interval)
    family = [0, 1, 3, 4]
    assert comparison.p_holm[family].tolist() == holm(comparison.p[family]).tolist()
    for reference in (2, -3):
        result = compare_with_reference(sweep(), reference)
        row = (result.difference, result.low, result.high, result.effect_size, result.p, result.p_holm, result.ties)
        assert [values[2] for values in row] == [0, 0, 0, 0, 1, 1, 40]
    with pytest.raises(IndexError):
        compare_with_reference(sweep(), 5)


def test_the_effect_size_is_the_paired_t_over_the_root_of_the_queries_and_wins_ties_and_losses_are_counted():
    scores = sweep(queries=50)
    expected = ttest_rel(scores[1:], scores[0], axis=1).statistic / np.sqrt(50)
    assert compare_with_reference(scores, 0).effect_size[1:] == pytest.approx(expected)
    for shift, effect_size in ((0.1, np.inf), (-0.1, -np.inf), (0, 0)):
        constant = np.array([scores[0], scores[0] + shift])
        assert compare_with_reference(constant, 0).effect_size[1] == effect_size
    scores = np.array([[0.1, 0.3, 0.5, 0.2], [0.1 + 0.1 + 0.1, 0.1 + 0.2, 0.1, 0.9]])
    comparison = compare_with_reference(scores, 0)
    wins, ties, losses = comparison.wins[1], comparison.ties[1], comparison.losses[1]
    assert (wins, ties, losses) == (2, 1, 1)  # .1 + .2 equals .3 up to rounding


@given(SCORES)
def test_swapping_the_two_configurations_flips_the_sign(scores):
    first, second = (compare_with_reference(scores[:2], reference, resamples=100) for reference in (0, 1))
    assert first.difference[1] == -second.difference[0]
    assert first.effect_size[1] == -second.effect_size[0]
    assert (first.wins[1], first.losses[1], first.p[1]) == (second.losses[0], second.wins[0], second.p[0])


@given(arrays(float, st.integers(1, 30), elements=F1))
def test_identical_configurations_are_tied(scores):
    comparison = compare_with_reference(np.array([scores, scores, scores]), 0, resamples=100)
    assert (comparison.p_holm == 1).all()
    assert compare_with_best(np.array([scores, scores, scores]), resamples=100).tied.all()
