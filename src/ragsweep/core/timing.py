"""What a single query costs on its own, measured for a few, and in what circumstances that was measured."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from math import inf
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import Indices, Milliseconds
from ragsweep.core.hardware import load_of_others, machine

T = TypeVar("T")
Arrays = Mapping[str, npt.NDArray[Any]]

TIMED_QUERIES = 16
QUERIES_PER_LOAD = 4  # asking how busy the machine is takes as long as a fast query
UNTIMED: Milliseconds = np.empty(0)
TIMES = ("ms", "latency_ms")  # names of the arrays of a stored stage that hold times
CIRCUMSTANCES = "circumstances"  # of these times: the name of another one

_is_timing = ContextVar("_is_timing", default=True)
_is_anew = ContextVar("_is_anew", default=False)


class Circumstances(NamedTuple):
    """When, where and beside what times were taken; those of a ranking with several stages are put together.

    Attributes:
        queries: How many queries were timed, one at a time.
        first: When the first of them was, in seconds since 1970.
        last: When the last one was.
        load: How many threads of other processes ran or waited for a CPU meanwhile, per core: the mean, in which a
            stage counts by the time that it took. None if it is not known.
        machines: What was computed with, in words; empty if nothing is known of the circumstances.
        ms: What the queries took together.
        at_once: How many were asked at a time, at most.
    """

    queries: int = 0
    first: float = 0
    last: float = 0
    load: float | None = None
    machines: tuple[str, ...] = ()
    ms: float = 0
    at_once: int = 1


UNKNOWN = Circumstances()


class _Noted(NamedTuple):
    """The circumstances of times in a block; stored times from before `before` (s since 1970) are taken again."""

    circumstances: list[Circumstances]
    before: float


_noted: ContextVar[_Noted | None] = ContextVar("_noted", default=None)


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


def is_timing() -> bool:
    """Whether this is outside of `without_timing`."""
    return _is_timing.get()


def timed(call: Callable[[int], object], queries: int) -> Milliseconds:
    """Milliseconds of `call` for the row of each query of the sample, one at a time, after a warm-up call.

    Empty where nothing is timed.
    """
    if not is_timing():
        return UNTIMED
    times, loads, rows = [], [], sample(queries).tolist()
    first = time.time()
    call(rows[0])
    for place, row in enumerate(rows):
        if place % QUERIES_PER_LOAD == 0:
            loads.append(load_of_others())
        start = time.perf_counter()
        call(row)
        times.append(1000 * (time.perf_counter() - start))
    known = [load for load in loads if load is not None]
    load = sum(known) / len(known) if known else None
    _note(Circumstances(len(rows), first, time.time(), load, (machine(),), sum(times)))
    return np.array(times)


@contextmanager
def noting(before: float | None = None) -> Iterator[list[Circumstances]]:
    """The circumstances of all times that are taken in the block, or read from a store.

    Args:
        before: Times that a store has from before this, in seconds since 1970, are taken again. None for what holds
            around the block, at first none.
    """
    outer, noted = _noted.get(), list[Circumstances]()
    with set_within(_noted, _Noted(noted, before if before is not None else outer.before if outer else 0)):
        yield noted


def put_together(noted: Sequence[Circumstances]) -> Circumstances:
    """The circumstances of times that are added up; `UNKNOWN` if those of one of them are."""
    if not noted or not all(each.machines for each in noted):
        return UNKNOWN
    loads = [(each.load, each.ms) for each in noted if each.load is not None]
    ms = sum(each.ms for each in noted)
    return Circumstances(
        max(each.queries for each in noted),
        min(each.first for each in noted),
        max(each.last for each in noted),
        sum(load * share for load, share in loads) / ms if ms and len(loads) == len(noted) else None,
        tuple(sorted({name for each in noted for name in each.machines})),
        ms,
        max(each.at_once for each in noted),
    )


def taken_now(first: float, ms: float, load: float | None, *, at_once: int) -> Circumstances:
    """The circumstances of a time that was just taken on this machine.

    Args:
        first: When it began, in seconds since 1970.
        ms: How long it took.
        load: As `load_of_others` had it then.
        at_once: How many such times were taken at once, at most.
    """
    return Circumstances(1, first, time.time(), load, (machine(),), ms, at_once)


def circumstances_in(found: object) -> Circumstances:
    """Those in an object of JSON, as `_asdict` makes it; `UNKNOWN` for anything else."""
    if not isinstance(found, dict) or not found.keys() <= {*Circumstances._fields}:
        return UNKNOWN
    taken = Circumstances(**found)
    numbers = (taken.queries, taken.first, taken.last, taken.load or 0, taken.ms, taken.at_once)
    named = isinstance(taken.machines, list | tuple) and all(isinstance(each, str) for each in taken.machines)
    if not named or not all(type(each) in (int, float) and 0 <= each < inf for each in numbers):
        return UNKNOWN
    return taken._replace(machines=tuple(taken.machines))


def asked_anew() -> AbstractContextManager[None]:
    """In the block, what is kept of answers is neither read nor written, so that asking takes as long as it takes."""
    return set_within(_is_anew, True)


def is_asked_anew() -> bool:
    """Whether this is within `asked_anew`. Threads that are started in the block do not know it."""
    return _is_anew.get()


def with_circumstances(build: Callable[[], Arrays]) -> Arrays:
    """What `build` makes, with the circumstances of the times that it takes as one more array, to be stored."""
    with noting() as noted:
        arrays = build()
    text = json.dumps(put_together(noted)._asdict())
    return {**arrays, CIRCUMSTANCES: np.frombuffer(text.encode(), np.uint8)} if noted else arrays


def without_circumstances(arrays: Arrays) -> Arrays:
    """The arrays of a stage without the circumstances of its times, which are noted."""
    if _has_times(arrays):
        _note(_circumstances(arrays))
    return {name: array for name, array in arrays.items() if name != CIRCUMSTANCES}


def outdated(arrays: Arrays) -> bool:
    """Whether a stage has times that are to be taken again."""
    noted = _noted.get()
    return noted is not None and _has_times(arrays) and _circumstances(arrays).first < noted.before


def with_new_times(arrays: Arrays, build: Callable[[], Arrays]) -> Arrays:
    """The arrays of a stage with those times, and their circumstances, that `build` makes."""
    new = with_circumstances(build)
    kept = {name: array for name, array in arrays.items() if name != CIRCUMSTANCES}
    return {**kept, **{name: new[name] for name in (*TIMES, CIRCUMSTANCES) if name in new}}


def _has_times(arrays: Arrays) -> bool:
    return any(len(arrays[name]) for name in TIMES if name in arrays)


def _circumstances(arrays: Arrays) -> Circumstances:
    if CIRCUMSTANCES not in arrays:
        return UNKNOWN
    return circumstances_in(json.loads(arrays[CIRCUMSTANCES].tobytes()))


def _note(circumstances: Circumstances) -> None:
    if noted := _noted.get():
        noted.circumstances.append(circumstances)
