"""What repeats of a measurement say together."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ragsweep.tasks.metric import Guessing, Metric
from ragsweep.tasks.repeating import joined
from ragsweep.tasks.scores import Score
from ragsweep.tasks.task import Measurement


@pytest.mark.parametrize("right", [10, 40, 55, 100, 190])
def test_the_p_value_of_guessing_is_that_of_a_t_test_however_small(right):
    """With as many right answers in each repeat, there is no variance between repeats."""
    random = np.random.default_rng(0)
    answers = random.permuted(np.tile(np.arange(200.0) < right, (3, 1)).astype(float), axis=1)
    items = pd.DataFrame({"query_id": [str(number) for number in range(200)], "query": "", "query_type": None})
    metric, guessing = Metric("accuracy", "Accuracy", low=0, high=1), Guessing(0.25, 0.5, 0.5)
    repeats = [Measurement(items, [Score(metric, row.mean(), 0, 1, row, guessing=guessing)]) for row in answers]
    measurement = joined(repeats, "accuracy", resamples=20, seed=0)
    p = stats.ttest_1samp(answers.mean(axis=0), 0.25).pvalue
    assert measurement.scores[0].guessing.p == pytest.approx(p, rel=1e-6)
    [sentence] = [line for line in measurement.summary if "p of guessing" in line]
    assert sentence.endswith("repeats: < 0.001." if p < 0.001 else f"repeats: {p:.2g}.")
