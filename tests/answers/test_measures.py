"""Accuracy, calibration and discrimination, their intervals and tests, by libraries and slow loops."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, poisson_binom
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, confusion_matrix, d2_brier_score, roc_auc_score
from statsmodels.stats.proportion import proportion_confint

from ragsweep.statistics import Groups
from ragsweep.statistics.intervals import resample_statistic, resample_weights
from ragsweep_answers.measuring.measures.accuracy import (
    NOT_ANSWERED,
    against_chance,
    at_most,
    counted_otherwise,
    difference,
    share,
    wilson,
)
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


def outcomes(right, n):
    return np.array([1.0] * right + [0.0] * (n - right))


def p_of(right, n, side):
    return binomtest(right, n, 0.25, alternative=side).pvalue


def test_the_interval_of_a_share_equals_statsmodels_and_covers_the_true_share_in_95_percent_of_samples():
    for n in (1, 2, 10, 60, 10_000):
        right = np.unique(np.linspace(0, n, 30).astype(int))
        expected = proportion_confint(right, n, alpha=0.05, method="wilson")
        assert wilson(right, np.full(len(right), n)) == pytest.approx(np.array(expected), rel=1e-12, abs=1e-15), n
    rng = np.random.default_rng(0)
    true = rng.random(20_000)
    low, high = wilson(rng.binomial(60, true), 60)
    assert ((low <= true) & (true <= high)).mean() == pytest.approx(0.95, abs=0.005)


def test_p_of_guessing_is_that_of_one_sided_binomial_tests_and_decides_the_verdict():
    verdicts = {(15, 54): "no better", (0, 54): "worse", (20, 54): "no better", (22, 54): "better"}
    verdicts |= {(0, 5): "no better", (5, 5): "better", (1, 40): "worse", (31, 60): "better", (16, 64): "no better"}
    verdicts |= {(64, 64): "better", (3, 8): "no better", (2_600, 10_000): "better"}
    for (right, n), verdict in verdicts.items():
        comparison = against_chance(outcomes(right, n), np.full(n, 0.25))
        greater, less = p_of(right, n, "greater"), p_of(right, n, "less")
        expected = min(1, 2 * min(greater, less)), greater, 2 * less if right < n / 4 else 1
        p_values = comparison.p, comparison.p_better, comparison.p_worse
        assert p_values == pytest.approx(expected, rel=1e-9), (right, n)
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

TIMES = 5
FIRST = np.random.default_rng(1).permutation(np.repeat([1.0, 0.0], [22, 18]))
SECOND = np.random.default_rng(2).permutation(np.repeat([1.0, 0.0], [12, 28]))
FIRST_COPIED, SECOND_COPIED = np.repeat(FIRST, TIMES), np.repeat(SECOND, TIMES)
GROUPS = Groups(np.repeat(np.arange(40), TIMES))


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
    correct, chance = np.repeat(np.arange(40) < 15, TIMES).astype(float), np.full(200, 0.25)
    alone, copied = (against_chance(correct, chance, groups=groups) for groups in (None, GROUPS))
    assert (alone.verdict, copied.verdict) == ("better than guessing", "no better than guessing")
    assert against_chance(np.zeros(200), chance, groups=GROUPS).verdict == "worse than guessing"
    assert against_chance(np.zeros(200), chance, np.ones(200), GROUPS).p_worse == 1
    sets, rng = times(900), np.random.default_rng(3)
    guesses = (np.repeat((rng.random(40) < 0.25).astype(float), TIMES) for _ in range(sets))
    p = [against_chance(correct, chance, groups=GROUPS).p for correct in guesses]
    assert np.mean(np.array(p) <= 0.05) <= 0.05


def test_calibration_is_resampled_by_groups():
    confidence = np.repeat(np.random.default_rng(4).uniform(0.3, 0.9, 40), TIMES)

    def estimates(groups):
        arguments = {"bins": 10, "resamples": 1_000, "seed": 0, "groups": groups}
        scores = confidence_scores(confidence, FIRST_COPIED, **arguments)
        return [*scores, confidence_summary(confidence, FIRST_COPIED, **arguments).estimates[AUROC]]

    for alone, grouped in zip(estimates(None), estimates(GROUPS), strict=True):
        assert alone.value == grouped.value
        assert grouped.high - grouped.low > 1.5 * (alone.high - alone.low)


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
