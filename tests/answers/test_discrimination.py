"""AUROC and accuracy over coverage, compared with scikit-learn and slow loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from ragsweep_answers.measuring.measures.calibration import accuracy_over_coverage, auroc_of

ANSWERS = st.lists(
    st.tuples(st.integers(0, 6).map(lambda sixths: sixths / 6), st.integers(0, 1), st.integers(0, 3)),
    min_size=2,
    max_size=30,
).map(lambda rows: np.array(rows, dtype=float).T)


# AUROC


@given(ANSWERS)
def test_auroc_equals_scikit_learn_with_ties_and_weights(case):
    confidence, correct, times = case
    if len(set(correct)) == 2 and len(set(correct[times > 0])) == 2:
        expected = roc_auc_score(correct, confidence, sample_weight=times)
        assert auroc_of(confidence, correct)(times / times.sum()) == pytest.approx(expected, abs=1e-12)


# Coverage


@given(ANSWERS, st.data())
def test_accuracy_over_coverage_equals_a_loop(case, data):
    confidence, correct, _ = case
    answered = np.array(data.draw(st.lists(st.booleans(), min_size=len(correct), max_size=len(correct))))
    expected = []
    for least in sorted(set(confidence[answered]), reverse=True):
        given = answered & (confidence >= least)
        expected.append((given.mean(), correct[given].mean()))
    if not answered.all():
        expected.append((1, (correct * answered).mean()))
    curve = accuracy_over_coverage(confidence, correct, answered)
    assert np.transpose(curve) == pytest.approx(np.array(expected))


def test_questions_without_an_answer_are_withheld_first_and_are_wrong_at_full_coverage():
    confidence, correct, answered = np.array([0.1, np.nan]), np.array([1.0, 1.0]), np.array([True, False])
    curve = accuracy_over_coverage(confidence, correct, answered)
    assert (curve.coverage.tolist(), curve.accuracy.tolist()) == ([1 / 2, 1], [1, 1 / 2])


def test_answers_without_a_confidence_are_withheld_after_questions_without_an_answer():
    confidence, correct = np.array([0.9, np.nan, np.nan, 0.4, np.nan]), np.array([1.0, 1, 1, 0, 0])
    curve = accuracy_over_coverage(confidence, correct, np.array([True, True, True, True, False]))
    assert curve.coverage == pytest.approx(np.array([1, 2, 4, 5]) / 5)
    assert curve.accuracy == pytest.approx(np.array([1, 1 / 2, 3 / 4, correct.mean()]))


def test_aurc_is_the_mean_risk_over_all_coverages():
    rng = np.random.default_rng(0)
    confidence, correct = rng.random(50), rng.integers(0, 2, 50).astype(float)
    by_confidence = correct[np.argsort(-confidence)]
    expected = np.mean([1 - by_confidence[:n].mean() for n in range(1, 51)])
    assert accuracy_over_coverage(confidence, correct, np.ones(50, bool)).aurc == pytest.approx(expected)
