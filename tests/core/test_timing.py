"""What a single query costs, in what circumstances that was measured, and that nothing is timed where nobody asks."""

import multiprocessing
import os
import time

import numpy as np
import pytest

from ragsweep.core.digest import DigestedTexts, digest_texts
from ragsweep.core.hardware import load_of_others, machine
from ragsweep.core.timing import (
    UNKNOWN,
    Circumstances,
    noting,
    put_together,
    timed,
    with_circumstances,
    without_circumstances,
    without_timing,
)

NEEDS_LINUX = pytest.mark.skipif(load_of_others() is None, reason="only Linux tells how many threads run")


def busy() -> None:
    while True:
        pass


def time_three() -> dict[str, np.ndarray]:
    return {"ms": timed(lambda row: None, 3)}


def test_nothing_is_called_where_nothing_is_timed():
    calls = []
    with without_timing():
        assert timed(calls.append, 3).tolist() == []
    assert calls == []
    assert len(timed(calls.append, 3)) == 3
    assert calls == [0, 0, 1, 2]  # one to warm up


def test_the_circumstances_of_times_are_noted_around_them():
    began = time.time()
    with noting() as noted:
        timed(lambda row: None, 100)
    [found] = noted
    assert (found.queries, found.machines) == (16, (machine(),))
    assert began <= found.first <= found.last <= time.time()


def test_what_was_stored_tells_the_same_as_what_was_measured():
    with noting() as measured:
        stored = with_circumstances(time_three)
        assert without_circumstances(stored).keys() == {"ms"}
    with noting() as read:
        without_circumstances(stored)
    assert read == measured != []


def test_stored_times_without_circumstances_have_unknown_ones():
    with noting() as noted:
        without_circumstances({"latency_ms": np.ones(3)})
        without_circumstances({"latency_ms": np.empty(0)})  # nothing was timed
    assert noted == [UNKNOWN]
    known = Circumstances(16, 1, 2, 0.5, ("this",))
    assert put_together([known, UNKNOWN]) == UNKNOWN == put_together([])


def test_circumstances_of_several_stages_are_put_together():
    one, other = Circumstances(16, 10, 20, 0.5, ("this",), 30), Circumstances(16, 30, 40, 1.5, ("that",), 10)
    assert put_together([one, other]) == Circumstances(16, 10, 40, 0.75, ("that", "this"), 40)
    assert put_together([one, one._replace(load=None)]).load is None


@NEEDS_LINUX
def test_busy_processes_are_a_load_and_threads_of_this_one_are_not(processes):
    workers = [multiprocessing.get_context("spawn").Process(target=busy, daemon=True) for _ in range(os.cpu_count())]
    for worker in workers:
        worker.start()
    try:
        deadline = time.monotonic() + 60
        while load_of_others() < 1 and time.monotonic() < deadline:  # until they have started
            time.sleep(0.05)
        with noting() as noted:
            timed(lambda row: time.sleep(0.005), 16)
    finally:
        for worker in workers:
            worker.kill()
            worker.join()
    assert noted[0].load > 0.75


def test_the_digest_of_texts_is_the_same_when_it_is_remembered():
    texts = ("ab", "c")
    assert digest_texts(DigestedTexts(texts)) == digest_texts(texts) != digest_texts(("a", "bc"))
