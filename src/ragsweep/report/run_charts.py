"""Charts of one measurement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ragsweep.evaluation import Evaluation, confidence_intervals
from ragsweep.report.style import MARKERS, colour, dress, figure, word

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BARS = "Bars: mean over {} queries; whiskers: 95 % bootstrap interval over queries"


def draw(evaluation: Evaluation, resamples: int, seed: int) -> Iterator[tuple[str, Figure]]:
    """Every chart with its file name; the chart of query types only where queries have types."""
    yield "metrics.png", metrics(evaluation)
    yield "metrics_by_cutoff.png", metrics_by_cutoff(evaluation)
    if evaluation.types:
        yield "f1_by_query_type.png", f1_by_query_type(evaluation, resamples, seed)
    yield "distribution.png", distribution(evaluation)


def metrics(evaluation: Evaluation) -> Figure:
    """How good is this configuration?"""
    drawing = figure(
        8,
        4.2,
        f"How good is this configuration at k = {evaluation.k}?",
        BARS.format(evaluation.per_query.shape[1]),
    )
    axes = drawing.subplots()
    means = np.array(list(evaluation.means.values()))
    position = np.arange(len(means))
    whiskers = np.abs([means - evaluation.ci_low, evaluation.ci_high - means])
    axes.bar(
        position,
        means,
        yerr=whiskers,
        capsize=4,
        width=0.65,
        color=[colour(name) for name in evaluation.names],
        ecolor="#8a8a8a",
        error_kw={"linewidth": 1.6},
    )
    for x, (mean, high) in enumerate(zip(means, evaluation.ci_high.tolist(), strict=True)):
        axes.text(x, high + 0.02, f"{mean:.3f}", ha="center", fontsize=9)
    axes.set_xticks(position, [word(name) for name in evaluation.names])
    axes.set_ylabel("mean over queries")
    axes.set_ylim(0, 1.08)
    dress(axes)
    return drawing


def metrics_by_cutoff(evaluation: Evaluation) -> Figure:
    """What would another k give?"""
    queries = evaluation.per_query.shape[1]
    drawing = figure(8, 4.6, "What would another cutoff give?", f"Mean over {queries} queries", right=1.3)
    axes = drawing.subplots()
    cutoffs = np.arange(1, evaluation.curves.shape[1] + 1)
    for name, curve, marker in zip(evaluation.names, evaluation.curves, MARKERS * len(evaluation.names), strict=False):
        axes.plot(cutoffs, curve, color=colour(name), marker=marker, markersize=4, markevery=2, label=word(name))
    axes.axvline(evaluation.k, color="#444444", linewidth=1, linestyle=":")
    axes.text(evaluation.k, 1.02, f" k = {evaluation.k}", fontsize=9, color="#444444")
    axes.set_xlabel("cutoff k (passages)")
    axes.set_ylabel("mean over queries")
    axes.set_xlim(0.5, cutoffs[-1] + 0.5)
    axes.set_xticks([1, *range(5, cutoffs[-1] + 1, 5 * max(1, len(cutoffs) // 50))])
    axes.set_ylim(0, 1.08)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    dress(axes)
    return drawing


def f1_by_query_type(evaluation: Evaluation, resamples: int, seed: int) -> Figure:
    """Which kinds of questions are hard?"""
    values = evaluation.per_query[evaluation.names.index("f1")]
    drawing = figure(
        7,
        4,
        f"Which kinds of questions are hard? F1 at k = {evaluation.k}",
        "Bars: mean over the queries of a type; whiskers: 95 % bootstrap interval; line: all queries",
        bottom=0.75,
    )
    axes = drawing.subplots()
    kinds = np.array(evaluation.query_types, dtype=object)
    for position, kind in enumerate(evaluation.types):
        of_type = values[kinds == kind]
        low, high = confidence_intervals(of_type, resamples=resamples, seed=seed)
        mean = of_type.mean()
        axes.bar(
            position,
            mean,
            yerr=[[mean - low], [high - mean]],
            capsize=4,
            width=0.6,
            color="#0072B2",
            ecolor="#8a8a8a",
            error_kw={"linewidth": 1.6},
        )
        axes.text(position, float(high) + 0.015, f"{mean:.3f}", ha="center", fontsize=9)
    axes.axhline(values.mean(), color="#444444", linewidth=1, linestyle=":")
    labels = [f"{kind}\n({(kinds == kind).sum()} queries)" for kind in evaluation.types]
    axes.set_xticks(range(len(labels)), labels)
    axes.set_ylabel("mean F1")
    axes.set_ylim(0, 1)
    dress(axes)
    return drawing


def distribution(evaluation: Evaluation) -> Figure:
    """Is the mean made of many fair results, or of some perfect and some failed ones?"""
    queries = evaluation.per_query.shape[1]
    drawing = figure(
        9,
        4.2,
        f"How do the queries spread around the means? k = {evaluation.k}",
        f"Share of {queries} queries in each tenth of the range from 0 to 1; diamond: the mean",
        right=0,
    )
    axes = drawing.subplots()
    edges = np.linspace(0, 1, 11)
    shares = np.array([np.histogram(values, edges)[0] / queries for values in evaluation.per_query])
    image = axes.imshow(
        shares.T, origin="lower", aspect="auto", cmap="Blues", vmin=0, vmax=1, extent=(-0.5, len(shares) - 0.5, 0, 1)
    )
    for x, row in enumerate(shares):
        for y in np.flatnonzero(row >= 0.005):
            axes.text(
                x,
                (y + 0.5) / 10,
                f"{row[y]:.0%}",
                ha="center",
                va="center",
                fontsize=8,
                color="white" if row[y] > 0.5 else "#222222",
            )
    means = list(evaluation.means.values())
    axes.plot(np.arange(len(means)) + 0.38, means, "D", color="#D55E00", markersize=6)
    axes.set_xticks(range(len(shares)), [word(name) for name in evaluation.names])
    axes.set_ylabel("value of a query")
    axes.spines[["top", "right"]].set_visible(False)
    drawing.colorbar(image, ax=axes, label="share of queries", format=lambda share, _: f"{share:.0%}")
    return drawing
