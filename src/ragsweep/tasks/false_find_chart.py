"""The chart of what a threshold leaves: what is found for questions with an answer over that for those without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ragsweep.core.style import BEST, BLUE, QUARTERS, dress, figure
from ragsweep.tasks.false_finds import FalseFinds

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(found: FalseFinds, others: Callable[..., Iterator[tuple[str, Figure]]], *given: Any) -> Iterator[Any]:
    """The other charts of a run with their file names, and that of the curve."""
    yield from others(*given)
    yield f"{found.kind.files}.png", right_over_false(found)


def right_over_false(found: FalseFinds) -> Figure:
    """What does a threshold leave?"""
    words, rate = found.kind.words, found.kind.rate.name
    drawing = figure(
        6,
        5,
        f"What does a {words.scale} threshold leave?",
        f"{len(found.unanswerable)} questions without an answer, {len(found.answerable)} others; a point per threshold",
    )
    axes, curve = drawing.subplots(), found.curve()
    wrong, right = (np.array([0.0, *curve[name], *curve[name].tail(1)]) for name in (rate, found.kind.right))
    wrong[-1] = 1.0  # a larger share of false finds brings nothing right
    axes.plot(
        [0, 1], [0, right[-1]], color="#999999", linewidth=1, linestyle=":", label=f"{words.scale}s that tell nothing"
    )
    axes.plot(wrong, right, color=BLUE, label="thresholds, from the highest")
    here = found.false_finds.mean(), found.hits.mean()
    axes.plot(*here, "D", color=BEST, markersize=8, label="this run", clip_on=False, zorder=3)
    axes.set_xlabel(f"{found.kind.rate.title.lower()}: questions without an answer that {words.get}")
    axes.set_ylabel(f"others that {words.get_right}")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.02)
    axes.set_xticks(QUARTERS)
    axes.set_yticks(QUARTERS)
    axes.legend(loc="lower right", frameon=False)
    dress(axes)
    return drawing
