"""Charts of the answers of one configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ragsweep.core.style import BEST, BLUE, GRID, MARKERS, QUARTERS, colour, cutoff_ticks, dress, figure, shown
from ragsweep.statistics.intervals import Indices, wilson
from ragsweep_answers.measuring.answer_evaluation import Evaluation
from ragsweep_answers.measuring.answer_sentences import SOURCES
from ragsweep_answers.measuring.measures.accuracy import NOT_ANSWERED, Share, share
from ragsweep_answers.measuring.measures.answer_errors import counts
from ragsweep_answers.measuring.measures.calibration import ReliabilityCurve, reliability_curve
from ragsweep_answers.measuring.measures.confidence import Confidence
from ragsweep_answers.measuring.measures.discrimination import accuracy_over_coverage
from ragsweep_answers.measuring.measures.retrieved import EvidenceQuality

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


def draw(evaluation: Evaluation, confidence: Confidence | None, source: str) -> Iterator[tuple[str, Figure]]:
    """Every chart with its file name.

    Args:
        evaluation: What was measured.
        confidence: How well the confidence fits the accuracy; None if that is not measured.
        source: Where the evidence comes from.
    """
    chance = evaluation.accuracy.chance
    if groups := evaluation.groups.get("specialty"):
        yield "accuracy_by_query_type.png", by_specialty(groups, chance)
    yield "confusion_matrix.png", confusion_matrix(evaluation.confusion, evaluation.letters)
    if confidence:
        yield "reliability.png", reliability(confidence)
        yield "accuracy_over_coverage.png", coverage(evaluation)
    if evaluation.evidence:
        yield "retrieval.png", retrieval(evaluation.evidence)
    if evaluation.controls:
        yield "does_retrieval_help.png", evidence_compared(evaluation, source)
    if evaluation.wrong.any():
        yield "errors.png", errors(counts(evaluation.categories))
    yield "summary.png", summary(evaluation, confidence)


def by_specialty(groups: Sequence[tuple[str, Share]], chance: float) -> Figure:
    """In which fields are the answers right?"""
    named = [_with_number(*each) for each in groups[:MOST_DRAWN_GROUPS]]
    return _accuracies("In which fields are the answers right?", "Accuracy", named, chance)


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


def reliability(known: Confidence) -> Figure:
    """Can the confidence be trusted?"""
    curve = reliability_curve(known.confidence, known.correct, bins=known.bins)
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
    answers.bar(middles, curve.count, width=0.9 / known.bins, color=GREY)
    answers.set_ylabel("answers")
    answers.set_xlabel("confidence")
    dress(answers)
    return drawing


def coverage(evaluation: Evaluation) -> Figure:
    """How right are the answers that remain when the least confident ones are withheld?"""
    confidence = evaluation.confidence
    found = accuracy_over_coverage(confidence, evaluation.right, evaluation.chosen != NOT_ANSWERED)
    drawing = figure(
        7,
        4.2,
        "What is gained by withholding the least confident answers?",
        f"Accuracy of the answers that are given; shaded: {WILSON}; dotted: guessing",
    )
    axes = drawing.subplots()
    answered = found.coverage * len(confidence)
    low, high = wilson(found.accuracy * answered, answered)
    axes.fill_between(found.coverage, low, high, color=BLUE, alpha=0.15, linewidth=0)
    axes.plot(found.coverage, found.accuracy, color=BLUE)
    axes.plot(found.coverage[-1:], found.accuracy[-1:], marker="o", color=BLUE)
    axes.axhline(evaluation.accuracy.chance, color=GUESSING, linewidth=1, linestyle=":")
    axes.set_xlim(0, 1.02)
    axes.set_ylim(0, 1.02)
    axes.set_xticks(QUARTERS)
    axes.set_yticks(QUARTERS)
    axes.set_xlabel("share of the questions that are answered")
    axes.set_ylabel("accuracy")
    dress(axes)
    return drawing


def retrieval(evidence: EvidenceQuality) -> Figure:
    """Is the right evidence retrieved?"""
    cases = len(evidence.judged.queries)
    drawing = figure(
        7, 4.2, "Is the right evidence retrieved?", f"Mean over {cases} cases with judged pages", right=1.8
    )
    axes = drawing.subplots()
    for place, (name, curve) in enumerate(evidence.curves.items()):
        cutoffs = np.arange(1, len(curve.values) + 1)
        label = name.rpartition("/")[2]
        axes.plot(cutoffs, curve.values, color=colour(place), marker=MARKERS[place], markersize=4, label=label)
    axes.axvline(evidence.k, color=GUESSING, linewidth=1, linestyle=":")
    axes.text(evidence.k, 0.95, f" k = {evidence.k}", fontsize=9, color=GUESSING)
    axes.set_ylim(0, 1.02)
    axes.set_yticks(QUARTERS)
    axes.set_xticks(cutoff_ticks(len(cutoffs)))
    axes.set_xlabel("passages")
    axes.set_ylabel("mean over cases")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    dress(axes)
    return drawing


def evidence_compared(evaluation: Evaluation, source: str) -> Figure:
    """Does retrieval help?"""
    by_source = {source: evaluation.correct, **evaluation.controls}
    known = {name: ~np.isnan(correct) for name, correct in by_source.items()}
    shares = [
        (SOURCES[name], share(correct[known[name]], evaluation.dependent.only(known[name])))
        for name, correct in by_source.items()
    ]
    subtitle = "Accuracy on the same questions with other evidence"
    if len({each.n for _, each in shares}) > 1:
        subtitle = "Accuracy on the questions that have the evidence"
        shares = [(f"{name}\n({each.n} questions)", each) for name, each in shares]
    return _accuracies("Does retrieval help?", subtitle, shares, evaluation.accuracy.chance)


def errors(categories: Mapping[str, int]) -> Figure:
    """Why are answers wrong?"""
    found = {name: count for name, count in categories.items() if count}
    total = sum(found.values())
    drawing = figure(8, 1.8 + 0.42 * len(found), "Why are answers wrong?", f"{total} wrong answers", left=2.2)
    axes = drawing.subplots()
    places = np.arange(len(found))
    axes.barh(places, list(found.values()), color=BLUE, height=0.6)
    for place, count in enumerate(found.values()):
        axes.text(count, place, f" {count} ({count / total:.0%})", va="center", fontsize=9)
    axes.set_yticks(places, list(found))
    axes.set_xlim(0, 1.2 * max(found.values()))
    axes.invert_yaxis()
    axes.set_xlabel("answers")
    dress(axes, grid="x")
    return drawing


def summary(evaluation: Evaluation, confidence: Confidence | None) -> Figure:
    """How good are the answers? Four panels: accuracy, evidence, calibration, safety."""
    total = len(evaluation.correct)
    drawing = figure(
        11,
        7,
        "How good are the answers?",
        f"{total} questions; whiskers: {WILSON}; dotted: guessing",
        left=1.9,
        right=0.3,
    )
    drawing.subplots_adjust(hspace=0.5, wspace=0.55)
    (accuracy, evidence), (calibration, safety) = drawing.subplots(2, 2)
    named = [_with_number(*each) for each in evaluation.groups.get("difficulty", [])]
    _shares(
        accuracy,
        [_with_number("all", evaluation.accuracy.accuracy), *named][:MOST_DRAWN_GROUPS],
        evaluation.accuracy.chance,
    )
    accuracy.set_title("accuracy", fontsize=11, y=1)
    if evaluation.evidence:
        for place, (name, curve) in enumerate(evaluation.evidence.curves.items()):
            cutoffs = np.arange(1, len(curve.values) + 1)
            evidence.plot(cutoffs, curve.values, color=colour(place), label=name.rpartition("/")[2])
        evidence.set_ylim(0, 1.02)
        evidence.set_xlabel("passages")
        evidence.legend(frameon=False, fontsize=9)
        dress(evidence)
    else:
        _nothing(evidence, "the evidence is not judged")
    evidence.set_title("evidence", fontsize=11, y=1)
    if confidence:
        _reliability(calibration, reliability_curve(confidence.confidence, confidence.correct, bins=confidence.bins))
        calibration.set_xlabel("confidence")
        calibration.set_ylabel("accuracy")
    else:
        _nothing(calibration, "too few answers have a confidence")
    calibration.set_title("calibration", fontsize=11, y=1)
    read = evaluation.hallucinated[~np.isnan(evaluation.hallucinated)]
    known = {"dangerous": evaluation.endangering, "hallucination": read if len(read) else None}
    if risks := [(name, share(values)) for name, values in known.items() if values is not None]:
        _shares(safety, risks, None, color=BEST)
        safety.set_xlabel("share of the answers; lower is better")
    else:
        _nothing(safety, "nothing could be checked")
    safety.set_title("safety", fontsize=11, y=1)
    return drawing


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
    values, lows, highs, _ = np.transpose([each for _, each in shares])
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
