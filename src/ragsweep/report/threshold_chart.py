"""The figure of what a threshold leaves: for questions that have an answer, and for those that have none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ragsweep.core.style import LONGEST_IN_LEGEND, MARKERS, colour, dress, figure, shown
from ragsweep.report.settings_charts import WIDE
from ragsweep.statistics.intervals import Array
from ragsweep.sweeps import Decision
from ragsweep.tasks.facts import FalseFindsFact

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_MARKERS = 12  # on a line


def curves(measured: FalseFindsFact) -> tuple[Array, dict[str, Array]]:
    """Every score that occurs, from the lowest, and the shares of questions that reach it, by what they stand for."""
    given = {
        f"with an answer: {measured.words.get}": measured.answerable,
        f"with an answer: {measured.words.get_right}": measured.found,
        f"without an answer: {measured.words.get}": measured.scores,
    }
    known = {what: np.array([each for each in some if each is not None]) for what, some in given.items()}
    thresholds = np.unique(np.concatenate([*known.values()]))
    return thresholds, {
        what: (known[what][:, np.newaxis] >= thresholds).sum(axis=0) / len(some) for what, some in given.items()
    }


def left_by_thresholds(decision: Decision) -> Figure:
    """What would a threshold leave?"""
    measured, promise = decision.named.facts.false_finds, decision.threshold
    assert measured is not None
    thresholds, shares = curves(measured)
    drawing = figure(
        WIDE,
        5,
        f"Below which {measured.words.scale} is it better to {measured.words.hold_back}?",
        f"Share of the questions, of {shown(decision.sweep.label(decision.named), LONGEST_IN_LEGEND)}\n"
        f"{len(measured.answerable)} questions with an answer, {len(measured.scores)} without",
        bottom=1.5,
        top=1.0,
    )
    axes, every = drawing.subplots(), max(1, len(thresholds) // MOST_MARKERS)
    for place, (what, share) in enumerate(shares.items()):
        looks = {"color": colour((0, 3, 1)[place]), "marker": MARKERS[place], "markevery": every, "markersize": 4}
        axes.step(thresholds, share, where="pre", label=what, **looks)
    if promise and promise.certificate.shown and np.isfinite(promise.certificate.threshold):
        label = f"certified for at most {100 * promise.rate:g} %"
        axes.axvline(promise.certificate.threshold, color="#444444", linestyle=":", label=label)
    axes.set_xlabel(f"lowest {measured.words.scale}")
    axes.set_ylabel("share of the questions")
    axes.set_ylim(0, 1.02)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), frameon=False, fontsize=8.5)
    dress(axes)
    return drawing
