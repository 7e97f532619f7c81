"""What a single query costs on its own, measured for a few."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from ragsweep.core.arrays import Indices, Milliseconds

TIMED_QUERIES = 16
UNTIMED: Milliseconds = np.empty(0)

_is_timing = ContextVar("_is_timing", default=True)


def sample(queries: int) -> Indices:
    """The queries to time: a few, evenly spread."""
    return np.unique(np.linspace(0, queries - 1, min(queries, TIMED_QUERIES)).round().astype(np.int64))


@contextmanager
def without_timing() -> Iterator[None]:
    """Time nothing in the block, so that a single query is encoded and searched once instead of three times."""
    token = _is_timing.set(False)
    try:
        yield
    finally:
        _is_timing.reset(token)


def timed(call: Callable[[int], object], queries: int) -> Milliseconds:
    """Milliseconds of `call` for the row of each query of the sample, one at a time, after a warm-up call.

    Empty where nothing is timed.
    """
    if not _is_timing.get():
        return UNTIMED
    times, rows = [], sample(queries).tolist()
    call(rows[0])
    for row in rows:
        start = time.perf_counter()
        call(row)
        times.append(1000 * (time.perf_counter() - start))
    return np.array(times)
