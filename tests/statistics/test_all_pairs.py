"""All pairs against scipy, ranx and a slow loop; the corrections keep their levels."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import false_discovery_control, permutation_test, ttest_rel
from simulated import alike, at_most, f1_like, sweep

from ragsweep.statistics import Groups, holm
from ragsweep.statistics.all_pairs import compare_all_pairs


def scipy_p(first, second):
    def difference(one, other, axis):
        return np.mean(one - other, axis=axis)

    return permutation_test((first, second), difference, permutation_type="samples", n_resamples=np.inf).pvalue


def test_every_pair_once_and_p_as_scipy():
    scores = sweep(configurations=4, queries=9)
    found = compare_all_pairs(scores)
    assert [*zip(found.first.tolist(), found.second.tolist(), strict=True)] == [*combinations(range(4), 2)]
    expected = [scipy_p(scores[i], scores[j]) for i, j in combinations(range(4), 2)]
    assert found.paired.p == pytest.approx(expected, rel=1e-12)
    assert found.corrected.tolist() == holm(found.paired.p).tolist()
    assert found.paired.difference == pytest.approx(
        [(scores[i] - scores[j]).mean() for i, j in combinations(range(4), 2)]
    )


def test_student_and_benjamini_hochberg_as_scipy():
    scores = sweep(configurations=5, queries=60)
    found = compare_all_pairs(scores, test="t", correction="benjamini_hochberg")
    expected = [ttest_rel(scores[i], scores[j]).pvalue for i, j in combinations(range(5), 2)]
    assert found.paired.p == pytest.approx(expected, rel=1e-9)
    assert found.corrected == pytest.approx(false_discovery_control(expected), rel=1e-9)


def test_a_constant_difference_is_certain_for_students_test_and_none_is_nothing():
    scores = np.array([[0.1, 0.4, 0.3], [0.1, 0.4, 0.3], [0.6, 0.9, 0.8]])
    assert compare_all_pairs(scores, test="t").paired.p.tolist() == [1, 0, 0]


@pytest.mark.parametrize("how", [{"test": "t"}, {}])
def test_copies_of_queries_in_groups_tell_what_each_tells_once(how):
    scores = sweep(configurations=4, queries=30)
    copied = compare_all_pairs(np.repeat(scores, 3, axis=1), groups=Groups(np.repeat(np.arange(30), 3)), **how)
    alone = compare_all_pairs(scores, **how)
    assert copied.paired.p == pytest.approx(alone.paired.p, rel=1e-9)
    assert copied.corrected == pytest.approx(alone.corrected, rel=1e-9)


@pytest.mark.usefixtures("long_work")
def test_equal_configurations_are_seldom_called_different():
    times, rng = 400, np.random.default_rng(1)
    draws = (f1_like(rng, alike(5), 60) for _ in range(times))
    wrong = [compare_all_pairs(each, resamples=500).corrected.min() <= 0.05 for each in draws]
    assert np.mean(wrong) <= at_most(0.05, times)


@pytest.mark.extra("bench")
def test_students_p_values_equal_those_of_ranx(ranx):
    rng = np.random.default_rng(0)
    qrels = ranx.Qrels(
        {f"q{query}": dict.fromkeys((f"d{place}" for place in rng.integers(12, size=2)), 1) for query in range(40)}
    )
    runs = [
        ranx.Run(
            {f"q{query}": {f"d{place}": float(rng.random()) for place in range(12)} for query in range(40)}, name=name
        )
        for name in ("a", "b", "c")
    ]
    report = ranx.compare(qrels, runs, ["ndcg@5"], stat_test="student")
    scores = np.array([[*run.scores["ndcg@5"].values()] for run in runs])
    expected = [report.comparisons[one, other]["ndcg@5"]["p_value"] for one, other in combinations("abc", 2)]
    assert compare_all_pairs(scores, test="t").paired.p == pytest.approx(expected, rel=1e-9)
