"""What a sweep that varied one setting at a time cannot show."""

from __future__ import annotations

from collections.abc import Iterator

from ragsweep.core.style import shown
from ragsweep.sweeps import Sweep
from ragsweep.sweeps.configuration_names import as_text


def one_at_a_time_in_words(level: Sweep) -> Iterator[str]:
    """That settings were not combined, and which combination of the best ones was not measured.

    Args:
        level: The runs at one cutoff.
    """
    axes = [name for name in level.axes if name != level.cutoff]
    points = {tuple(outcome.swept.get(name) for name in axes): outcome for outcome in level.outcomes}
    bases = [base for base in points if all(_differing(base, point) <= 1 for point in points)]
    if len(axes) < 2 or len(bases) != 1:
        return
    [base] = bases

    def value(point: tuple[object, ...]) -> float:
        return level.sign(level.decided_by) * level.statistic(points[point], level.decided_by)

    best = []
    for place in range(len(axes)):
        others = [point for point in points if all(point[at] == base[at] for at in range(len(axes)) if at != place)]
        best.append(max(others, key=value)[place])
    around = level.label(points[base])
    yield f"One setting was varied at a time, around {around}: what settings do together was not measured."
    if tuple(best) not in points:
        together = " ".join(f"{name}={as_text(each)}" for name, each in zip(axes, best, strict=True))
        yield f"The best value of each setting was not measured with those of the others: {shown(together, 200)}"


def _differing(one: tuple[object, ...], other: tuple[object, ...]) -> int:
    return sum(a != b for a, b in zip(one, other, strict=True))
