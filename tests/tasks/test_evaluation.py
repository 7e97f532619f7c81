"""The measurement of one configuration."""

import numpy as np
import pytest

from ragsweep.core.errors import ConfigError
from ragsweep.evaluation import evaluate, judge, precision, recall
from ragsweep.statistics import confidence_intervals

TYPES = ("why", "how", None)


@pytest.fixture
def judged():
    rankings = np.array([[3, 5, 7], [5, 7, 3], [7, 5, 9]])
    return judge(rankings, np.array([0, 1, 2]), np.array([3, 3, 3]), np.array([1, 1, 1]))


@pytest.fixture
def evaluation(judged):
    return evaluate(judged, {"precision": precision, "recall": recall}, 2, TYPES, resamples=100)


@pytest.mark.parametrize(("k", "cutoffs"), [(2, 20), (20, 20), (25, 25)])
def test_every_cutoff_up_to_20_or_k_is_measured(judged, k, cutoffs):
    assert evaluate(judged, {"recall": recall}, k, TYPES, resamples=100).values.shape == (1, cutoffs, 3)


def test_the_intervals_are_those_of_the_values_at_k(judged, evaluation):
    expected = confidence_intervals(recall(judged, 2), resamples=100)
    assert (evaluation.scores[1].low, evaluation.scores[1].high) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (0.5, "values of shape ()"),
        ([0.5], "values of shape (1,)"),
        ([[0.5]] * 3, "values of shape (3, 1)"),
        ([0.5, 0.5, np.nan], "nan for query 'third'"),
        ([0.5, -np.inf, np.nan], "-inf for query 'second'"),
        (None, "a non-numeric NoneType"),
        (["high"] * 3, "a non-numeric list"),
        ([[1], [1, 2], 3], "a non-numeric list"),
    ],
    ids=range(8),
)
def test_a_metric_without_one_number_per_query_is_refused_with_what_it_returned(judged, values, found):
    with pytest.raises(ConfigError) as error:
        evaluate(judged, {"mine": lambda judged, k: values}, 2, TYPES, ("first", "second", "third"), resamples=100)
    expected = f"returned {found} at k=1; expected an array of shape (3,) with one finite number per query"
    assert str(error.value) == f"evaluation.metrics.mine: {expected}"
