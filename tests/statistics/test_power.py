"""Power compared with a textbook value and with simulated tests."""

import numpy as np
import pytest
from simulated import alike, f1_like

from ragsweep.statistics import detectable_difference, queries_needed, randomisation_test


def test_the_textbook_value():
    # Cohen 1988: a paired effect of .5 needs about 32 pairs at 80 % power, two-sided .05 (normal approximation)
    assert queries_needed(1.0, 0.5) == 32


def test_the_queries_needed_detect_the_difference_and_one_fewer_does_not():
    needed = int(queries_needed(0.2, 0.02))
    assert detectable_difference(0.2, needed) <= 0.02 < detectable_difference(0.2, needed - 1)


def test_each_deviation_gets_its_own_result():
    assert detectable_difference(np.array([0.1, 0.2]), 100) == pytest.approx([0.02801585, 0.0560317], rel=1e-6)
    assert queries_needed(np.array([0.0, 0.1, 0.2]), 0.02).tolist() == [6, 197, 785]


@pytest.mark.parametrize("level", [0.05, 0.01])
def test_no_test_on_fewer_queries_could_have_a_p_at_the_level(level):
    fewest = int(queries_needed(1e-9, 0.5, level=level))
    assert sign_test_p(fewest) <= level < sign_test_p(fewest - 1)


def sign_test_p(queries):
    """The smallest two-sided p of a test that flips signs: all signs as they are, or all flipped."""
    return 2 / 2**queries


def test_a_difference_below_0_needs_as_many_queries():
    assert queries_needed(0.2, -0.02) == queries_needed(0.2, 0.02)


def test_more_certainty_takes_more_queries():
    assert queries_needed(0.2, 0.02, level=0.01) > queries_needed(0.2, 0.02)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("shift", [0.15, 0.3])
def test_the_randomisation_test_detects_the_difference_in_80_percent(shift):
    rng = np.random.default_rng(4)
    worse, better = f1_like(rng, alike(2), queries=400_000, shift=[0, shift])
    population = better - worse
    queries = int(queries_needed(population.std(), population.mean()))
    p = randomisation_test(rng.choice(population, size=(1500, queries)), resamples=2000)
    assert 0.77 <= (p <= 0.05).mean() <= 0.83  # 3 standard errors
