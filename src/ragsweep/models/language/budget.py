"""A limit on the tokens that an endpoint is paid for, and what was paid, shared by the threads that ask it."""

from __future__ import annotations

import sys
from functools import cache
from threading import Condition, Lock

from ragsweep.core.terminal import counted


class Spent(Exception):  # noqa: N818 - no request has failed
    """The next request could exceed the limit."""


class Budget:
    """Counts tokens. A request starts only if all of its tokens are within the limit.

    Attributes:
        limit: The most tokens; None sets no limit.
        spent: Tokens of the requests that have ended.
    """

    def __init__(self, limit: int | None) -> None:
        self.limit, self.spent = limit, 0
        self._taken = 0  # by requests that have not ended
        self._ended = Condition()

    def take(self, most: int) -> None:
        """Set tokens aside for a request. Waits while requests that have not ended may leave enough.

        Args:
            most: The most tokens that the request may cost.

        Raises:
            Spent: The limit leaves too few.
        """
        with self._ended:
            self._ended.wait_for(lambda: self._fits(most) or self._taken == 0)
            if not self._fits(most):
                raise Spent
            self._taken += most

    def settle(self, most: int, used: int) -> None:
        """Count what a request did cost, of the tokens that were set aside for it."""
        with self._ended:
            self._taken -= most
            self.spent += used
            self._ended.notify_all()

    def _fits(self, most: int) -> bool:
        return self.limit is None or self.spent + self._taken + most <= self.limit


@cache
def budget_of(start: str, limit: int | None) -> Budget:
    """The budget that the runs of one start share.

    Args:
        start: Name of this start of the program.
        limit: The most tokens; None sets no limit.
    """
    del start  # distinguishes the budgets
    return Budget(limit)


class Bill:
    """Counts what a model was paid for since it was last said.

    Attributes:
        model: Its name.
        url: The address of its endpoint.
        prices: Of a million tokens of prompts and of responses; None if one is not given.
    """

    def __init__(self, model: str, url: str, prices: tuple[float, float] | None) -> None:
        self.model, self.url, self.prices = model, url, prices
        self._requests = self._tokens_in = self._tokens_out = 0
        self._lock = Lock()

    def add(self, tokens_in: int, tokens_out: int) -> None:
        """Count a request."""
        with self._lock:
            self._requests += 1
            self._tokens_in += tokens_in
            self._tokens_out += tokens_out

    def line(self) -> str:
        """What was paid for since this was last called; empty if that is nothing."""
        with self._lock:
            requests, tokens_in, tokens_out = self._requests, self._tokens_in, self._tokens_out
            self._requests = self._tokens_in = self._tokens_out = 0
        if not requests:
            return ""
        sent = f"{self.model}: {counted(requests, 'request')} to {self.url}"
        line = f"{sent}, {tokens_in:,} tokens in and {tokens_out:,} out"
        if self.prices is None:
            return line
        price_in, price_out = self.prices
        return f"{line}, at the given prices {(tokens_in * price_in + tokens_out * price_out) / 1e6:.2f}"


_bills: list[Bill] = []


@cache
def bill_of(model: str, url: str, prices: tuple[float, float] | None) -> Bill:
    """The bill of a model in this process."""
    bill = Bill(model, url, prices)
    _bills.append(bill)
    return bill


def say_spent() -> None:
    """Print a line for each model that was paid for something since this was last called."""
    for line in filter(None, [bill.line() for bill in _bills]):
        print(line, file=sys.stderr)
