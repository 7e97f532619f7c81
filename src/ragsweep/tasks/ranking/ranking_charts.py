"""Charts of one measured ranking."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ragsweep.core.style import (
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
from ragsweep.tasks.ranking.ranking_evaluation import Evaluation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_IN_A_PANEL = 7  # metrics


def draw(evaluation: Evaluation, ends_at: int | None = None) -> Iterator[tuple[str, Figure]]:
    """Every chart with its file name; arguments as of `metrics_by_cutoff`."""
    yield "metrics_by_cutoff.png", metrics_by_cutoff(evaluation, ends_at)


def metrics_by_cutoff(evaluation: Evaluation, ends_at: int | None = None) -> Figure:
    """How do the metrics depend on the cutoff?

    Args:
        evaluation: Their values.
        ends_at: Beyond which cutoff it is not known what would follow; None if it is known everywhere.
    """
    queries, groups = evaluation.per_query.shape[1], _groups(evaluation)
    drawing = figure(
        8,
        1.4 + (3.2 if len(groups) == 1 else 2.6) * len(groups),
        "How do the metrics depend on the cutoff?",
        f"Mean over {queries} queries" + (f"; at most {ends_at} results are listed for a query" if ends_at else ""),
        right=1.3 if len(groups) == 1 else 2,
    )
    panels = drawing.subplots(len(groups), 1, squeeze=False, gridspec_kw={"hspace": 0.45})[:, 0]
    for axes, group in zip(panels, groups, strict=True):
        _draw_curves(evaluation, group, axes, ends_at)
    return drawing


def _draw_curves(evaluation: Evaluation, group: list[int], axes: Axes, ends_at: int | None) -> None:
    """Draw the means of some metrics over the cutoff."""
    curves = evaluation.curves[group]
    cutoffs = np.arange(1, curves.shape[1] + 1)
    for place, (position, curve) in enumerate(zip(group, curves, strict=True)):
        axes.plot(
            cutoffs[:ends_at],
            curve[:ends_at],
            color=colour(place),
            marker=MARKERS[place % len(MARKERS)],
            markersize=4,
            markevery=2,
            label=in_legend(shown(evaluation.metrics[position].title, LONGEST_WORD))[0],
        )
    axes.axvline(evaluation.k, color="#444444", linewidth=1, linestyle=":")
    axes.text(
        evaluation.k, 0.95, f" k = {evaluation.k}", fontsize=9, color="#444444", transform=axes.get_xaxis_transform()
    )
    axes.set_xlabel("cutoff k (passages)" if evaluation.places is None else "cutoff k (what is returned)")
    axes.set_ylabel("mean over queries")
    axes.set_xlim(0.5, cutoffs[-1] + 0.5)
    axes.set_xticks(cutoff_ticks(len(cutoffs)))
    low, high = min(0.0, float(curves.min())), max(1.0, float(curves.max()))  # further where a metric goes further
    top = high + 0.08 * (high - low)
    axes.set_ylim(low, top)
    if low >= 0 and top < 1.1:  # few ticks, since they take longest to draw
        axes.set_yticks(QUARTERS)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    dress(axes)


def _groups(evaluation: Evaluation) -> list[list[int]]:
    """Positions of the metrics of each panel: those of one kind, such as `token/`, and of one range."""
    groups: dict[tuple[str, float], list[int]] = {}
    for position, metric in enumerate(evaluation.metrics):
        groups.setdefault((metric.name.rpartition("/")[0], metric.high), []).append(position)
    if len(evaluation.metrics) <= MOST_IN_A_PANEL:
        return [list(range(len(evaluation.metrics)))]
    return [
        group[start : start + MOST_IN_A_PANEL]
        for group in groups.values()
        for start in range(0, len(group), MOST_IN_A_PANEL)
    ]
