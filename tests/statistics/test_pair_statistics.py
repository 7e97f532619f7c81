"""All pairs, and a pair against a margin: against scipy, ranx and statsmodels, and in simulations."""

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import binom, false_discovery_control, permutation_test, ttest_rel
from simulated import alike, at_most, f1_like, sweep
from statsmodels.stats.contingency_tables import mcnemar

from ragsweep.statistics import against_baseline, holm, mcnemar_of_pairs
from ragsweep.statistics.all_pairs import compare_all_pairs
from ragsweep.statistics.bounded_mean import least_margin, least_queries, p_above
from ragsweep.statistics.pair_statistics import affordable, distances, in_parts


def scipy_p(differences, **settings):
    return permutation_test((differences,), np.mean, permutation_type="samples", n_resamples=np.inf, **settings).pvalue


# All pairs


def test_every_pair_once_and_p_as_scipy():
    scores = sweep(configurations=4, queries=9)
    pairs, rows = compare_all_pairs(scores), [*combinations(range(4), 2)]
    assert [*zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)] == rows
    assert pairs.paired.p == pytest.approx([scipy_p(scores[i] - scores[j]) for i, j in rows], rel=1e-12)
    assert pairs.corrected.tolist() == holm(pairs.paired.p).tolist()
    assert pairs.paired.difference == pytest.approx([(scores[i] - scores[j]).mean() for i, j in rows])


def test_student_and_benjamini_hochberg_as_scipy():
    scores = sweep(configurations=5, queries=60)
    pairs = compare_all_pairs(scores, test="t", correction="benjamini_hochberg")
    expected = [ttest_rel(scores[i], scores[j]).pvalue for i, j in combinations(range(5), 2)]
    assert pairs.paired.p == pytest.approx(expected, rel=1e-9)
    assert pairs.corrected == pytest.approx(false_discovery_control(expected), rel=1e-9)
    constant = np.array([[0.1, 0.4, 0.3], [0.1, 0.4, 0.3], [0.6, 0.9, 0.8]])
    assert compare_all_pairs(constant, test="t").paired.p.tolist() == [1, 0, 0], "no difference, and a certain one"


@pytest.mark.usefixtures("long_work")
def test_equal_configurations_and_systems_are_seldom_called_different():
    times, rng = 400, np.random.default_rng(1)
    draws = (f1_like(rng, alike(5), 60) for _ in range(times))
    wrong = [compare_all_pairs(scores, resamples=500).corrected.min() <= 0.05 for scores in draws]
    assert np.mean(wrong) <= at_most(0.05, times)
    rng = np.random.default_rng(2)
    hard = rng.random(64)  # the systems are right on the same kinds of questions
    wrong = [mcnemar_of_pairs((rng.random((6, 64)) < hard).astype(float)).p_holm.min() <= 0.05 for _ in range(1000)]
    assert np.mean(wrong) <= 0.05


@pytest.mark.extra("bench")
def test_students_p_values_equal_those_of_ranx(ranx):
    rng = np.random.default_rng(0)
    judged = {f"q{query}": {f"d{hit}": 1 for hit in rng.integers(12, size=2)} for query in range(40)}

    def run(name):
        scores = {f"q{query}": {f"d{hit}": float(rng.random()) for hit in range(12)} for query in range(40)}
        return ranx.Run(scores, name=name)

    qrels, runs = ranx.Qrels(judged), [run(name) for name in "abc"]
    report = ranx.compare(qrels, runs, ["ndcg@5"], stat_test="student")
    scores = np.array([[*run.scores["ndcg@5"].values()] for run in runs])
    expected = [report.comparisons[one, other]["ndcg@5"]["p_value"] for one, other in combinations("abc", 2)]
    assert compare_all_pairs(scores, test="t").paired.p == pytest.approx(expected, rel=1e-9)


def test_mcnemars_test_of_every_pair_equals_statsmodels():
    values = np.random.default_rng(1).integers(0, 2, (5, 40)).astype(float)
    pairs = mcnemar_of_pairs(values)
    assert len(pairs.p) == 10
    for first, second, only_first, only_second, p in zip(*pairs[:5], strict=True):
        table = [[0, sum(values[first] > values[second])], [sum(values[first] < values[second]), 0]]
        assert [only_first, only_second] == [table[0][1], table[1][0]]
        assert p == pytest.approx(mcnemar(table, exact=True).pvalue, rel=1e-12)
    assert mcnemar_of_pairs(np.ones((3, 10))).p_holm.tolist() == [1, 1, 1]


def test_many_configurations_are_tested_with_fewer_patterns_in_parts_that_contain_every_pattern_once():
    patterns = {2: 10_000, 316: 10_000, 500: 4_000, 5_000: 1_000}
    assert {configurations: affordable(10_000, configurations) for configurations in patterns} == patterns
    assert affordable(200, 5_000) == 200, "never more than were asked for"
    for configurations in (1, 300, 1_000):
        blocks = [np.random.default_rng(0).random((configurations, patterns)) for patterns in (1, 700, 300)]
        parts = list(in_parts(blocks))
        assert np.array_equal(np.hstack(parts), np.hstack(blocks))
        assert len(parts) > 3 or configurations == 1


