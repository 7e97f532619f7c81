"""Charts of one measured ranking."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ragsweep.core.style import BEST, LONGEST_WORD, MARKERS, QUARTERS, colour, dress, figure, in_legend, shown
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.ranking.evaluation import Evaluation

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
        "cells: share of the queries in each tenth of the range",
    )
    axes = drawing.subplots()
    edges = np.linspace(0, 1, 11)
    shares = np.array([np.histogram(values, edges)[0] / queries for values in evaluation.per_query])
    width = len(shares)
    axes.imshow(shares.T, origin="lower", aspect="auto", cmap="Blues", vmin=0, vmax=1, extent=(-0.5, width - 0.5, 0, 1))
    axes.vlines(np.arange(width - 1) + 0.5, 0, 1, color="white", linewidth=3)
    for x, row in enumerate(shares):
        for y in np.flatnonzero(row >= 0.095):
            ink = "white" if row[y] > 0.5 else "#222222"
            axes.text(x - 0.12, (y + 0.5) / 10, f"{row[y]:.0%}", ha="center", va="center", fontsize=8, color=ink)
    means = np.array(list(evaluation.means.values()))
    whiskers = np.abs([means - evaluation.ci_low, evaluation.ci_high - means])
    axes.errorbar(np.arange(width) + 0.3, means, yerr=whiskers, fmt="D", color=BEST, capsize=4, markersize=6)
    labels = [f"{_title(metric)}\n{mean:.3f}" for metric, mean in zip(evaluation.metrics, means, strict=True)]
    axes.set_xticks(range(width), labels)
    axes.set_yticks(QUARTERS)
    axes.set_ylabel("value of a query")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(left=False, bottom=False)
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
    axes.text(evaluation.k, 1.02, f" k = {evaluation.k}", fontsize=9, color="#444444")
    axes.set_xlabel("cutoff k (passages)")
    axes.set_ylabel("mean over queries")
    axes.set_xlim(0.5, cutoffs[-1] + 0.5)
    axes.set_xticks([1, *range(5, cutoffs[-1] + 1, 5 * max(1, len(cutoffs) // 50))])
    axes.set_ylim(0, 1.08)
    axes.set_yticks(QUARTERS)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    dress(axes)
    return drawing


def _title(metric: Metric) -> str:
    return shown(metric.title, LONGEST_WORD)
