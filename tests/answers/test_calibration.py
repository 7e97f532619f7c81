"""Calibration, compared with scikit-learn, relplot and slow loops."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, d2_brier_score

from ragsweep.statistics.intervals import resample_statistic, resample_weights
from ragsweep_answers.measuring.measures.accuracy import wilson
from ragsweep_answers.measuring.measures.calibration import (
    auroc_of,
    bin_number,
    brier,
    brier_parts,
    brier_skill_of,
    error_interval,
    gaps_by_bin,
    mce,
    reliability_curve,
)
from ragsweep_answers.measuring.measures.confidence import confidence_scores

CONFIDENCE = st.floats(0, 1) | st.integers(0, 10).map(lambda tenths: tenths / 10)
ANSWERS = st.lists(st.tuples(CONFIDENCE, st.integers(0, 1)), min_size=1, max_size=30).map(
    lambda rows: np.array(rows, dtype=float).T
)
WEIGHTED = st.lists(st.tuples(CONFIDENCE, st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=30).map(
    lambda rows: np.array(rows, dtype=float).T
)


def equal(values):
    return np.full(len(values), 1 / len(values))


def ece_of(confidence, correct, bins=10):
    gaps = gaps_by_bin(confidence, correct, bins=bins)
    return lambda weight: np.abs(gaps @ weight).sum(axis=0)


def measured(statistic_of, confidence, correct):
    return statistic_of(confidence, correct)(equal(confidence))


def ece(confidence, correct):
    return measured(ece_of, confidence, correct)


every_error = pytest.mark.parametrize("error", [ece, mce])


def answers(n, seed=0, reality=lambda confidence: confidence**2):
    rng = np.random.default_rng(seed)
    confidence = rng.beta(2, 1, n).clip(0.01, 0.99)
    return confidence, (rng.random(n) < reality(confidence)).astype(float)


def bins_by_loop(confidence, correct, bins=10):
    """The confidences and outcomes of each bin that is not empty."""
    members = [[] for _ in range(bins)]
    for pair in zip(confidence, correct, strict=True):
        above = [number for number in range(bins) if pair[0] >= number / bins - 1e-12]
        members[above[-1]].append(pair)
    return [np.array(each).T for each in members if each]


# Brier score


@given(ANSWERS)
def test_the_mean_squared_error_is_the_brier_score_of_scikit_learn(case):
    expected = brier_score_loss(case[1], case[0], labels=[0, 1], scale_by_half=True)
    assert brier(*case).mean() == pytest.approx(expected, abs=1e-12)


def test_brier_skill_equals_scikit_learn_with_weights():
    confidence, correct = answers(200)
    weight = np.random.default_rng(1).dirichlet(np.ones(200))
    expected = d2_brier_score(correct, confidence, sample_weight=weight)
    assert brier_skill_of(confidence, correct)(weight) == pytest.approx(expected, rel=1e-12)


@given(ANSWERS, st.integers(1, 20))
def test_the_parts_of_the_brier_score_add_up(case, bins):
    parts = brier_parts(*case, bins=bins)
    total = parts.reliability - parts.resolution + parts.uncertainty + parts.within_bins
    assert total == pytest.approx(brier(*case).mean(), abs=1e-12)


@given(ANSWERS)
def test_the_parts_of_the_brier_score_equal_a_loop(case):
    bins, rate, n = bins_by_loop(*case), case[1].mean(), case.shape[1]
    parts = brier_parts(*case)
    reliability = sum(len(c) * (c.mean() - y.mean()) ** 2 for c, y in bins) / n
    resolution = sum(len(c) * (y.mean() - rate) ** 2 for c, y in bins) / n
    within = sum(((c - c.mean()) ** 2).sum() - 2 * ((c - c.mean()) * (y - y.mean())).sum() for c, y in bins) / n
    assert parts == pytest.approx((reliability, resolution, rate * (1 - rate), within), abs=1e-12)


# Answers without a confidence


@given(ANSWERS, st.data())
def test_a_question_without_a_confidence_is_an_error_of_one(case, data):
    confidence, correct = case
    missing = data.draw(st.lists(st.just(np.nan), max_size=9))
    correct_too = data.draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=len(missing), max_size=len(missing)))
    everything = np.append(confidence, missing), np.append(correct, correct_too)
    share = len(missing) / len(everything[0])
    scores = confidence_scores(*everything, bins=10, resamples=20, seed=0)
    expected = (brier(*case).mean(), measured(ece_of, *case))
    assert [each.value for each in scores] == pytest.approx([share + (1 - share) * each for each in expected])


def test_saying_nothing_never_pays():
    rng = np.random.default_rng(0)
    for _ in range(50):
        confidence, correct = rng.random(30), rng.integers(0, 2, 30).astype(float)
        silent = np.where(rng.random(30) < 0.5, np.nan, confidence)
        said, unsaid = (
            confidence_scores(each, correct, bins=10, resamples=20, seed=0) for each in (confidence, silent)
        )
        assert unsaid[0].value >= said[0].value
        assert unsaid[1].value >= said[1].value


# Errors in bins


@pytest.mark.parametrize("bins", [3, 7, 10, 15, 100])
def test_a_confidence_at_an_edge_belongs_to_the_bin_above(bins):
    edges = np.array([number / bins for number in range(bins + 1)])
    assert bin_number(edges, bins).tolist() == [*range(bins), bins - 1]
    assert reliability_curve(edges[:-1], np.ones(bins), bins=bins).count.tolist() == [1] * bins


@given(ANSWERS)
def test_errors_in_bins_equal_a_loop(case):
    gaps = [(len(c), abs(c.mean() - y.mean())) for c, y in bins_by_loop(*case)]
    expected = sum(n * gap for n, gap in gaps) / case.shape[1], max(gap for _, gap in gaps)
    assert (ece(*case), mce(*case)) == pytest.approx(expected, abs=1e-12)


@pytest.fixture
def relplot(drawing):
    import relplot

    return relplot


@pytest.mark.parametrize("bins", [1, 7, 10, 15])
def test_the_error_in_bins_equals_relplot(relplot, bins):
    case = answers(500)
    expected = relplot.metrics.binnedECE(*case, nbins=bins)
    assert measured(partial(ece_of, bins=bins), *case) == pytest.approx(expected, rel=1e-12)


def test_the_reliability_curve_equals_scikit_learn():
    case = answers(300)
    curve = reliability_curve(*case)
    filled = curve.count > 0
    accuracy, confidence = calibration_curve(*case[::-1], n_bins=10)
    assert curve.accuracy[filled] == pytest.approx(accuracy, rel=1e-12)
    assert curve.confidence[filled] == pytest.approx(confidence, rel=1e-12)
    assert curve.count.tolist() == np.histogram(case[0], curve.edges)[0].tolist()
    low, high = wilson(accuracy * curve.count[filled], curve.count[filled])
    assert (curve.low[filled], curve.high[filled]) == (pytest.approx(low), pytest.approx(high))


REALITIES = {
    "calibrated": lambda confidence: confidence,
    "too sure": lambda confidence: 0.6 * confidence,
    "curved": lambda confidence: confidence**3,
    "wavy": lambda confidence: np.clip(confidence + 0.2 * np.sin(9 * confidence), 0, 1),
}


# Every calibration error


@every_error
@given(case=ANSWERS)
def test_an_error_is_from_0_to_1(error, case):
    assert -1e-12 <= error(*case) <= 1 + 1e-5


@every_error
@given(case=ANSWERS, order=st.randoms(use_true_random=False))
def test_the_order_of_questions_does_not_matter(error, case, order):
    shuffled = order.sample(range(case.shape[1]), case.shape[1])
    assert error(*case[:, shuffled]) == pytest.approx(error(*case), abs=1e-5)


@given(case=WEIGHTED)
def test_a_weight_is_a_number_of_equal_questions(case):
    *values, times = case
    if times.sum():
        repeated = np.repeat(values, times.astype(int), axis=1)
        assert ece_of(*values)(times / times.sum()) == pytest.approx(ece(*repeated), abs=1e-5)


@given(ANSWERS)
def test_no_error_is_below_the_distance_of_mean_confidence_from_accuracy(case):
    distance = abs(case[0].mean() - case[1].mean())
    assert min(ece(*case), mce(*case)) >= distance - 1e-5


# Intervals


def blocks(n, resamples, seed):
    return [*resample_weights(n, resamples, seed)]


def ece_interval(case, resamples, seed):
    n, error_of = case[0].size, ece_of(*case)
    [weight] = blocks(n, resamples, seed)
    return error_interval(float(error_of(np.full(n, 1 / n))), error_of(weight), error_of(weight - 1 / n))


@pytest.mark.parametrize("statistic_of", [ece_of, brier_skill_of, auroc_of])
def test_many_resamples_at_once_are_those_of_one_after_the_other(statistic_of):
    statistic, [weights] = statistic_of(*answers(40)), blocks(40, 20, 0)
    expected = [float(statistic(weight)) for weight in weights.T]
    assert statistic(weights) == pytest.approx(expected, abs=1e-9)
    assert resample_statistic(statistic, 40, 20, 0) == pytest.approx(expected, abs=1e-9)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("reality", ["calibrated", "too sure", "wavy"])
def test_the_interval_of_an_error_covers_the_true_error(reality):
    many = answers(100_000)[0]
    true = measured(ece_of, many, REALITIES[reality](many))
    intervals = [ece_interval(answers(100, seed, REALITIES[reality]), 100, seed) for seed in range(200)]
    covered = np.mean([low <= true <= high for low, high in intervals])
    assert covered >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200)
