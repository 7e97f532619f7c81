"""A limit on the tokens that an endpoint is paid for, shared by the threads that ask it."""

from __future__ import annotations

from functools import cache
from threading import Condition


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
