"""The time of a single query, and the machine that measured it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import Indices, Milliseconds
from ragsweep.core.hardware import machine

T = TypeVar("T")
Arrays = Mapping[str, npt.NDArray[Any]]
Machines: TypeAlias = tuple[str, ...]  # what times were taken with, in words; empty if that is not known

TIMED_QUERIES, MOST_TIMED = 16, 1000  # so many queries are timed, whatever that takes; and at most so many
TIMED_S = 20.0  # after so long no other query is timed: a model may need a second for each
ROUNDS, ROUNDS_MS = 5, 250.0  # of the timed queries: so many, and no further one after so long
SPUN_S = 0.02  # on the processor, to learn how much longer it takes by the clock: several turns of a scheduler
UNTIMED: Milliseconds = np.empty(0)
UNKNOWN: Machines = ()
TIMES = ("ms", "latency_ms")  # names of the arrays of a stored stage that hold times
NOTE = "machines"  # of these times: the name of another one


class Note(NamedTuple):
    """With what times were taken, and how much of them may be load.

    Attributes:
        machines: What they were taken with.
        ms: What a query took on average; 0 if that is not known.
        idle_ms: What it takes at least on a machine that is idle: what this thread computed, or more.
    """

    machines: Machines = UNKNOWN
    ms: float = 0.0
    idle_ms: float = 0.0


_is_timing = ContextVar("_is_timing", default=True)
_noted: ContextVar[list[Note] | None] = ContextVar("_noted", default=None)


def sample(queries: int, most: int = TIMED_QUERIES) -> Indices:
    """The rows of at most so many queries, evenly spread."""
    return np.unique(np.linspace(0, queries - 1, min(queries, most)).round().astype(np.int64))


def timing_order(queries: int) -> Indices:
    """All rows in the order in which queries are timed: first an evenly spread sample, then the others at random.

    It is the same for all configurations. So where one was timed for fewer queries, others were timed for these, too.
    """
    first = sample(queries)
    further = np.setdiff1d(np.arange(queries), first)
    return np.concatenate([first, np.random.default_rng(0).permutation(further)])


@contextmanager
def set_within(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Give a variable of the context a value within the block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def without_timing() -> AbstractContextManager[None]:
    """Time nothing in the block, so that a single query is encoded and searched once instead of several times."""
    return set_within(_is_timing, False)


def timed(call: Callable[[int], object], queries: int, most: int = MOST_TIMED) -> Milliseconds:
    """Milliseconds of `call` for the row of each query, one at a time, after a warm-up call.

    Every query is called once. Where that is quick, the quickest of several rounds counts for each, as load can only
    make a call slower.

    Args:
        call: Is given a row.
        queries: How many rows there are.
        most: How many of them are timed at most. Of slow calls, there are fewer: no other one begins after `TIMED_S`.

    Returns:
        Shape [queries], NaN for a query that was not timed; empty where nothing is timed.
    """
    if not _is_timing.get():
        return UNTIMED
    rows = timing_order(queries)[:most].tolist()

    def seconds(row: int) -> tuple[float, float]:
        start, computed = time.perf_counter(), time.thread_time()
        call(row)
        return time.perf_counter() - start, time.thread_time() - computed

    call(rows[0])
    first, end = list[tuple[float, float]](), time.monotonic() + TIMED_S
    while len(first) < len(rows) and (len(first) < TIMED_QUERIES or time.monotonic() < end):
        first.append(seconds(rows[len(first)]))
    rows, rounds, slowed = rows[: len(first)], [first], _slowed(int(time.monotonic()))
    while len(rounds) < ROUNDS and 1000 * np.sum(rounds, axis=(0, 1))[0] < ROUNDS_MS:
        rounds.append([*map(seconds, rows)])
    quickest, computed = 1000 * np.min(rounds, axis=0).T
    ms = float(quickest.mean())
    _note(Note((machine(),), ms, min(ms, max(ms / slowed, float(computed.mean())))))
    times = np.full(queries, np.nan)
    times[rows] = quickest
    return times


@lru_cache(maxsize=1)
def _slowed(second: int) -> float:
    """How many times as long as on the processor a computation takes by the clock: 1 on a machine that is idle."""
    start, before = time.perf_counter(), time.thread_time()
    while (spun := time.thread_time() - before) < SPUN_S:
        pass
    return (time.perf_counter() - start) / spun


@contextmanager
def noting() -> Iterator[list[Note]]:
    """The notes on all times that are taken in the block, or read from a store."""
    noted = list[Note]()
    with set_within(_noted, noted):
        yield noted


def added_up(notes: Sequence[Note]) -> Note:
    """The note on the sum of times; without times if those of one of them are not known."""
    are_known = all(note.ms for note in notes)
    times = (sum(note.ms for note in notes), sum(note.idle_ms for note in notes)) if are_known else ()
    return Note(put_together([note.machines for note in notes]), *times)


def put_together(noted: Sequence[Machines]) -> Machines:
    """The machines of times that are added up; `UNKNOWN` if that of one of them is."""
    return tuple(sorted({name for machines in noted for name in machines})) if all(noted) else UNKNOWN


def with_note(build: Callable[[], Arrays]) -> Arrays:
    """The arrays of `build`, with the note on their times as one more array, to be stored."""
    with noting() as noted:
        arrays = build()
    return {**arrays, NOTE: np.frombuffer(json.dumps(added_up(noted)).encode(), np.uint8)} if noted else arrays


def without_note(arrays: Arrays) -> Arrays:
    """The arrays of a stage without the note on its times, which is noted."""
    if any(len(arrays[name]) for name in TIMES if name in arrays):
        machines, *ms = json.loads(arrays[NOTE].tobytes()) if NOTE in arrays else Note()
        _note(Note(tuple(machines), *ms))
    return {name: array for name, array in arrays.items() if name != NOTE}


def _note(note: Note) -> None:
    noted = _noted.get()
    if noted is not None:
        noted.append(note)
