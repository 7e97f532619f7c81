"""Describes metrics: name, title, unit, direction and bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Metric:
    """The description of a metric.

    Attributes:
        name: Name in settings, tables and MLflow.
        title: Name in charts and sentences.
        unit: Unit of the values, such as ms. Empty for a share or a count.
        higher_is_better: Direction of the metric.
        low: Lowest possible value.
        high: Highest possible value.
        binary: Whether every item has the value 0 or 1, so that the mean is a share of the items.
    """

    name: str
    title: str
    unit: str = ""
    higher_is_better: bool = True
    low: float = -inf
    high: float = inf
    binary: bool = False


def metric(
    title: str,
    *,
    unit: str = "",
    higher_is_better: bool = True,
    low: float = -inf,
    high: float = inf,
    binary: bool = False,
) -> Callable[[Function], Function]:
    """Decorator that describes the metric that a function computes. Its name comes from the configuration.

    @metric("Recall", low=0, high=1)
    def recall(judged, k): ...
    """

    def describe(function: Function) -> Function:
        function.metric = Metric("", title, unit, higher_is_better, low, high, binary)  # type: ignore[attr-defined]
        return function

    return describe


def metric_of(name: str, function: Callable[..., Any]) -> Metric:
    """The description of the metric that a function computes, with its name from the configuration."""
    described = getattr(getattr(function, "func", function), "metric", None)  # a partial has no attributes of its own
    return replace(described, name=name) if isinstance(described, Metric) else Metric(name, name)
