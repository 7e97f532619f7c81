"""What a number means: its name and title, its unit, which direction is better, and between which bounds it lies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Metric:
    """What a number means.

    Attributes:
        name: In settings, tables and MLflow.
        title: In charts and sentences.
        unit: Of the values, such as ms; empty for a share or a count.
        higher_is_better: The direction.
        low: The lowest value that it can have.
        high: The highest.
    """

    name: str
    title: str
    unit: str = ""
    higher_is_better: bool = True
    low: float = -inf
    high: float = inf


def metric(
    title: str, *, unit: str = "", higher_is_better: bool = True, low: float = -inf, high: float = inf
) -> Callable[[Function], Function]:
    """Say of a function what its values mean; a configuration gives the metric its name.

    @metric("Recall", low=0, high=1)
    def recall(judged, k): ...
    """

    def describe(function: Function) -> Function:
        function.metric = Metric("", title, unit, higher_is_better, low, high)  # type: ignore[attr-defined]
        return function

    return describe


def metric_of(name: str, function: Callable[..., Any]) -> Metric:
    """The metric that a function computes, under the name that a configuration gives it."""
    described = getattr(getattr(function, "func", function), "metric", None)  # a partial has no attributes of its own
    return replace(described, name=name) if isinstance(described, Metric) else Metric(name, name)