def test_distances_are_those_of_scipy():
    rows = np.random.default_rng(0).normal(size=(40, 133))
    rows[7] = rows[3]
    assert distances(rows) == pytest.approx(cdist(rows, rows), rel=1e-12)
    assert distances(rows)[3, 7] == 0


# Non-inferiority and equivalence


@pytest.mark.usefixtures("long_work")
def test_equal_runs_are_equivalent_only_with_enough_queries():
    few, many = (against_baseline(np.zeros(queries), 0.05, 1.0) for queries in (58, 59))
    assert few.least == few.needed == 59
    assert few.p_not_worse > 0.05 >= many.p_not_worse
    assert few.p_equivalent > 0.05 >= many.p_equivalent
    assert few.p_not_worse == pytest.approx(0.95**58, rel=0.02)  # how often a loss of 1 in 5 % of queries is not seen


def test_the_test_is_the_exact_binomial_one_and_that_of_random_weights_and_one_more_worst_value():
    for lost, queries, margin in ((0, 30, 0.1), (1, 133, 0.05), (3, 133, 0.1), (20, 300, 0.1)):
        values = np.repeat([-1.0, 0.0], [lost, queries - lost])
        assert p_above(values[None], margin, 1.0)[0] == pytest.approx(binom.cdf(lost, queries, margin), rel=0.02)
    rng, margin = np.random.default_rng(8), 0.15
    values, weights = rng.uniform(-0.6, 0.7, (3, 40)), rng.dirichlet(np.ones(41), 100_000)
    for span in (1.0, 2.5):
        expected = [(weights @ np.append(row, -span) <= -margin).mean() for row in values]
        assert p_above(values, margin, span) == pytest.approx(expected, rel=0.1, abs=0.002)


def test_the_smallest_margin_is_about_3_of_the_number_of_queries_and_needs_all_of_them():
    for queries in (8, 20, 133, 1_000):
        margin = least_margin(queries, 1.0)
        assert margin == pytest.approx(3 / queries, rel=0.02 + 1.6 / queries)
        assert least_queries(margin, 1.0) == queries
        assert least_queries(0.99 * margin, 1.0) == pytest.approx(queries + 1, rel=0.02)


def test_whether_it_is_worse_is_tested_like_scipy():
    losses = -np.random.default_rng(0).normal(0.02, 0.1, 12)
    expected = scipy_p(losses, alternative="greater")
    assert against_baseline(-losses, 0.05, 1.0).p_worse == pytest.approx(expected)
    clear = against_baseline(np.random.default_rng(1).normal(-0.1, 0.05, 40), 0.01, 1.0)
    assert clear.p_worse < 0.001
    assert clear.p_not_worse == pytest.approx(1, abs=0.001)
    assert clear.needed is None


MARGIN = 0.05
WORSE = {  # sets of differences that lose a margin, as (margin, span, the differences of so many sets and queries)
    "a few queries lose everything": (0.03, 1.0, lambda rng, shape: -1.0 * (rng.random(shape) < 0.03)),
    "everything, of a range of 4": (0.12, 4.0, lambda rng, shape: -4.0 * (rng.random(shape) < 0.03)),
    "scores": (MARGIN, 1.0, lambda rng, shape: rng.normal(-MARGIN, 0.15, shape)),
    "hits": (MARGIN, 1.0, lambda rng, shape: rng.choice([-1.0, 0.0, 1.0], shape, p=[0.15, 0.75, 0.10])),
}


@pytest.mark.parametrize("queries", [30, 133, 300])
@pytest.mark.parametrize(("margin", "span", "draw"), WORSE.values(), ids=WORSE)
def test_what_is_worse_by_the_margin_passes_in_at_most_5_percent(margin, span, draw, queries, times):
    sets = draw(np.random.default_rng(7), (times(600), queries))
    passed = [against_baseline(one, margin, span, resamples=9).p_not_worse <= 0.05 for one in sets]
    assert np.mean(passed) <= at_most(0.05, times(600))


@pytest.mark.parametrize("side", [-1, 1])
def test_what_differs_by_the_margin_is_called_equivalent_in_at_most_5_percent(side, times):
    sets = np.random.default_rng(3).normal(side * MARGIN, 0.15, (times(600), 133))
    passed = [against_baseline(one, MARGIN, 1.0, resamples=999).p_equivalent <= 0.05 for one in sets]
    assert np.mean(passed) <= at_most(0.05, times(600))


@pytest.mark.usefixtures("long_work")
def test_the_queries_needed_are_enough_of_the_same_and_one_less_is_not_in_any_order():
    differences, margin = np.array([0.1, -0.1, 0.2, -0.2, 0.0]), 0.02
    copies = against_baseline(differences, margin, 1.0).needed // 5
    fewer, more = (against_baseline(np.tile(differences, n), margin, 1.0) for n in (copies - 1, copies + 1))
    assert fewer.p_not_worse > 0.05 >= more.p_not_worse
    differences = np.random.default_rng(5).normal(0, 0.1, 60)
    one, other = (against_baseline(order, 0.02, 1.0) for order in (differences, differences[::-1].copy()))
    assert (one.p_not_worse, one.p_worse, one.p_equivalent) == (other.p_not_worse, other.p_worse, other.p_equivalent)
