"""How the tests of all pairs divide their work."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from ragsweep.statistics.pairs import affordable, distances, in_parts


@pytest.mark.parametrize(("configurations", "patterns"), [(2, 10_000), (316, 10_000), (500, 4_000), (5_000, 1_000)])
def test_many_configurations_are_tested_with_fewer_patterns(configurations, patterns):
    assert affordable(10_000, configurations) == patterns


def test_there_are_never_more_patterns_than_were_asked_for():
    assert affordable(200, 5_000) == 200


@pytest.mark.parametrize("configurations", [1, 300, 1_000])
def test_the_parts_contain_every_pattern_once(configurations):
    blocks = [np.random.default_rng(0).random((configurations, patterns)) for patterns in (1, 700, 300)]
    parts = list(in_parts(blocks))
    assert np.array_equal(np.hstack(parts), np.hstack(blocks))
    assert len(parts) > 3 or configurations == 1


def test_distances_are_those_of_scipy():
    rows = np.random.default_rng(0).normal(size=(40, 133))
    rows[7] = rows[3]
    assert distances(rows) == pytest.approx(cdist(rows, rows), rel=1e-12)
    assert distances(rows)[3, 7] == 0
