"""The limits that an annotation can set to a value: `alpha: Annotated[float, Between(0, 1)]`."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Annotated


@dataclass(frozen=True)
class Between:
    """A number from `low` to `high`, both included."""

    low: float
    high: float = inf

    def __str__(self) -> str:
        return f"of at least {self.low:g}" if self.high == inf else f"from {self.low:g} to {self.high:.15g}"


@dataclass(frozen=True)
class NotEmpty:
    """A text that is not only white space."""


Text = Annotated[str, NotEmpty()]
