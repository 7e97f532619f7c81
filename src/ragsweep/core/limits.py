"""The limits that an annotation can set to a value: `alpha: Annotated[float, Between(0, 1)]`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Annotated

from annotated_types import BaseMetadata, Ge, GroupedMetadata, Le, Predicate


@dataclass(frozen=True)
class Between(GroupedMetadata):
    """A number from `low` to `high`, both included: pydantic reads it as `Ge` and `Le`."""

    low: float
    high: float = inf

    def __iter__(self) -> Iterator[BaseMetadata]:
        yield Ge(self.low)
        if self.high < inf:
            yield Le(self.high)


def is_not_empty(text: str) -> bool:
    """Whether a text is more than white space."""
    return text.strip() != ""


Text = Annotated[str, Predicate(is_not_empty)]
