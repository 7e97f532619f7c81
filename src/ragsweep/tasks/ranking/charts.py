"""Charts of one measured ranking."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ragsweep.core.style import (
    BEST,
    LONGEST_WORD,
    MARKERS,
    QUARTERS,
    colour,
    cutoff_ticks,
    dress,
    figure,
    in_legend,
    shown,
)
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.ranking.evaluation import Evaluation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LIGHT_BLUE = "#9ecae1"
TENTHS = 10
WIDE_ENOUGH = 0.3  # share of the queries whose bar has room for a number


def draw(evaluation: Evaluation) -> Iterator[tuple[str, Figure]]:
    """Every chart with its file name."""
    yield "metrics.png", metrics(evaluation)
    yield "metrics_by_cutoff.png", metrics_by_cutoff(evaluation)


def metrics(evaluation: Evaluation) -> Figure:
    """How good is this configuration, and how are the values of the queries distributed?"""
    queries = evaluation.per_query.shape[1]
    drawing = figure(
        9,
        4.4,
        f"How good is this configuration at k = {evaluation.k}?",
        f"Diamond: mean over {queries} queries, with its 95 % bootstrap interval; "
        "bars: share of the queries in each tenth of the range",
    )
    axes = drawing.subplots()
    edges = np.linspace(*_range(evaluation.per_query), TENTHS + 1)
    shares = np.array([np.histogram(values, edges)[0] / queries for values in evaluation.per_query])
    place, tenth = shares.nonzero()
    left, middle, shown_shares = place - 0.4, (edges[tenth] + edges[tenth + 1]) / 2, shares[place, tenth]
    axes.hlines(middle, left, left + 0.7 * shown_shares, color=LIGHT_BLUE, linewidth=19, capstyle="butt")
    for x, y, share in zip(left, middle, shown_shares, strict=True):
        if share >= WIDE_ENOUGH:
            axes.text(x + 0.03, y, f"{share:.0%}", va="center", fontsize=8, color="#222222")
    places, means = np.arange(len(evaluation.metrics)), np.array(list(evaluation.means.values()))
    whiskers = np.abs([means - evaluation.ci_low, evaluation.ci_high - means])
    axes.errorbar(places + 0.38, means, yerr=whiskers, fmt="D", color=BEST, capsize=4, markersize=6)
    labels = [f"{_title(metric)}\n{mean:.3f}" for metric, mean in zip(evaluation.metrics, means, strict=True)]
    axes.set_xticks(places, labels)
    axes.set_xlim(-0.5, len(places) - 0.5)
    axes.set_ylabel("value of a query")
    _show_range(axes, edges[0], edges[-1])
    dress(axes)
    return drawing


def metrics_by_cutoff(evaluation: Evaluation) -> Figure:
    """How do the metrics depend on the cutoff?"""
    queries = evaluation.per_query.shape[1]
    drawing = figure(8, 4.6, "How do the metrics depend on the cutoff?", f"Mean over {queries} queries", right=1.3)
    axes = drawing.subplots()
    cutoffs = np.arange(1, evaluation.curves.shape[1] + 1)
    for place, (metric, curve) in enumerate(zip(evaluation.metrics, evaluation.curves, strict=True)):
        axes.plot(
            cutoffs,
            curve,
            color=colour(place),
            marker=MARKERS[place % len(MARKERS)],
            markersize=4,
            markevery=2,
            label=in_legend(_title(metric)),
        )
    axes.axvline(evaluation.k, color="#444444", linewidth=1, linestyle=":")
    axes.text(
        evaluation.k, 0.95, f" k = {evaluation.k}", fontsize=9, color="#444444", transform=axes.get_xaxis_transform()
    )
    axes.set_xlabel("cutoff k (passages)")
    axes.set_ylabel("mean over queries")
    axes.set_xlim(0.5, cutoffs[-1] + 0.5)
    axes.set_xticks(cutoff_ticks(len(cutoffs)))
    low, high = _range(evaluation.curves)
    _show_range(axes, low, high + 0.08 * (high - low))
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    dress(axes)
    return drawing


def _range(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """0 and 1, or further where a metric goes further."""
    return min(0.0, float(values.min())), max(1.0, float(values.max()))


def _show_range(axes: Axes, low: float, high: float) -> None:
    axes.set_ylim(low, high)
    if low >= 0 and high < 1.1:  # few ticks, since they take longest to draw
        axes.set_yticks(QUARTERS)


def _title(metric: Metric) -> str:
    return shown(metric.title, LONGEST_WORD)
