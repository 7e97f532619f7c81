"""What a single query costs on its own, measured for a few, and with which machine that was measured."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import Indices, Milliseconds
from ragsweep.core.hardware import machine

T = TypeVar("T")
Arrays = Mapping[str, npt.NDArray[Any]]
Machines: TypeAlias = tuple[str, ...]  # what times were taken with, in words; empty if that is not known

TIMED_QUERIES = 16
UNTIMED: Milliseconds = np.empty(0)
UNKNOWN: Machines = ()
TIMES = ("ms", "latency_ms")  # names of the arrays of a stored stage that hold times
MACHINES = "machines"  # of these times: the name of another one

_is_timing = ContextVar("_is_timing", default=True)
_noted: ContextVar[list[Machines] | None] = ContextVar("_noted", default=None)


def sample(queries: int, most: int = TIMED_QUERIES) -> Indices:
    """The rows of at most so many queries, evenly spread; by default, those of the queries to time."""
    return np.unique(np.linspace(0, queries - 1, min(queries, most)).round().astype(np.int64))


@contextmanager
def set_within(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Give a variable of the context a value within the block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def without_timing() -> AbstractContextManager[None]:
    """Time nothing in the block, so that a single query is encoded and searched once instead of three times."""
    return set_within(_is_timing, False)


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
    _note((machine(),))
    return np.array(times)


@contextmanager
def noting() -> Iterator[list[Machines]]:
    """The machines of all times that are taken in the block, or read from a store."""
    noted = list[Machines]()
    with set_within(_noted, noted):
        yield noted


def put_together(noted: Sequence[Machines]) -> Machines:
    """The machines of times that are added up; `UNKNOWN` if that of one of them is."""
    return tuple(sorted({name for each in noted for name in each})) if all(noted) else UNKNOWN


def machines_in(found: object) -> Machines:
    """Those in a list of JSON; `UNKNOWN` for anything else."""
    is_list = isinstance(found, list) and all(isinstance(each, str) for each in found)
    return tuple(found) if is_list and isinstance(found, list) else UNKNOWN


def with_machines(build: Callable[[], Arrays]) -> Arrays:
    """What `build` makes, with the machines of the times that it takes as one more array, to be stored."""
    with noting() as noted:
        arrays = build()
    return {**arrays, MACHINES: np.frombuffer(json.dumps(put_together(noted)).encode(), np.uint8)} if noted else arrays


def without_machines(arrays: Arrays) -> Arrays:
    """The arrays of a stage without the machines of its times, which are noted."""
    if any(len(arrays[name]) for name in TIMES if name in arrays):
        _note(machines_in(json.loads(arrays[MACHINES].tobytes())) if MACHINES in arrays else UNKNOWN)
    return {name: array for name, array in arrays.items() if name != MACHINES}


def _note(machines: Machines) -> None:
    noted = _noted.get()
    if noted is not None:
        noted.append(machines)
