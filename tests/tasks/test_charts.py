"""The charts that every task gets, for metrics of any range."""

import numpy as np
import pandas as pd
import pytest

from ragsweep.tasks.charts import by_query_type
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.task import Measurement, mean_scores

SHARE, COST, GAIN = Metric("ndcg", "NDCG", low=0, high=1), Metric("cost", "Cost", "ms"), Metric("gain", "Gain")


@pytest.mark.parametrize(("metric", "values"), [(SHARE, (0.2, 1.0)), (COST, (400.0, 900.0)), (GAIN, (-40.0, -2.0))])
def test_every_bar_and_number_is_within_the_axes(metric, values):
    of_queries = np.array([values * 10], dtype=float)
    [score] = mean_scores([metric], of_queries, resamples=200, seed=0)
    items = pd.DataFrame(
        {"query_id": [f"q{number}" for number in range(20)], "query": "", "query_type": ["low", "high"] * 10}
    )
    drawing = by_query_type(Measurement(items=items, scores=[score]), score, 200, 0)
    drawing.canvas.draw()
    [axes] = drawing.axes
    low, high = axes.get_ylim()
    assert low <= min(0, *values)
    assert high >= max(0, *values)
    for text in axes.texts:
        below, above = axes.transAxes.inverted().transform(text.get_window_extent())[:, 1]
        assert 0 <= below < above <= 1.1
