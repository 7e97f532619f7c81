"""What a single query costs on its own, measured for a few."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from ragsweep.core.arrays import Indices, Milliseconds

TIMED_QUERIES = 16
UNTIMED: Milliseconds = np.empty(0)

T = TypeVar("T")


def sample(queries: int) -> Indices:
    """The queries to time: a few, evenly spread."""
    return np.unique(np.linspace(0, queries - 1, min(queries, TIMED_QUERIES)).round().astype(np.int64))


def timed(call: Callable[[T], object], inputs: Sequence[T]) -> Milliseconds:
    """Milliseconds of `call` for each input, one at a time, after a warm-up call."""
    times = []
    call(inputs[0])
    for value in inputs:
        start = time.perf_counter()
        call(value)
        times.append(1000 * (time.perf_counter() - start))
    return np.array(times)
