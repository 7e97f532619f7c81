"""All pairs against scipy, ranx and statsmodels: their tests and corrections, and how they divide their work."""

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import false_discovery_control, permutation_test, ttest_rel
from simulated import alike, at_most, f1_like, sweep
from statsmodels.stats.contingency_tables import mcnemar

from ragsweep.statistics import Groups, holm, mcnemar_of_pairs
from ragsweep.statistics.all_pairs import compare_all_pairs
from ragsweep.statistics.pairs import affordable, distances, in_parts


def scipy_p(first, second):
    def difference(one, other, axis):
        return np.mean(one - other, axis=axis)

    return permutation_test((first, second), difference, permutation_type="samples", n_resamples=np.inf).pvalue


def test_every_pair_once_and_p_as_scipy():
    scores = sweep(configurations=4, queries=9)
    pairs, rows = compare_all_pairs(scores), [*combinations(range(4), 2)]
    assert [*zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)] == rows
    assert pairs.paired.p == pytest.approx([scipy_p(scores[i], scores[j]) for i, j in rows], rel=1e-12)
    assert pairs.corrected.tolist() == holm(pairs.paired.p).tolist()
    assert pairs.paired.difference == pytest.approx([(scores[i] - scores[j]).mean() for i, j in rows])


def test_student_and_benjamini_hochberg_as_scipy():
    scores = sweep(configurations=5, queries=60)
    pairs = compare_all_pairs(scores, test="t", correction="benjamini_hochberg")
    expected = [ttest_rel(scores[i], scores[j]).pvalue for i, j in combinations(range(5), 2)]
    assert pairs.paired.p == pytest.approx(expected, rel=1e-9)
    assert pairs.corrected == pytest.approx(false_discovery_control(expected), rel=1e-9)


def test_a_constant_difference_is_certain_for_students_test_and_none_is_nothing():
    scores = np.array([[0.1, 0.4, 0.3], [0.1, 0.4, 0.3], [0.6, 0.9, 0.8]])
    assert compare_all_pairs(scores, test="t").paired.p.tolist() == [1, 0, 0]


def test_copies_of_queries_in_groups_tell_what_each_tells_once():
    scores, groups = sweep(configurations=4, queries=30), Groups(np.repeat(np.arange(30), 3))
    for settings in ({"test": "t"}, {}):
        copied = compare_all_pairs(np.repeat(scores, 3, axis=1), groups=groups, **settings)
        alone = compare_all_pairs(scores, **settings)
        assert copied.paired.p == pytest.approx(alone.paired.p, rel=1e-9)
        assert copied.corrected == pytest.approx(alone.corrected, rel=1e-9)


@pytest.mark.usefixtures("long_work")
def test_equal_configurations_are_seldom_called_different():
    times, rng = 400, np.random.default_rng(1)
    draws = (f1_like(rng, alike(5), 60) for _ in range(times))
    wrong = [compare_all_pairs(scores, resamples=500).corrected.min() <= 0.05 for scores in draws]
    assert np.mean(wrong) <= at_most(0.05, times)


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


def test_any_pair_of_equal_systems_is_told_apart_in_at_most_one_sweep_of_twenty():
    rng = np.random.default_rng(2)
    hard = rng.random(64)  # the systems are right on the same kinds of questions
    wrong = [mcnemar_of_pairs((rng.random((6, 64)) < hard).astype(float)).p_holm.min() <= 0.05 for _ in range(1000)]
    assert np.mean(wrong) <= 0.05


def test_many_configurations_are_tested_with_fewer_patterns_but_never_more_than_were_asked_for():
    patterns = {2: 10_000, 316: 10_000, 500: 4_000, 5_000: 1_000}
    assert {configurations: affordable(10_000, configurations) for configurations in patterns} == patterns
    assert affordable(200, 5_000) == 200


def test_the_parts_contain_every_pattern_once():
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
