"""What a sweep that varied one setting at a time cannot show."""

from __future__ import annotations

from collections.abc import Iterator

from ragsweep.core.style import shown
from ragsweep.sweeps import Sweep
from ragsweep.sweeps.configuration_names import as_text

LONGEST_COMMAND = 200  # characters
Point = tuple[tuple[object, ...], ...]  # of each setting its value, then those of its own settings


def one_at_a_time_in_words(level: Sweep) -> Iterator[str]:
    """That settings were not combined, and which combination of the best ones was not measured.

    Args:
        level: The runs at one cutoff.
    """
    names = [name for name in level.axes if name != level.cutoff]
    heads = [name for name in names if not any(name.startswith(f"{other}.") for other in names)]
    axes = [[head, *(name for name in names if name.startswith(f"{head}."))] for head in heads]
    points: dict[Point, float] = {}
    labels: dict[Point, str] = {}
    for outcome in level.outcomes:
        point = tuple(tuple(outcome.swept.get(name) for name in axis) for axis in axes)
        points[point] = level.sign(level.decided_by) * level.statistic(outcome, level.decided_by)
        labels[point] = level.label(outcome)
    bases = [base for base in points if all(_differing(base, point) <= 1 for point in points)]
    if len(axes) < 2 or len(bases) != 1:
        return
    [base] = bases
    best = []
    for place in range(len(axes)):
        others = [point for point in points if all(point[at] == base[at] for at in range(len(axes)) if at != place)]
        best.append(max(others, key=points.__getitem__)[place])
    yield f"One setting was varied at a time, around {labels[base]}: what settings do together was not measured."
    if tuple(best) not in points:
        values = [
            (name, value)
            for axis, found in zip(axes, best, strict=True)
            for name, value in zip(axis, found, strict=True)
        ]
        together = " ".join(f"{name}={as_text(value)}" for name, value in values if value is not None)
        best_ones = shown(together, LONGEST_COMMAND)
        yield f"The best value of each setting was not measured with those of the others: {best_ones}"


def _differing(one: Point, other: Point) -> int:
    return sum(a != b for a, b in zip(one, other, strict=True))
