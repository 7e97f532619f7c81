"""Times ragsweep and a peer alternately, because other users of the machine affect both."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Timing:
    """One row of the benchmark.

    Attributes:
        work: What was done.
        peer: What ragsweep is compared with.
        target: How many times as fast as the peer ragsweep should be, at least. Below 1 it may be slower; None is no
            target.
        ours: Seconds of ragsweep in each round.
        theirs: Seconds of the peer in each round.
        note: Further remarks.
        unit: Unit of `ours` and `theirs` if they are not seconds.
    """

    work: str
    peer: str
    target: float | None
    ours: list[float]
    theirs: list[float]
    note: str = ""
    unit: str = "s"

    @property
    def ratios(self) -> list[float]:
        """How many times as fast as the peer ragsweep was, in each round."""
        return [peer / own for own, peer in zip(self.ours, self.theirs, strict=True)]

    @property
    def ratio(self) -> float:
        """Median ratio of the rounds."""
        return float(np.median(self.ratios))

    @property
    def reached(self) -> bool:
        """Whether the target is reached. True without a target."""
        return self.target is None or self.ratio >= self.target

    @property
    def broken(self) -> bool:
        """Whether the ratio is below half of the target, which is too low to be noise."""
        return self.target is not None and self.ratio < self.target / 2


Rows = Iterator[Timing]


def time_both(
    work: str,
    peer: str,
    target: float | None,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    *,
    rounds: int,
    share: float = 1,
    note: str = "",
    warm_up: bool = True,
) -> Timing:
    """Time both alternately. The order changes from round to round.

    Args:
        work: As in `Timing`.
        peer: As in `Timing`.
        target: As in `Timing`.
        ours: Does the work with ragsweep.
        theirs: Does the work with the peer.
        rounds: Number of timed rounds.
        share: The share of the work that `theirs` does. Its seconds are divided by it.
        note: As in `Timing`.
        warm_up: Whether to call both once before the timed rounds.
    """
    seconds: dict[Callable[[], object], list[float]] = {ours: [], theirs: []}
    for number in range(0 if warm_up else 1, rounds + 1):
        for call in (ours, theirs) if number % 2 else (theirs, ours):
            start = time.perf_counter()
            call()
            if number:
                seconds[call].append(time.perf_counter() - start)
    return Timing(work, peer, target, seconds[ours], [taken / share for taken in seconds[theirs]], note)
