"""McNemar's exact test of all pairs: against statsmodels, and its level by simulation."""

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import mcnemar

from ragsweep.statistics import mcnemar_of_pairs


def test_every_pair_equals_statsmodels():
    values = np.random.default_rng(1).integers(0, 2, (5, 40)).astype(float)
    found = mcnemar_of_pairs(values)
    assert len(found.p) == 10
    for first, second, only_first, only_second, p in zip(*found[:5], strict=True):
        table = [[0, sum(values[first] > values[second])], [sum(values[first] < values[second]), 0]]
        assert [only_first, only_second] == [table[0][1], table[1][0]]
        assert p == pytest.approx(mcnemar(table, exact=True).pvalue, rel=1e-12)


def test_equal_configurations_have_p_one():
    assert mcnemar_of_pairs(np.ones((3, 10))).p_holm.tolist() == [1, 1, 1]


def test_any_pair_of_equal_systems_is_told_apart_in_at_most_one_sweep_of_twenty():
    rng = np.random.default_rng(2)
    hard = rng.random(64)  # the systems are right on the same kinds of questions
    found = [mcnemar_of_pairs((rng.random((6, 64)) < hard).astype(float)).p_holm.min() for _ in range(1000)]
    assert np.mean(np.array(found) <= 0.05) <= 0.05
