"""Charts of the answers of one configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ragsweep.core.style import BEST, BLUE, GRID, MARKERS, QUARTERS, colour, cutoff_ticks, dress, figure, shown
from ragsweep.statistics.intervals import Indices
from ragsweep_answers.measuring.answer_claims import SOURCES
from ragsweep_answers.measuring.answer_evaluation import Evaluation
from ragsweep_answers.measuring.measures.accuracy import Share, share
from ragsweep_answers.measuring.measures.answer_errors import counts
from ragsweep_answers.measuring.measures.calibration import ReliabilityCurve
from ragsweep_answers.measuring.measures.retrieved import RECALL, EvidenceQuality

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

GUESSING = "#444444"  # lines that show the accuracy of guessing
CORRECT = "#009E73"
GREY = "#8a8a8a"
WILSON = "95 % Wilson interval"
MOST_DRAWN_GROUPS = 20
LONGEST_GROUP = 26  # characters
MOST_WITH_COUNTS = 10  # options of which the confusion matrix shows counts


def draw(evaluation: Evaluation) -> Iterator[tuple[str, Figure]]:
    """Every chart with its file name."""
    chance = evaluation.accuracy.chance
    if groups := evaluation.by_group.get("specialty"):
        named = [_with_number(*group) for group in groups[:MOST_DRAWN_GROUPS]]
        title = "In which fields are the answers right?"
        yield "accuracy_by_query_type.png", _accuracies(title, "Accuracy", named, chance)
    yield "confusion_matrix.png", confusion_matrix(evaluation.confusion, evaluation.letters)
    if evaluation.confidence:
        yield "reliability.png", reliability(evaluation.confidence.curve)
    if evaluation.evidence:
        yield "retrieval.png", retrieval(evaluation.evidence)
    if evaluation.controls:
        yield "does_retrieval_help.png", evidence_compared(evaluation)
    if len(evaluation.wrong):
        yield "errors.png", errors(counts(evaluation.cases["error"].to_numpy()))
    yield "summary.png", summary(evaluation)


def confusion_matrix(counts: Indices, letters: str) -> Figure:
    """Which options are taken for which? The last column is "no answer"."""
    size = 3.4 + 0.55 * len(letters)
    title = "Which options are taken for which?"
    drawing = figure(size + 0.6, size, title, "Number of questions; outlined: correct", left=0.9, right=0.3, bottom=0.7)
    axes = drawing.subplots()
    axes.imshow(counts, cmap="Blues", vmin=0, vmax=max(1, counts.max()), aspect="auto")
    for row, column in np.ndindex(*counts.shape):
        if len(letters) <= MOST_WITH_COUNTS:
            dark = counts[row, column] > counts.max() / 2
            text = f"{counts[row, column]}"
            axes.text(column, row, text, ha="center", va="center", color="white" if dark else "#222222", fontsize=10)
        if row == column:
            axes.add_patch(_outline(column, row))
    axes.set_xticks(range(len(letters) + 1), [*letters, "no\nanswer"])
    axes.set_yticks(range(len(letters)), [*letters])
    axes.set_xlabel("answered")
    axes.set_ylabel("correct option")
    axes.tick_params(left=False, bottom=False)
    axes.spines[:].set_visible(False)
    return drawing


def reliability(curve: ReliabilityCurve) -> Figure:
    """Can the confidence be trusted?"""
    drawing = figure(
        6.4,
        6,
        "Can the confidence be trusted?",
        f"Accuracy of the answers in each bin of confidence, with its {WILSON}\n"
        "on the dashed line, confidence and accuracy are equal",
        top=1.05,
    )
    axes, answers = drawing.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": (4, 1), "hspace": 0.12})
    _reliability(axes, curve)
    axes.set_ylabel("accuracy")
    middles = (curve.edges[:-1] + curve.edges[1:]) / 2
    answers.bar(middles, curve.count, width=0.9 / len(curve.count), color=GREY)
    answers.set_ylabel("answers")
    answers.set_xlabel("confidence")
    dress(answers)
    return drawing


def retrieval(evidence: EvidenceQuality) -> Figure:
    """Is the right evidence retrieved?"""
    cases = len(evidence.judged.queries)
    drawing = figure(
        7, 4.2, "Is the right evidence retrieved?", f"Mean over {cases} cases with judged pages", right=1.8
    )
    axes = drawing.subplots()
    _by_cutoff(axes, evidence)
    axes.axvline(evidence.k, color=GUESSING, linewidth=1, linestyle=":")
    axes.text(evidence.k, 0.95, f" k = {evidence.k}", fontsize=9, color=GUESSING)
    axes.set_yticks(QUARTERS)
    axes.set_xticks(cutoff_ticks(len(evidence.curves[RECALL.name].values)))
    axes.set_ylabel("mean over cases")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return drawing


def evidence_compared(evaluation: Evaluation) -> Figure:
    """Does retrieval help?"""
    shares = []
    for source in (evaluation.source, *evaluation.controls):
        correct = evaluation.values(f"control/{source}")
        compared = ~np.isnan(correct)
        shares.append((SOURCES[source], share(correct[compared], evaluation.groups.only(compared))))
    subtitle = "Accuracy on the same questions with other evidence"
    if len({accuracy.n for _, accuracy in shares}) > 1:
        subtitle = "Accuracy on the questions that have the evidence"
        shares = [(f"{name}\n({accuracy.n} questions)", accuracy) for name, accuracy in shares]
    return _accuracies("Does retrieval help?", subtitle, shares, evaluation.accuracy.chance)


def errors(categories: Mapping[str, int]) -> Figure:
    """Why are answers wrong?"""
    counts = {name: count for name, count in categories.items() if count}
    total = sum(counts.values())
    drawing = figure(8, 1.8 + 0.42 * len(counts), "Why are answers wrong?", f"{total} wrong answers", left=2.2)
    axes = drawing.subplots()
    places = np.arange(len(counts))
    axes.barh(places, list(counts.values()), color=BLUE, height=0.6)
    for place, count in enumerate(counts.values()):
        axes.text(count, place, f" {count} ({count / total:.0%})", va="center", fontsize=9)
    axes.set_yticks(places, list(counts))
    axes.set_xlim(0, 1.2 * max(counts.values()))
    axes.invert_yaxis()
    axes.set_xlabel("answers")
    dress(axes, grid="x")
    return drawing


def summary(evaluation: Evaluation) -> Figure:
    """How good are the answers? Four panels: accuracy, evidence, calibration, safety."""
    subtitle = f"{len(evaluation.cases)} questions; whiskers: {WILSON}; dotted: guessing"
    drawing = figure(11, 7, "How good are the answers?", subtitle, left=1.9, right=0.3)
    drawing.subplots_adjust(hspace=0.5, wspace=0.55)
    panels = dict(zip(("accuracy", "evidence", "calibration", "safety"), drawing.subplots(2, 2).flat, strict=True))
    named = [_with_number(*group) for group in evaluation.by_group.get("difficulty", [])]
    every = _with_number("all", evaluation.accuracy.accuracy)
    _shares(panels["accuracy"], [every, *named][:MOST_DRAWN_GROUPS], evaluation.accuracy.chance)
    if evaluation.evidence:
        _by_cutoff(panels["evidence"], evaluation.evidence)
        panels["evidence"].legend(frameon=False, fontsize=9)
    else:
        _nothing(panels["evidence"], "the evidence is not judged")
    if evaluation.confidence:
        _reliability(panels["calibration"], evaluation.confidence.curve)
        panels["calibration"].set_xlabel("confidence")
        panels["calibration"].set_ylabel("accuracy")
    else:
        _nothing(panels["calibration"], "too few answers have a confidence")
    hallucinated = evaluation.values("safety/hallucination")
    checked = hallucinated[~np.isnan(hallucinated)]
    shares = [] if evaluation.dangerous is None else [("dangerous", share(evaluation.dangerous))]
    shares += [("hallucination", share(checked))] if len(checked) else []
    if shares:
        _shares(panels["safety"], shares, None, color=BEST)
        panels["safety"].set_xlabel("share of the answers; lower is better")
    else:
        _nothing(panels["safety"], "nothing could be checked")
    for name, axes in panels.items():
        values = [
            f"{kind} {score.value:.3f}" for kind, score in zip(("Brier", "ECE"), evaluation.calibration, strict=False)
        ]
        title = f"{name}: {', '.join(values)}" if name == "calibration" and values else name
        axes.set_title(title, fontsize=11, y=1)
    return drawing


def _by_cutoff(axes: Axes, evidence: EvidenceQuality) -> None:
    """Precision and recall over the number of passages."""
    for place, (name, curve) in enumerate(evidence.curves.items()):
        cutoffs, label = np.arange(1, len(curve.values) + 1), name.rpartition("/")[2]
        axes.plot(cutoffs, curve.values, color=colour(place), marker=MARKERS[place], markersize=4, label=label)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("passages")
    dress(axes)


def _accuracies(title: str, subtitle: str, shares: Sequence[tuple[str, Share]], chance: float) -> Figure:
    """Accuracies with their intervals, one below the other."""
    height = 1.8 + 0.45 * len(shares)
    drawing = figure(8, height, title, f"{subtitle}, with its {WILSON}; dotted: guessing", left=2.6)
    axes = drawing.subplots()
    _shares(axes, shares, chance)
    axes.set_xlabel("accuracy")
    return drawing


def _with_number(name: str, value: Share) -> tuple[str, Share]:
    return f"{shown(name, LONGEST_GROUP)} ({value.n})", value


def _shares(axes: Axes, shares: Sequence[tuple[str, Share]], chance: float | None, color: str = BLUE) -> None:
    """Shares with their intervals, one below the other."""
    places = np.arange(len(shares))
    values, lows, highs, _ = np.transpose([value for _, value in shares])
    axes.barh(places, values, color=color, height=0.6)
    distances = np.abs([values - lows, highs - values])
    axes.errorbar(values, places, xerr=distances, fmt="none", ecolor=GREY, capsize=3, linewidth=1.6)
    for place, (value, high) in enumerate(zip(values, highs, strict=True)):
        axes.text(min(float(high), 1) + 0.015, place, f"{value:.2f}", va="center", fontsize=9)
    if chance is not None:
        axes.axvline(chance, color=GUESSING, linewidth=1, linestyle=":")
    axes.set_yticks(places, [name for name, _ in shares])
    axes.set_xlim(0, 1.1)
    axes.set_xticks(QUARTERS)
    axes.set_ylim(len(shares) - 0.4, -0.6)
    dress(axes, grid="x")


def _reliability(axes: Axes, curve: ReliabilityCurve) -> None:
    """The accuracy over the confidence of each bin that has answers."""
    whiskers = np.abs([curve.accuracy - curve.low, curve.high - curve.accuracy])
    axes.plot([0, 1], [0, 1], color=GUESSING, linewidth=1, linestyle="--")
    axes.errorbar(curve.confidence, curve.accuracy, yerr=whiskers, fmt="o-", color=BLUE, ecolor=GREY, capsize=3)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.02)
    axes.set_xticks(QUARTERS)
    axes.set_yticks(QUARTERS)
    dress(axes, grid="both")


def _outline(column: int, row: int) -> Patch:
    from matplotlib.patches import Rectangle

    return Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, edgecolor=CORRECT, linewidth=3, zorder=3)


def _nothing(axes: Axes, why: str) -> None:
    axes.text(0.5, 0.5, why, ha="center", va="center", color="#777777", transform=axes.transAxes)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_color(GRID)
