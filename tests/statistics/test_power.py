"""Power compared with a textbook value and with simulated tests."""

import numpy as np
import pytest
from simulated import alike, f1_like

from ragsweep.statistics import detectable_difference, randomisation_test
from ragsweep.statistics.power import fewest_queries


def queries_needed(deviation, difference):
    return fewest_queries(lambda queries: detectable_difference(deviation, queries) <= difference, 10**6)


def test_the_textbook_value():
    # Cohen 1988: a paired effect of .5 needs about 32 pairs at 80 % power, two-sided .05 (normal approximation)
    assert queries_needed(1.0, 0.5) == 32


def test_each_deviation_gets_its_own_result():
    assert detectable_difference(np.array([0.1, 0.2]), 100) == pytest.approx([0.02801585, 0.0560317], rel=1e-6)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("shift", [0.15, 0.3])
def test_the_randomisation_test_detects_the_difference_in_80_percent(shift):
    rng = np.random.default_rng(4)
    worse, better = f1_like(rng, alike(2), queries=400_000, shift=[0, shift])
    population = better - worse
    queries = queries_needed(population.std(), population.mean())
    p = randomisation_test(rng.choice(population, size=(1500, queries)), resamples=2000)
    assert 0.77 <= (p <= 0.05).mean() <= 0.83  # 3 standard errors
