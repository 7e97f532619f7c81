"""Confidence intervals compared with known distributions."""

import numpy as np
import pytest
from scipy.stats import binom, bootstrap
from simulated import f1_like, mean_f1

from ragsweep.statistics import affordable_resamples, confidence_intervals, win_frequency
from ragsweep.statistics.comparison import sign_patterns
from ragsweep.statistics.intervals import MANY_QUERIES, resample_weights


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("queries", [100, 2000])
def test_the_interval_of_a_share_is_that_of_the_binomial_distribution(queries):
    hits = (np.arange(queries) < 0.3 * queries).astype(float)  # so the hits of a resample are Binomial(queries, .3)
    expected = binom.ppf([0.025, 0.975], queries, 0.3) / queries
    assert confidence_intervals(hits) == pytest.approx(tuple(expected), abs=1.01 / queries + 0.001)


@pytest.mark.usefixtures("long_work")
def test_the_interval_equals_scipys_percentile_bootstrap():
    values = np.random.default_rng(1).beta(2, 5, size=133)
    oracle = bootstrap((values,), np.mean, method="percentile", n_resamples=20_000, rng=2).confidence_interval
    assert confidence_intervals(values, resamples=20_000) == pytest.approx((oracle.low, oracle.high), abs=0.001)


def test_all_metrics_use_the_same_resamples_and_equal_values_have_an_interval_of_width_0():
    values = np.random.default_rng(1).random(40)
    low, high = confidence_intervals(np.stack([values, values + 1, np.full(40, 0.25)]))
    assert (low[1], high[1]) == pytest.approx((low[0] + 1, high[0] + 1))
    assert (low[2], high[2]) == pytest.approx((0.25, 0.25))


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("hit", [0.6, 0.15], ids=["typical", "mostly 0"])
def test_95_percent_intervals_cover_the_truth_93_to_97_percent_of_the_time(hit):
    rng, one = np.random.default_rng(5), np.ones((1, 1))
    sets = np.concatenate([f1_like(rng, one, hit=hit) for _ in range(2000)])
    bounds = [confidence_intervals(part) for part in np.split(sets, 8)]  # 8 parts to save memory
    low, high = np.concatenate(bounds, axis=1)
    assert 0.93 <= ((low <= mean_f1(hit)) & (mean_f1(hit) <= high)).mean() <= 0.97


def test_the_resamples_of_usual_sizes_are_those_of_a_multinomial_draw():
    """Recorded intervals stay what they are."""
    [weights] = resample_weights(133, 50, seed=3)
    draws = np.random.default_rng((3, 0)).multinomial(133, np.full(133, 1 / 133), size=50)
    assert np.array_equal(weights, draws.T / 133)


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
