"""Charts of one measurement that every task can use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ragsweep.core.style import BLUE, LONGEST_WORD, QUARTERS, dress, figure, plain_name, shown
from ragsweep.core.terminal import counted
from ragsweep.statistics import confidence_intervals
from ragsweep.tasks.scores import Score
from ragsweep.tasks.task import Measurement

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

CHARACTERS_ACROSS = 80  # that fit below the bars of query types


def draw(measurement: Measurement, decide_by: str, resamples: int, seed: int) -> Iterator[tuple[str, Figure]]:
    """The charts of a run with their file names: those of the task, and one of query types if the queries have types.

    The task may draw the chart of query types itself, under the same name.
    """
    task_draws, *arguments = measurement.charts
    drawn = []
    for name_drawn, drawing in task_draws(*arguments):
        drawn.append(name_drawn)
        yield name_drawn, drawing
    [decides] = [score for score in measurement.scores if score.metric.name == decide_by]
    name = f"{plain_name(decide_by)}_by_query_type.png"
    if name not in drawn and types_of(measurement.items["query_type"]) and decides.per_item is not None:
        yield name, by_query_type(measurement, decides, resamples, seed)


def types_of(query_types: pd.Series[str]) -> list[str]:
    """The query types, in alphabetical order, without the missing ones."""
    return sorted(query_types.dropna().unique())


def by_query_type(measurement: Measurement, score: Score, resamples: int, seed: int) -> Figure:
    """Which kinds of questions are hard?"""
    assert score.per_item is not None
    query_types = measurement.items["query_type"]
    values, title = score.per_item, shown(score.metric.title, LONGEST_WORD)
    types = types_of(query_types)
    kinds = np.array(query_types, dtype=object)
    groups = [values[kinds == kind] for kind in types]
    labels = [
        f"{shown(kind, LONGEST_WORD)}\n({counted(len(group), 'query')})"
        for kind, group in zip(types, groups, strict=True)
    ]
    slanted = sum(max(map(len, label.split("\n"))) + 2 for label in labels) > CHARACTERS_ACROSS
    longest = max(map(len, labels)) if slanted else 0
    below = max(0.75, 0.4 + 0.04 * longest)
    drawing = figure(
        7,
        3.25 + below,
        f"Which kinds of questions are hard? {title} {measurement.condition}",
        "Bars: mean over the queries of a type; whiskers: 95 % bootstrap interval; line: all queries",
        left=max(0.75, 0.07 * longest - 0.3),  # slanted names begin left of their bars
        bottom=below,
    )
    axes = drawing.subplots()
    means = np.array([group.mean() for group in groups])
    intervals = [
        confidence_intervals(
            values[kinds == kind], groups=measurement.groups.only(kinds == kind), resamples=resamples, seed=seed
        )
        for kind in types
    ]
    whiskers = np.abs(np.transpose(intervals) - means)
    axes.bar(
        range(len(groups)),
        means,
        yerr=whiskers,
        capsize=4,
        width=0.6,
        color=BLUE,
        ecolor="#8a8a8a",
        error_kw={"linewidth": 1.6},
    )
    for position, (mean, (_, high)) in enumerate(zip(means, intervals, strict=True)):
        place = (position, max(float(high), float(mean), 0.0))
        axes.annotate(f"{mean:.3f}", place, xytext=(0, 3), textcoords="offset points", ha="center", fontsize=9)
    axes.axhline(values.mean(), color="#444444", linewidth=1, linestyle=":")
    if slanted:
        names = [label.replace("\n", " ") for label in labels]
        axes.set_xticks(range(len(labels)), names, rotation=30, ha="right", rotation_mode="anchor")
    else:
        axes.set_xticks(range(len(labels)), labels)
    axes.set_ylabel(f"mean {title}")
    if (score.metric.low, score.metric.high) == (0, 1):
        axes.set_ylim(0, 1)
        axes.set_yticks(QUARTERS)
    else:
        axes.margins(y=0.12)
    dress(axes)
    return drawing
