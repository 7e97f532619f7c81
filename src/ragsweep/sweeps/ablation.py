"""What each part of a configuration adds: the runs that lack exactly one of its parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ragsweep.sweeps.outcome import Outcome
from ragsweep.sweeps.sweep import Sweep

FEWEST_WITHOUT = 2  # runs that lack a part; with a single one, the usual comparison shows what the part adds


class Ablation(NamedTuple):
    """A configuration, and the runs that lack one of its parts.

    Attributes:
        full: The configuration.
        without: The runs by the path of the part that they lack, such as `reranker` or `retriever.rankers.words`.
    """

    full: Outcome
    without: Mapping[str, Outcome]


def ablation(level: Sweep) -> Ablation | None:
    """The configuration of which most parts are left out by others at the same cutoff; None if there is none.

    Args:
        level: The runs of one cutoff.
    """
    found = [Ablation(full, dict(_without(full, level))) for full in level.outcomes]
    most = max(found, key=lambda each: len(each.without))
    return most if len(most.without) >= FEWEST_WITHOUT else None


def _without(full: Outcome, level: Sweep) -> Iterator[tuple[str, Outcome]]:
    """The runs that lack one part of a configuration."""
    all_parts = _values(full, "")
    parts = {path: values for path in full.settings if (values := _values(full, path))}
    for other in level.outcomes:
        lacking = all_parts.copy()
        lacking.subtract(_values(other, ""))
        if any(count < 0 for count in lacking.values()):
            continue
        path = next((path for path, values in parts.items() if +lacking == values), None)
        if path is not None:
            yield path, other


def _values(outcome: Outcome, path: str) -> Counter[tuple[str, str]]:
    """The settings of a part by the last part of their names: a part may have another path in another run.

    A group such as `encoder` has a short path where a single part of the configuration uses it. A setting without a
    value is no part.
    """
    return Counter(
        (name.rpartition(".")[2], value)
        for name, value in outcome.settings.items()
        if value != "None" and (not path or name == path or name.startswith(f"{path}."))
    )
