"""Values are held against what their metric says of itself."""

import numpy as np
import pytest

from ragsweep.core.errors import ConfigError
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.task import mean_scores

SHARE, HIT = Metric("share", "Share", low=0, high=1), Metric("hit", "Hit", low=0, high=1, binary=True)
COST, GAIN = Metric("cost", "Cost", "ms", low=0), Metric("gain", "Gain")


@pytest.mark.parametrize(
    ("metric", "values", "problem"),
    [
        (SHARE, [0.0, 0.5, 1.0 + 1e-15], ""),
        (SHARE, [0.5, 7.0], "found 7 as share, expected a number from 0 to 1"),
        (SHARE, [-0.1, 7.0], "found -0.1 as share, expected a number from 0 to 1"),
        (HIT, [0.0, 1.0], ""),
        (HIT, [1.0, 0.5], "found 0.5 as hit, expected 0 or 1"),
        (COST, [0.0, 1e9], ""),
        (COST, [-1.0], "found -1 as cost, expected a number from 0 to inf"),
        (GAIN, [-1e9, 1e9], ""),
    ],
)
def test_a_value_that_no_item_can_have_is_named(metric, values, problem):
    assert metric.problem_of(np.array(values)) == problem


def test_a_measurement_with_such_a_value_is_refused():
    with pytest.raises(ConfigError, match="a metric must stay within its bounds: found 2 as share"):
        mean_scores([SHARE], np.array([[0.5, 2.0]]), resamples=100, seed=0)
