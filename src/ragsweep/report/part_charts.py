"""The figure of the report about the parts of a configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ragsweep.core.style import BEST, BLUE, INTERVALS, dress, figure, shown
from ragsweep.report.settings_charts import WIDE
from ragsweep.report.value_words import at
from ragsweep.statistics import confidence_intervals
from ragsweep.sweeps import Ablation, Decision, Sweep, ablation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONGEST_PATH = 34  # characters of a label


class Added(NamedTuple):
    """What a part adds: the mean difference in the deciding metric, and its paired 95 % interval."""

    part: str
    run: str
    mean: float
    low: float
    high: float


def what_parts_add(level: Sweep, found: Ablation) -> list[Added]:
    """What each part adds to the configuration that has them all, the most helpful part first."""
    metric, sign = level.decided_by, level.sign(level.decided_by)
    full = found.full.per_query[metric].to_numpy(dtype=float)
    differences = np.array([sign * (full - other.per_query[metric].to_numpy()) for other in found.without.values()])
    low, high = confidence_intervals(differences, groups=level.groups, resamples=level.resamples, seed=level.seed)
    columns = zip(found.without.items(), differences.mean(axis=1), low, high, strict=True)
    added = [Added(part, other.name, *map(float, numbers)) for (part, other), *numbers in columns]
    return sorted(added, key=lambda each: -each.mean)


def what_each_part_adds(decision: Decision) -> Figure:
    """What does each part of the largest configuration add?"""
    level = decision.headline.allowed
    found = ablation(level)
    assert found is not None
    added = what_parts_add(level, found)
    labels = [shown(each.part, LONGEST_PATH) for each in added]
    drawing = figure(
        WIDE,
        1.9 + 0.42 * len(added),
        f"What does each part of {level.label(found.full)} add{at(decision.sweep, decision.headline)}?",
        f"{level.metric_title} with all parts minus without this one, mean over queries\n"
        f"Whiskers: {INTERVALS} of the paired difference. Orange: it includes 0",
        left=0.25 + 0.085 * max(map(len, labels)),
        top=1.1,
    )
    axes = drawing.subplots()
    for place, each in enumerate(reversed(added)):
        colour = BEST if each.low <= 0 <= each.high else BLUE
        axes.errorbar(
            each.mean,
            place,
            xerr=[[each.mean - each.low], [each.high - each.mean]],
            fmt="o",
            color=colour,
            capsize=3,
            markersize=5,
        )
    axes.axvline(0, color="#444444", linewidth=0.8)
    axes.set_yticks(range(len(added)), reversed(labels))
    axes.set_ylim(-0.6, len(added) - 0.4)
    axes.set_xlabel(f"difference in {level.metric_title}; right of 0 the part helps")
    dress(axes)
    return drawing
