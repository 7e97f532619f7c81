"""Describes metrics: name, title, unit, direction and bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import inf, isinf
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

from pydantic import Field

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

BEYOND_BOUNDS = 1e-9  # by how much a value may be beyond the bounds of its metric

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
        wilson: Whether the 95 % interval of the mean is Wilson's, which only a binary metric can have. It is that of
            the bootstrap otherwise, which is empty where all items have the same value.
        is_mean: Whether it is the mean of a value of each item, not an aggregate such as a calibration error.
        of_text: Whether text that is not relevant lowers it, so that systems may return different amounts of text.
    """

    name: str
    title: str
    unit: str = ""
    higher_is_better: bool = True
    low: Annotated[float, Field(exclude_if=isinf)] = -inf
    high: Annotated[float, Field(exclude_if=isinf)] = inf
    binary: bool = False
    wilson: bool = False
    is_mean: Annotated[bool, Field(exclude_if=bool)] = True
    of_text: bool = False

    @property
    def span(self) -> float:
        """The largest possible difference of two values; infinite without bounds."""
        return self.high - self.low

    def problem_of(self, values: npt.NDArray[np.float64]) -> str:
        """What is wrong with the first value that no item can have; empty if there is none."""
        outside = (values < self.low - BEYOND_BOUNDS) | (values > self.high + BEYOND_BOUNDS)
        impossible = values[(values != 0) & (values != 1) if self.binary else outside]
        expected = "0 or 1" if self.binary else f"a number from {self.low:g} to {self.high:g}"
        return f"found {impossible[0]:g} as {self.name}, expected {expected}" if len(impossible) else ""


class Guessing(NamedTuple):
    """A configuration compared with guessing.

    Attributes:
        value: What guessing reaches in the metric.
        p: Two-sided p-value of the hypothesis that the configuration guesses.
        p_worse: P-value of being worse than guessing, whatever the items that could not be read would have been; 1 if
            these could explain it.
    """

    value: float
    p: float
    p_worse: float


class Unread(NamedTuple):
    """Items whose response could not be read. They have the worst value of the metric, which may be unfair.

    Attributes:
        measure: Name of the measure with the value 1 for such an item and 0 for any other.
        otherwise: Names of measures with the value of each item if such an item counts otherwise, by what it counts as,
            such as `a guess`.
        lost: Name of the measure that is the share of items whose response was read without some of its fields.
        causes: Names of the measures that are the share of items whose response had no usable text, by the cause, such
            as `cut off`. A cause is what the server said of its response, so these items say nothing of the model.
    """

    measure: str
    otherwise: Mapping[str, str]
    lost: str
    causes: Mapping[str, str]


def metric(
    title: str,
    *,
    unit: str = "",
    higher_is_better: bool = True,
    low: float = -inf,
    high: float = inf,
    binary: bool = False,
    of_text: bool = False,
) -> Callable[[Function], Function]:
    """Decorator that describes the metric that a function computes. Its name comes from the configuration.

    @metric("Recall", low=0, high=1)
    def recall(judged, k): ...
    """
    described = Metric("", title, unit, higher_is_better, low, high, binary, of_text=of_text)

    def describe(function: Function) -> Function:
        function.metric = described  # type: ignore[attr-defined]
        return function

    return describe


def metric_of(name: str, function: Callable[..., Any]) -> Metric:
    """The description of the metric that a function computes, with its name from the configuration."""
    described = function.func if isinstance(function, partial) else function  # a partial has no attributes of its own
    return replace(getattr(described, "metric", Metric("", name)), name=name)
