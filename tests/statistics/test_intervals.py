"""Intervals, also of questions that are asked repeatedly, against known distributions, slow sums and simulated sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binom, bootstrap
from simulated import at_most, f1_like, mean_f1

from ragsweep.statistics import Groups, affordable_resamples, confidence_intervals, randomisation_test, win_frequency
from ragsweep.statistics.intervals import MANY_QUERIES, resample_weights
from ragsweep.statistics.paired_tests import sign_patterns
from ragsweep.statistics.repeats import Components, components, mean_intervals

SETS = 1_000
VALUES = arrays(float, (3, 8), elements=st.floats(0, 1, width=16))


@pytest.mark.usefixtures("long_work")
def test_the_interval_is_that_of_the_binomial_distribution_and_scipys_percentile_bootstrap():
    for queries in (100, 2000):
        hits = (np.arange(queries) < 0.3 * queries).astype(float)  # so the hits of a resample are Binomial(queries, .3)
        expected = binom.ppf([0.025, 0.975], queries, 0.3) / queries
        assert confidence_intervals(hits) == pytest.approx(tuple(expected), abs=1.01 / queries + 0.001)
    values = np.random.default_rng(1).beta(2, 5, size=133)
    oracle = bootstrap((values,), np.mean, method="percentile", n_resamples=20_000, rng=2).confidence_interval
    assert confidence_intervals(values, resamples=20_000) == pytest.approx((oracle.low, oracle.high), abs=0.001)


def test_all_metrics_use_the_same_resamples_which_are_those_of_a_multinomial_draw():
    values = np.random.default_rng(1).random(40)
    low, high = confidence_intervals(np.stack([values, values + 1, np.full(40, 0.25)]))
    assert (low[1], high[1]) == pytest.approx((low[0] + 1, high[0] + 1))
    assert (low[2], high[2]) == pytest.approx((0.25, 0.25))
    # Recorded intervals stay what they are.
    [weights] = resample_weights(133, 50, seed=3)
    draws = np.random.default_rng((3, 0)).multinomial(133, np.full(133, 1 / 133), size=50)
    assert np.array_equal(weights, draws.T / 133)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("hit", [0.6, 0.15], ids=["typical", "mostly 0"])
def test_95_percent_intervals_cover_the_truth_93_to_97_percent_of_the_time(hit):
    rng, one = np.random.default_rng(5), np.ones((1, 1))
    sets = np.concatenate([f1_like(rng, one, hit=hit) for _ in range(2000)])
    bounds = [confidence_intervals(part) for part in np.split(sets, 8)]  # 8 parts to save memory
    low, high = np.concatenate(bounds, axis=1)
    assert 0.93 <= ((low <= mean_f1(hit)) & (mean_f1(hit) <= high)).mean() <= 0.97


@pytest.mark.usefixtures("long_work")
def test_many_queries_have_fewer_resamples_of_the_same_distribution():
    resamples = {MANY_QUERIES: 10_000, 60_000: 3_333, 10**7: 1_000}
    assert {queries: affordable_resamples(10_000, queries) for queries in resamples} == resamples
    assert [affordable_resamples(10_000, 10**6, at_least) for at_least in (6_000, 60_000)] == [6_000, 10_000]
    queries = MANY_QUERIES + 1
    values = np.random.default_rng(2).normal(0, 1, queries)
    weights = np.concatenate([*resample_weights(queries, 250, seed=1)], axis=1)
    assert weights.shape == (queries, 250)
    assert weights.sum(axis=0) == pytest.approx(np.ones(250))
    assert (weights[:, 0] * queries).var() == pytest.approx(1, abs=0.05)  # Binomial(n, 1/n)
    assert (values @ weights).std() * np.sqrt(queries) == pytest.approx(1, rel=0.15)
    assert win_frequency(np.stack([values, values]), resamples=5).tolist() == [0.5, 0.5]
    assert [block.shape[1] for block in sign_patterns(40_000, 700, seed=0)] == [1, 500, 200]


# Repeats


def simulated(rng, questions, repeats, parts, sets=SETS):
    """Values of a metric with the mean 0 in sets of questions and repeats, shape [sets, repeats, questions]."""
    shapes = ((sets, 1, questions), (sets, repeats, 1), (sets, repeats, questions))
    return sum(rng.normal(0, np.sqrt(part), shape) for part, shape in zip(parts, shapes, strict=True))


def covered(sets, truth, *, share=False):
    """The share of the sets whose interval holds the truth."""
    _, repeats, questions = sets.shape
    drawn = {"groups": Groups.none(questions), "resamples": 500, "seed": 0, "repeats": repeats}
    bounds = [mean_intervals(values.mean(axis=0)[None], np.array([share]), **drawn) for values in sets]
    low, high = np.transpose(bounds, (1, 0, 2))
    return ((low <= truth) & (truth <= high)).mean()


def called_different(one, other):
    return np.mean(randomisation_test(one.mean(axis=1) - other.mean(axis=1), resamples=200) <= 0.05)


@given(VALUES)
def test_the_parts_are_those_of_the_mean_squares_and_groups_are_their_questions(values):
    """Groups of one size whose questions have the same values tell as much as one question of each."""
    repeats, questions = values.shape
    mean = values.mean()
    of_question = sum(repeats * (values[:, q].mean() - mean) ** 2 for q in range(questions)) / (questions - 1)
    of_repeat = sum(questions * (values[r].mean() - mean) ** 2 for r in range(repeats)) / (repeats - 1)
    total = sum((values[r, q] - mean) ** 2 for r in range(repeats) for q in range(questions))
    left = (total - of_question * (questions - 1) - of_repeat * (repeats - 1)) / ((questions - 1) * (repeats - 1))
    parts = components(values)
    assert parts.residual == pytest.approx(left, abs=1e-12)
    assert parts.question == pytest.approx(max(0, (of_question - left) / repeats), abs=1e-12)
    assert parts.repeat == pytest.approx(max(0, (of_repeat - left) / questions), abs=1e-12)
    doubled, groups = np.repeat(values, 2, axis=1), Groups.named(np.repeat(range(8), 2).tolist())
    assert vars(components(doubled, groups)) == pytest.approx(vars(parts), abs=1e-12)


def test_as_many_questions_that_are_asked_once_have_a_mean_with_the_same_variance():
    parts = Components(question=0.05, repeat=0.0, residual=0.2, questions=64, repeats=5)
    assert parts.of_mean == pytest.approx((0.05 + 0.2 / 5) / 64)
    assert (parts.question + parts.residual) / parts.asked_once == pytest.approx(parts.of_mean)
    assert round(parts.asked_once) == 178
    assert Components(0.05, 0.1, 0.2, 64, 5).asked_once is None  # one repeat never has so small an error


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("questions", "repeats", "parts"), [(64, 5, (1, 0.2, 1)), (30, 3, (0.5, 0.5, 2)), (200, 5, (1, 0.05, 0.5))]
)
def test_the_parts_are_within_a_tenth_of_the_truth_on_average(questions, repeats, parts):
    sets = simulated(np.random.default_rng(0), questions, repeats, parts, 2_000)
    estimates = np.array([(one.question, one.repeat, one.residual) for one in map(components, sets)])
    assert estimates.mean(axis=0) == pytest.approx(np.array(parts), rel=0.1)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("questions", "repeats", "parts"),
    [(64, 5, (1, 0, 1)), (64, 3, (1, 0, 1)), (200, 10, (0.2, 0, 1)), (64, 2, (0.2, 0, 0.5))],
)
def test_intervals_cover_the_mean_of_other_questions_and_repeats(questions, repeats, parts):
    sets = simulated(np.random.default_rng(1), questions, repeats, parts)
    assert 0.92 <= covered(sets, 0) <= 0.97  # a percentile bootstrap of 64 values covers 94 %


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(("questions", "repeats", "spread"), [(64, 5, 2), (200, 3, 5), (64, 10, 1)])
def test_wilsons_intervals_cover_a_share(questions, repeats, spread):
    """Answers are right with a probability of each question, 0.6 on average."""
    rng = np.random.default_rng(2)
    probability = rng.beta(0.6 * spread, 0.4 * spread, (SETS, 1, questions))
    sets = (rng.random((SETS, repeats, questions)) < probability).astype(float)
    assert 0.93 <= covered(sets, 0.6, share=True) <= 0.975


@pytest.mark.usefixtures("long_work")
def test_equal_configurations_are_called_different_in_one_of_twenty_sets_and_more_often_where_whole_repeats_shift():
    """Which is why a run says where more than a tenth of the variance lies there."""
    rng = np.random.default_rng(3)
    hardness = simulated(rng, 64, 1, (1, 0, 0))
    pair = (hardness + simulated(rng, 64, 5, (0, 0, 1)) for _ in range(2))
    assert 0.02 <= called_different(*pair) <= at_most(0.05, SETS)
    shifted = (simulated(rng, 64, 5, (1, 0.2, 1), 300) for _ in range(2))
    assert called_different(*shifted) > 0.2
