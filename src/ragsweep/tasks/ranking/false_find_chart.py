"""The chart of what a score threshold leaves: hits over false finds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ragsweep.core.style import BEST, BLUE, QUARTERS, dress, figure
from ragsweep.tasks.ranking.false_finds import FalseFinds
from ragsweep.tasks.ranking.ranking_charts import draw as draw_ranking
from ragsweep.tasks.ranking.ranking_evaluation import Evaluation

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(evaluation: Evaluation, found: FalseFinds) -> Iterator[tuple[str, Figure]]:
    """The charts of a ranking with their file names, and that of the curve."""
    yield from draw_ranking(evaluation)
    yield "false_finds.png", hits_over_false_finds(found)


def hits_over_false_finds(found: FalseFinds) -> Figure:
    """What does a score threshold leave?"""
    drawing = figure(
        6,
        5,
        "What does a score threshold leave?",
        f"{len(found.unanswerable)} questions without an answer, {len(found.answerable)} others; a point per threshold",
    )
    axes, curve = drawing.subplots(), found.curve()
    wrong, hits = (np.array([0.0, *curve[name], curve[name].iloc[-1]]) for name in ("false_find_rate", "hit_rate"))
    wrong[-1] = 1.0  # a larger share of false finds brings no hit
    axes.plot([0, 1], [0, hits[-1]], color="#999999", linewidth=1, linestyle=":", label="scores that tell nothing")
    axes.plot(wrong, hits, color=BLUE, label="thresholds, from the highest")
    here = found.false_finds.mean(), found.hits.mean()
    axes.plot(*here, "D", color=BEST, markersize=8, label="this run", clip_on=False, zorder=3)
    axes.set_xlabel("false find rate: questions without an answer that get something")
    axes.set_ylabel("hit rate: others that find something relevant")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.02)
    axes.set_xticks(QUARTERS)
    axes.set_yticks(QUARTERS)
    axes.legend(loc="lower right", frameon=False)
    dress(axes)
    return drawing
