"""What a task may offer besides its methods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

from ragsweep.core.capability import Capability, offered_with
from ragsweep.tasks.metric import Metric
from ragsweep.tasks.task import Record


@offered_with("measure")
@runtime_checkable
class HasMeasures(Capability, Protocol):
    """A task that measures costs, too."""

    measures: Sequence[Metric]  # what it measures besides its metrics


@offered_with("measure")
@runtime_checkable
class MeasuresSome(Capability, Protocol):
    """A task with metrics that it measures of some items only."""

    metrics_of_some: Sequence[Metric]  # in display order, after the others

    def lacks(self, items: Any) -> str:
        """Why these are not measured of the items; empty if they are."""


@offered_with("measure")
@runtime_checkable
class HasCutoff(Capability, Protocol):
    """A task with a setting that is a budget, as its measurements have it."""

    cutoff: str  # the name of the setting, such as `k`


@offered_with("measure")
@runtime_checkable
class HasRepeats(Capability, Protocol):
    """A task with a setting that says how often a configuration is measured whose results vary."""

    repeats: int


@offered_with("measure")
@runtime_checkable
class ChecksItems(Capability, Protocol):
    """A task that cannot measure every configuration."""

    def check(self, items: Any) -> None:
        """Raise an error for bad input; called before a run is recorded."""


@offered_with("measure")
@runtime_checkable
class ExplainsItems(Capability, Protocol):
    """A task that can say how one item got its values."""

    def explain(self, items: Any, query: str, record: Record, width: int) -> Iterator[str]:
        """The explanation, line by line, for a terminal of `width` columns."""


def measures_of(task: object) -> Sequence[Metric]:
    """What a task measures besides its metrics."""
    return task.measures if isinstance(task, HasMeasures) else ()


def cutoff_of(task: object) -> str:
    """Name of the setting that is the cutoff; empty if a task has none, or does not say which one it is."""
    return task.cutoff if isinstance(task, HasCutoff) else ""
