"""The charts that every task gets, for metrics of any range."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from ragsweep.statistics import Groups
from ragsweep.tasks.charts import by_query_type
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.ranking.ranking_charts import draw
from ragsweep.tasks.ranking.ranking_evaluation import Evaluation
from ragsweep.tasks.scores import mean_scores
from ragsweep.tasks.task import Measurement

pytestmark = pytest.mark.usefixtures("drawing")

SHARE, COST, GAIN = Metric("ndcg", "NDCG", low=0, high=1), Metric("cost", "Cost", "ms"), Metric("gain", "Gain")


def drawn_by_type(metric, values, types):
    """The chart of values by query type."""
    items = pd.DataFrame({"query_id": [*map(str, range(len(types)))], "query": "", "query_type": types})
    [score] = mean_scores([metric], np.array([values], dtype=float), resamples=200, seed=0)
    drawing = by_query_type(Measurement(items=items, scores=[score]), score, 200, 0)
    drawing.canvas.draw()
    return drawing


@pytest.mark.parametrize(("metric", "values"), [(SHARE, (0.2, 1.0)), (COST, (400.0, 900.0)), (GAIN, (-40.0, -2.0))])
def test_every_bar_and_number_is_within_the_axes(metric, values):
    [axes] = drawn_by_type(metric, values * 10, ["low", "high"] * 10).axes
    low, high = axes.get_ylim()
    assert low <= min(0, *values)
    assert high >= max(0, *values)
    for text in axes.texts:
        below, above = axes.transAxes.inverted().transform(text.get_window_extent())[:, 1]
        assert 0 <= below < above <= 1.1


@pytest.mark.parametrize(
    "types", [["low", "high"], [*"abcdefgh"], [f"handbuch-{letter}.de.pdf" for letter in "abcdefghi"]]
)
def test_the_names_of_query_types_are_within_the_chart_and_apart(types):
    drawing = drawn_by_type(SHARE, [1] * len(types), types)
    labels = drawing.axes[0].get_xticklabels()
    assert ["1 query" in label.get_text() for label in labels] == [True] * len(types)
    places = [label.get_window_extent() for label in labels]
    assert all(min(place.x0, place.y0) >= 0 and place.x1 <= drawing.bbox.x1 for place in places)
    if labels[0].get_rotation() == 0:
        assert all(one.x1 < other.x0 for one, other in pairwise(places))


def test_no_curve_goes_on_where_a_ranking_ends_and_more_might_be_found():
    values, metrics = np.random.default_rng(0).random((2, 20, 30)), (Metric("recall", "Recall"), SHARE)
    groups = Groups.none(30)
    evaluation = Evaluation(5, metrics, values, (None,) * 30, judged=None, groups=groups, resamples=200, seed=0)
    [(_, drawing)] = draw(evaluation, 7)
    curves = [line.get_xdata() for line in drawing.axes[0].lines[:-1]]
    assert [curve.tolist() for curve in curves] == [[*range(1, 8)]] * 2
    assert "at most 7 results" in " ".join(text.get_text() for text in drawing.texts)
