"""The limits that an annotation can set to a value: `alpha: Annotated[float, Between(0, 1)]`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, Literal, get_args

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


@dataclass(frozen=True)
class Mark:
    """Says what a setting names that no record of a run may choose: its user has to name it.

    Attributes:
        names: `code` that Python imports and calls; `data` that is read with the user's own login, so that whoever can
            write a record could have it read, and get it back with the results; a `model` or a `tokenizer` that is
            downloaded; a `hosted` model, which a server has; a `server`, or what is sent to one, such as a key.
    """

    names: Literal["code", "data", "model", "hosted", "tokenizer", "server"]


NOT_EMPTY = Predicate(is_not_empty)
Text = Annotated[str, NOT_EMPTY]
Code = Annotated[str, NOT_EMPTY, Mark("code")]
OwnData = Annotated[str, NOT_EMPTY, Mark("data")]
ModelName = Annotated[str, NOT_EMPTY, Mark("model")]
HostedModel = Annotated[str, NOT_EMPTY, Mark("hosted")]
TokenizerName = Annotated[str, NOT_EMPTY, Mark("tokenizer")]
Address = Annotated[str, NOT_EMPTY, Mark("server")]
KeyName = Annotated[str, NOT_EMPTY, Mark("server")]  # of the environment variable that has a key
Header = Annotated[str, NOT_EMPTY, Mark("server")]


def mark_of(hint: Any) -> Mark | None:
    """The mark in an annotation, also in one such as `Address | None` or `Mapping[str, Header]`."""
    if isinstance(hint, Mark):
        return hint
    return next((mark for mark in map(mark_of, get_args(hint)) if mark), None)
