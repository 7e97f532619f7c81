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


@dataclass(frozen=True)
class NamesCode:
    """Marks a setting that names what Python imports and calls, which no record of a run may choose."""


@dataclass(frozen=True)
class NamesOwnData:
    """Marks a setting that names what is read with the user's own login, which no record of a run may choose.

    Whoever can write a record could otherwise have it read, and get it back with the results.
    """


Code = Annotated[str, Predicate(is_not_empty), NamesCode()]
OwnData = Annotated[str, Predicate(is_not_empty), NamesOwnData()]
