"""Estimates what requests to an endpoint will cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from ragsweep.core.terminal import counted

CORRECTION = 50  # tokens that tell a model what is wrong with its JSON, roughly


class PlannedRequest(NamedTuple):
    """A request that is not kept yet.

    Attributes:
        key: Of its response. Requests of one key are sent once; empty if each one is sent.
        tokens_in: Tokens of its prompt, roughly.
        as_json: Whether it asks for JSON, and so is followed by another one if it gets something else.
    """

    key: str
    tokens_in: int
    as_json: bool


@dataclass(frozen=True)
class Cost:
    """What requests to one model cost.

    Attributes:
        model: The model.
        url: The endpoint.
        max_tokens: The most tokens of a response.
        price_in: Of a million tokens of prompts; None if not given.
        price_out: Of a million tokens of responses; None if not given.
        planned: The requests.
    """

    model: str
    url: str
    max_tokens: int
    price_in: float | None
    price_out: float | None
    planned: tuple[PlannedRequest, ...]

    @property
    def line(self) -> str:
        """The cost in words. The tokens of prompts are estimated, and later prompts hold earlier responses."""
        again = [each for each in self.planned if each.as_json]  # with its response and what is wrong with that
        most = len(self.planned) + len(again)
        tokens_in = sum(each.tokens_in for each in (*self.planned, *again))
        tokens_in += len(again) * (self.max_tokens + CORRECTION)
        tokens_out = most * self.max_tokens
        line = f"{self.model}: at most {counted(most, 'request')} to {self.url}"
        only = f" ({len(again):,} of them only for responses that are not the JSON that was asked for)"
        line += only if again else ""
        line += f", about {tokens_in:,} tokens in and at most {tokens_out:,} out"
        if self.price_in is None or self.price_out is None:
            return line
        price = (tokens_in * self.price_in + tokens_out * self.price_out) / 1e6
        return f"{line}, at the given prices about {price:.2f}"


def total(costs: Iterable[Cost]) -> Cost | None:
    """The cost of everything together, in which nothing is sent twice that is kept; None if there is none."""
    listed = [*costs]
    if not listed:
        return None
    return replace(listed[0], planned=sent(one for cost in listed for one in cost.planned))


def sent(planned: Iterable[PlannedRequest]) -> tuple[PlannedRequest, ...]:
    """The requests that are sent of these: those of one key once."""
    listed = [*planned]
    kept = {one.key: one for one in listed if one.key}
    return (*kept.values(), *(one for one in listed if not one.key))
