"""Confidences against outcomes: calibration, discrimination and their intervals, by scikit-learn, relplot and loops."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, d2_brier_score, roc_auc_score

from ragsweep.statistics.intervals import resample_statistic, resample_weights
from ragsweep_answers.measuring.measures.accuracy import wilson
from ragsweep_answers.measuring.measures.calibration import (
    accuracy_over_coverage,
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
from ragsweep_answers.measuring.measures.confidence import (
    AUROC,
    KNOWN_BRIER,
    SKILL,
    confidence_scores,
    confidence_summary,
)

NAN = np.nan
CONFIDENCE = st.floats(0, 1) | st.integers(0, 10).map(lambda tenths: tenths / 10)


def columns(*strategies, least=1):
    """Arrays of one length, one for each strategy of a row."""
    rows = st.lists(st.tuples(*strategies), min_size=least, max_size=30)
    return rows.map(lambda values: np.array(values, dtype=float).T)


ANSWERS = columns(CONFIDENCE, st.integers(0, 1))
WEIGHTED = columns(CONFIDENCE, st.integers(0, 1), st.integers(0, 3))
SIXTHS = columns(st.integers(0, 6).map(lambda sixths: sixths / 6), st.integers(0, 1), st.integers(0, 3), least=2)


def ece_of(confidence, correct, bins=10):
    gaps = gaps_by_bin(confidence, correct, bins=bins)
    return lambda weight: np.abs(gaps @ weight).sum(axis=0)


def ece(confidence, correct, bins=10):
    return ece_of(confidence, correct, bins)(np.full(len(confidence), 1 / len(confidence)))


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
    return [np.array(pairs).T for pairs in members if pairs]


# Brier score


@given(ANSWERS, st.integers(1, 20))
def test_the_mean_squared_error_is_the_brier_score_of_scikit_learn_and_its_parts_are_those_of_a_loop(case, bins):
    expected = brier_score_loss(case[1], case[0], labels=[0, 1], scale_by_half=True)
    assert brier(*case).mean() == pytest.approx(expected, abs=1e-12)
    in_bins, rate, n = bins_by_loop(*case, bins), case[1].mean(), case.shape[1]
    reliability = sum(len(c) * (c.mean() - y.mean()) ** 2 for c, y in in_bins) / n
    resolution = sum(len(c) * (y.mean() - rate) ** 2 for c, y in in_bins) / n
    within = sum(((c - c.mean()) ** 2).sum() - 2 * ((c - c.mean()) * (y - y.mean())).sum() for c, y in in_bins) / n
    parts = brier_parts(*case, bins=bins)
    assert parts == pytest.approx((reliability, resolution, rate * (1 - rate), within), abs=1e-12)
    total = parts.reliability - parts.resolution + parts.uncertainty + parts.within_bins
    assert total == pytest.approx(expected, abs=1e-12)


def test_brier_skill_equals_scikit_learn_with_weights():
    confidence, correct = answers(200)
    weight = np.random.default_rng(1).dirichlet(np.ones(200))
    expected = d2_brier_score(correct, confidence, sample_weight=weight)
    assert brier_skill_of(confidence, correct)(weight) == pytest.approx(expected, rel=1e-12)


# Answers without a confidence


@given(ANSWERS, st.lists(st.sampled_from([0.0, 1.0]), max_size=9))
def test_a_question_without_a_confidence_is_an_error_of_one_and_changes_nothing_else(case, silent):
    everything = np.append(case[0], [NAN] * len(silent)), np.append(case[1], silent)
    share = len(silent) / len(everything[0])
    drawn = {"bins": 10, "resamples": 20, "seed": 0}
    expected = [share + (1 - share) * error for error in (brier(*case).mean(), ece(*case))]
    assert [score.value for score in confidence_scores(*everything, **drawn)] == pytest.approx(expected)
    summary, alone = confidence_summary(*everything, **drawn), confidence_summary(*case, **drawn)
    assert summary.answers == case.shape[1]
    for name in ("confidence", "accuracy", "aurc", "parts"):
        assert getattr(summary, name) == getattr(alone, name)
    values, expected = ({metric: one.value for metric, one in of.estimates.items()} for of in (summary, alone))
    assert values == expected


def test_saying_nothing_never_pays():
    rng = np.random.default_rng(0)
    for _ in range(50):
        confidence, correct = rng.random(30), rng.integers(0, 2, 30).astype(float)
        silent = np.where(rng.random(30) < 0.5, NAN, confidence)
        stated, withheld = (
            confidence_scores(values, correct, bins=10, resamples=20, seed=0) for values in (confidence, silent)
        )
        assert all(more.value >= less.value for more, less in zip(withheld, stated, strict=True))


# Errors in bins


def test_a_confidence_at_an_edge_belongs_to_the_bin_above():
    for bins in (3, 7, 10, 15, 100):
        edges = np.array([number / bins for number in range(bins + 1)])
        assert bin_number(edges, bins).tolist() == [*range(bins), bins - 1]
        assert reliability_curve(edges[:-1], np.ones(bins), bins=bins).count.tolist() == [1] * bins


@given(ANSWERS, st.randoms(use_true_random=False))
def test_errors_in_bins_equal_a_loop_in_any_order_of_questions(case, order):
    gaps = [(len(c), abs(c.mean() - y.mean())) for c, y in bins_by_loop(*case)]
    expected = sum(n * gap for n, gap in gaps) / case.shape[1], max(gap for _, gap in gaps)
    shuffled = case[:, order.sample(range(case.shape[1]), case.shape[1])]
    assert (ece(*case), mce(*case)) == pytest.approx(expected, abs=1e-12)
    assert (ece(*shuffled), mce(*shuffled)) == pytest.approx(expected, abs=1e-12)
    distance = abs(case[0].mean() - case[1].mean())  # no error is below it
    assert distance - 1e-12 <= min(expected) <= max(expected) <= 1 + 1e-12


@pytest.mark.usefixtures("drawing")
def test_errors_in_bins_equal_relplot_and_the_reliability_curve_scikit_learn():
    import relplot

    case = answers(500)
    for bins in (1, 7, 10, 15):
        assert ece(*case, bins) == pytest.approx(relplot.metrics.binnedECE(*case, nbins=bins), rel=1e-12)
    curve = reliability_curve(*case)
    filled = curve.count > 0
    accuracy, confidence = calibration_curve(*case[::-1], n_bins=10)
    assert curve.accuracy[filled] == pytest.approx(accuracy, rel=1e-12)
    assert curve.confidence[filled] == pytest.approx(confidence, rel=1e-12)
    assert curve.count.tolist() == np.histogram(case[0], curve.edges)[0].tolist()
    low, high = wilson(accuracy * curve.count[filled], curve.count[filled])
    assert (curve.low[filled], curve.high[filled]) == (pytest.approx(low), pytest.approx(high))


@given(WEIGHTED)
def test_a_weight_is_a_number_of_equal_questions(case):
    *values, times = case
    if times.sum():
        repeated = np.repeat(values, times.astype(int), axis=1)
        assert ece_of(*values)(times / times.sum()) == pytest.approx(ece(*repeated), abs=1e-12)


# Discrimination


@given(SIXTHS)
def test_auroc_equals_scikit_learn_with_ties_and_weights(case):
    confidence, correct, times = case
    if len(set(correct)) == 2 and len(set(correct[times > 0])) == 2:
        expected = roc_auc_score(correct, confidence, sample_weight=times)
        assert auroc_of(confidence, correct)(times / times.sum()) == pytest.approx(expected, abs=1e-12)


@given(SIXTHS, st.data())
def test_accuracy_over_coverage_equals_a_loop(case, data):
    confidence, correct, _ = case
    answered = np.array(data.draw(st.lists(st.booleans(), min_size=len(correct), max_size=len(correct))))
    expected = []
    for least in sorted(set(confidence[answered]), reverse=True):
        given_out = answered & (confidence >= least)
        expected.append((given_out.mean(), correct[given_out].mean()))
    if not answered.all():
        expected.append((1, (correct * answered).mean()))
    curve = accuracy_over_coverage(confidence, correct, answered)
    assert np.transpose(curve) == pytest.approx(np.array(expected))


def test_what_is_withheld_comes_in_order_and_aurc_is_the_mean_risk_over_all_coverages():
    """Questions without an answer are withheld first, and answers without a confidence next."""
    curve = accuracy_over_coverage(np.array([0.1, NAN]), np.ones(2), np.array([True, False]))
    assert (curve.coverage.tolist(), curve.accuracy.tolist()) == ([1 / 2, 1], [1, 1 / 2])
    confidence, correct = np.array([0.9, NAN, NAN, 0.4, NAN]), np.array([1.0, 1, 1, 0, 0])
    curve = accuracy_over_coverage(confidence, correct, np.array([True, True, True, True, False]))
    assert curve.coverage == pytest.approx(np.array([1, 2, 4, 5]) / 5)
    assert curve.accuracy == pytest.approx(np.array([1, 1 / 2, 3 / 4, correct.mean()]))
    rng = np.random.default_rng(0)
    confidence, correct = rng.random(50), rng.integers(0, 2, 50).astype(float)
    by_confidence = correct[np.argsort(-confidence)]
    expected = np.mean([1 - by_confidence[:n].mean() for n in range(1, 51)])
    assert accuracy_over_coverage(confidence, correct, np.ones(50, bool)).aurc == pytest.approx(expected)


# Intervals


def test_many_resamples_at_once_are_those_of_one_after_the_other():
    [weights] = resample_weights(40, 20, 0)
    for statistic_of in (ece_of, brier_skill_of, auroc_of):
        statistic = statistic_of(*answers(40))
        expected = [float(statistic(weight)) for weight in weights.T]
        assert statistic(weights) == pytest.approx(expected, abs=1e-9)
        assert resample_statistic(statistic, 40, 20, 0) == pytest.approx(expected, abs=1e-9)


@pytest.mark.usefixtures("long_work")
def test_intervals_are_percentiles_over_resamples_of_all_questions():
    confidence, correct = answers(60, 1)
    confidence[::3] = NAN
    summary, values = confidence_summary(confidence, correct, bins=10, resamples=200, seed=0), []
    for drawn in np.random.default_rng((0, 0)).multinomial(60, np.full(60, 1 / 60), size=200):
        rows = np.repeat(np.arange(60), drawn)
        rows = rows[~np.isnan(confidence[rows])]
        case = correct[rows], confidence[rows]
        error = brier_score_loss(*case, labels=[0, 1], scale_by_half=True)
        values.append([error, roc_auc_score(*case), 1 - error / np.var(case[0])])
    bounds = np.quantile(values, [0.025, 0.975], axis=0).T
    for metric, expected in zip((KNOWN_BRIER, AUROC, SKILL), bounds, strict=True):
        assert summary.estimates[metric][1:] == pytest.approx(tuple(expected), rel=1e-9)


REALITIES = {
    "calibrated": lambda confidence: confidence,
    "too sure": lambda confidence: 0.6 * confidence,
    "wavy": lambda confidence: np.clip(confidence + 0.2 * np.sin(9 * confidence), 0, 1),
}


@pytest.mark.usefixtures("long_work")
def test_the_interval_of_an_error_covers_the_true_error():
    for name, reality in REALITIES.items():
        confidence, covered = answers(100_000)[0], []
        true = ece(confidence, reality(confidence))
        for seed in range(200):
            error_of, [weight] = ece_of(*answers(100, seed, reality)), resample_weights(100, 100, seed)
            everything = np.full(100, 1 / 100)
            low, high = error_interval(float(error_of(everything)), error_of(weight), error_of(weight - 1 / 100))
            covered.append(low <= true <= high)
        assert np.mean(covered) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200), name


def interval(statistic, n):
    """The interval of a statistic over the same 200 resamples for every sample."""
    [weights] = resample_weights(n, 200, 0)
    return np.quantile(statistic(weights), [0.025, 0.975])


def test_confidences_without_skill_are_called_better_than_a_constant_in_few_samples():
    for n in (50, 200):
        rng = np.random.default_rng(0)
        better = 0
        for _ in range(400):
            real = rng.choice([0.3, 0.7], n)
            case = np.where(real > 0.5, 0.9, 0.1), (rng.random(n) < real).astype(float)  # the skill is 0 in truth
            better += interval(brier_skill_of(*case), n)[0] > 0
        assert better / 400 <= 0.025 + 3 * np.sqrt(0.025 * 0.975 / 400), n


def of_skill(n, seed, skill):
    """Confidences that fit the accuracy; with `skill` 0 they say nothing about it."""
    rng = np.random.default_rng(seed)
    real = rng.beta(2, 2, n)
    stated = skill * real + (1 - skill) * rng.beta(2, 2, n)
    return stated, (rng.random(n) < real).astype(float)


@pytest.mark.usefixtures("long_work")
def test_the_interval_of_the_auroc_covers_it_in_about_95_percent_of_samples():
    for n, skill in itertools.product((60, 200), (0, 1)):
        true = roc_auc_score(*of_skill(200_000, 0, skill)[::-1])
        intervals = [interval(auroc_of(*of_skill(n, seed, skill)), n) for seed in range(1, 401)]
        covered = np.mean([low <= true <= high for low, high in intervals])
        assert covered >= 0.94 - 3 * np.sqrt(0.95 * 0.05 / 400), (n, skill)  # a percentile interval is a little short
