"""Settings of several configurations in words, such as `alpha 0.5 to 0.8, any size`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby
from math import prod
from typing import Any

import numpy as np

from ragsweep.core.style import is_number
from ragsweep.core.terminal import counted
from ragsweep.sweeps import Sweep

Point = tuple[Any, ...]  # the value of a configuration on each axis; None if it does not have the setting

MOST_GROUPS = 5  # of configurations that are listed
FEW = 4  # configurations


def tied_in_words(sweep: Sweep, among: Sweep) -> str:
    """The settings of the configurations that are tied with the best, such as `alpha 0.5 to 0.8, any size`."""
    return in_words(sweep, np.flatnonzero(sweep.standings.with_best.tied).tolist(), among)


def in_words(sweep: Sweep, positions: Collection[int], among: Sweep) -> str:
    """The settings of some runs: `size 300 with alpha 0 or 0.5; size 500 with any alpha`.

    Args:
        sweep: Runs at one cutoff.
        positions: Which of them.
        among: All runs, also those that are not compared at this cutoff: "any size" is any size of theirs.
    """
    points, everything = (_points(each, sweep.axes) for each in (sweep, among))
    chosen = [points[place] for place in positions]
    axes = {sweep.short(name): values for name, values in sweep.axes.items()}
    groups = _boxes(axes, points, chosen, everything)
    more = len(groups) - MOST_GROUPS
    return "; ".join(groups[:MOST_GROUPS]) + (f"; and {counted(more, 'more such group')}" if more > 0 else "")


def _points(sweep: Sweep, axes: Collection[str]) -> list[Point]:
    table = sweep.table.sort_values("outcome").reindex(columns=[*axes]).astype(object)
    return [tuple(row) for row in table.where(table.notna(), None).itertuples(index=False)]


def _boxes(
    axes: dict[str, list[Any]], points: Sequence[Point], chosen: Sequence[Point], everything: Sequence[Point]
) -> list[str]:
    """Describe some points of a grid. Points that do not fill a box are split along the axis with the fewest values."""
    spans = [{point[axis] for point in chosen} for axis in range(len(axes))]
    inside = [point for point in points if all(value in span for value, span in zip(point, spans, strict=True))]
    splits = [axis for axis in range(len(axes)) if len(spans[axis]) > 1]
    every_one = len(chosen) > FEW or prod(map(len, spans)) == len(chosen)  # of few, no other combination is suggested
    if (len(inside) == len(chosen) and every_one) or not splits:
        everywhere = [{point[axis] for point in everything} for axis in range(len(axes))]
        phrases = [
            f"any {name}" if span == every else f"{name} {values_in_words(values, span)}"
            for (name, values), span, every in zip(axes.items(), spans, everywhere, strict=True)
            if len(every) > 1
        ]
        several = [] if len(inside) == len(chosen) else [f"{len(chosen)} of {len(inside)} runs with these settings"]
        return [", ".join([*phrases, *several])]
    splitting = min(splits, key=lambda axis: len(spans[axis]))
    name, values = list(axes.items())[splitting]
    alike: dict[tuple[str, ...], set[Any]] = {}
    for value in spans[splitting]:
        here = [[point for point in some if point[splitting] == value] for some in (points, chosen, everything)]
        alike.setdefault(tuple(_boxes(axes, *here)), set()).add(value)
    ordered = sorted(alike.items(), key=lambda item: min(map([*values, None].index, item[1])))
    return [
        (", " if " with " in phrase else " with ").join(
            filter(None, [f"{name} {values_in_words(values, found)}", phrase])
        )
        for inner, found in ordered
        for phrase in inner or ("",)
    ]


def values_in_words(values: Sequence[Any], chosen: set[Any]) -> str:
    """Some values of an axis as text."""
    if all(map(is_number, chosen)):
        return ranges([value for value in values if is_number(value)], list(chosen))
    *names, last = ("(none)" if value is None else str(value) for value in [*values, None] if value in chosen)
    return f"{', '.join(names)} or {last}" if names else last


def ranges(values: Sequence[float], chosen: Sequence[float]) -> str:
    """Some values of an axis as text: three or more neighbours as `0.5 to 0.8`, others one by one."""
    order = {value: position for position, value in enumerate(sorted(set(values)))}
    runs = [
        [value for _, value in run]
        for _, run in groupby(enumerate(sorted(set(chosen))), key=lambda pair: order[pair[1]] - pair[0])
    ]
    named = [[f"{run[0]:g} to {run[-1]:g}"] if len(run) > 2 else [f"{value:g}" for value in run] for run in runs]
    return " or ".join(name for names in named for name in names)
