"""Timing two ways to do the same work against each other, on a machine that others use too."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Comparison:
    """One row of the benchmark.

    Attributes:
        work: What was done.
        peer: What ragsweep is compared with.
        target: How many times faster than the peer it should be, at least; below 1, it may be slower. None: no target.
        ours: Seconds of ragsweep in each round.
        theirs: Seconds of the peer in each round.
        note: What else was found.
        unit: Of `ours` and `theirs`, where it is not seconds that are compared.
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
        """How many times faster ragsweep was, in each round."""
        return [peer / own for own, peer in zip(self.ours, self.theirs, strict=True)]

    @property
    def ratio(self) -> float:
        """The median of the rounds."""
        return float(np.median(self.ratios))

    @property
    def reached(self) -> bool:
        """Whether the target is reached; so is none."""
        return self.target is None or self.ratio >= self.target

    @property
    def broken(self) -> bool:
        """Whether the ratio is below half of the target, which no noise explains."""
        return self.target is not None and self.ratio < self.target / 2


Rows = Iterator[Comparison]


def compare(
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
) -> Comparison:
    """Time both in turns, after a call of each that is not timed; who goes first changes from round to round.

    Args:
        work: As in `Comparison`, like `peer`, `target` and `note`.
        peer: See there.
        target: See there.
        ours: Does the work with ragsweep.
        theirs: Does it with the peer.
        rounds: How often.
        share: The part of the work that `theirs` does; its seconds are scaled to the whole.
        note: See there.
        warm_up: Whether there is such a call.
    """
    seconds: dict[Callable[[], object], list[float]] = {ours: [], theirs: []}
    for number in range(0 if warm_up else 1, rounds + 1):
        for call in (ours, theirs) if number % 2 else (theirs, ours):
            start = time.perf_counter()
            call()
            if number:
                seconds[call].append(time.perf_counter() - start)
    return Comparison(work, peer, target, seconds[ours], [taken / share for taken in seconds[theirs]], note)
