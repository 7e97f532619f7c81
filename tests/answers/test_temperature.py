"""The temperature of option scores, compared with a conditional logit model of statsmodels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.discrete.conditional_models import ConditionalLogit

from ragsweep_answers.measuring.measures.temperature import HIGHEST, LOWEST, fit_temperature, temperature_scaled

SCORES = st.lists(st.lists(st.floats(-20, 20), min_size=2, max_size=5), min_size=1, max_size=12)


def answered(n, temperature=2.0, options=4, seed=0):
    """Scores of options of which each is correct with the probability of softmax(scores / temperature)."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 3, (n, options))
    return scores, (scores / temperature + rng.gumbel(size=scores.shape)).argmax(axis=1)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("temperature", [0.5, 2, 30])
def test_the_temperature_equals_statsmodels(temperature):
    scores, correct = answered(300, temperature)
    scores[::2, 3] = -np.inf
    correct[::2] %= 3
    present = np.isfinite(scores)
    question = np.nonzero(present)[0]
    chosen = (np.arange(4) == correct[:, None])[present]
    model = ConditionalLogit(chosen.astype(int), scores[present][:, None], groups=question)
    slope = model.fit(disp=False, method="newton", tol=1e-12).params[0]
    assert fit_temperature(scores, correct) == pytest.approx(1 / slope, rel=1e-6)


def test_the_probabilities_of_a_fold_do_not_depend_on_its_own_correct_answers():
    scores, correct = answered(50)
    before = temperature_scaled(scores, correct, folds=5)
    for question in range(50):
        changed = correct.copy()
        changed[question] = scores[question].argmin()
        same = (temperature_scaled(scores, changed, folds=5) == before).all(axis=1)
        assert same[question]
        assert same.sum() == (50 if changed[question] == correct[question] else 10)


def test_probabilities_are_those_of_the_temperature_of_the_other_folds():
    scores, correct = answered(2_000)
    expected = np.exp(scores / 2) / np.exp(scores / 2).sum(axis=1, keepdims=True)
    assert temperature_scaled(scores, correct) == pytest.approx(expected, abs=0.05)


def test_the_seed_decides_the_folds():
    scores, correct = answered(50)
    assert (temperature_scaled(scores, correct, seed=1) == temperature_scaled(scores, correct, seed=1)).all()
    assert (temperature_scaled(scores, correct, seed=1) != temperature_scaled(scores, correct, seed=2)).any()


@given(SCORES, st.data())
def test_probabilities_of_any_scores_are_probabilities_in_their_order(scores, data):
    correct = np.array([data.draw(st.integers(0, len(each) - 1)) for each in scores])
    probabilities = temperature_scaled(scores, correct)
    assert probabilities.sum(axis=1) == pytest.approx(np.ones(len(scores)))
    for row, of_question in zip(probabilities, scores, strict=True):
        order = np.argsort(of_question)
        assert (np.diff(row[: len(of_question)][order]) >= 0).all()
        assert not row[len(of_question) :].any()


@given(st.lists(st.lists(st.integers(-20, 20), min_size=2, max_size=5), min_size=1, max_size=12), st.integers(-50, 50))
def test_only_differences_of_scores_matter(scores, shift):
    correct = np.zeros(len(scores), dtype=int)
    shifted = [[score + shift for score in each] for each in scores]
    assert temperature_scaled(shifted, correct) == pytest.approx(temperature_scaled(scores, correct))


@pytest.mark.parametrize("n", [1, 20])
def test_scores_that_say_nothing_make_a_guess(n):
    assert temperature_scaled(np.full((n, 4), 3.3), np.zeros(n, dtype=int)) == pytest.approx(np.full((n, 4), 0.25))


def test_scores_that_mislead_get_the_highest_temperature():
    assert fit_temperature(np.array([[1.0, 2.0], [1.0, 2.0]]), np.array([0, 0])) == HIGHEST


def test_scores_that_are_always_right_get_the_lowest_temperature():
    assert fit_temperature(np.array([[1.0, 2.0], [1.0, 2.0]]), np.array([1, 1])) == LOWEST


def test_a_question_whose_correct_option_is_impossible_does_not_matter():
    scores, correct = answered(50)
    impossible = np.array([[-np.inf, 0.0, 1.0, 2.0]])
    expected = fit_temperature(scores, correct)
    assert fit_temperature(np.concatenate([scores, impossible]), np.append(correct, 0)) == expected
