"""What a single query costs, with which machine that was measured, and that nothing is timed where nobody asks."""

import threading
import time

import numpy as np
import pytest

from ragsweep.core import timing


def test_nothing_is_called_where_nothing_is_timed():
    calls = []
    with timing.without_timing():
        assert timing.timed(calls.append, 3).tolist() == []
    assert calls == []
    assert len(timing.timed(calls.append, 3)) == 3
    assert calls == [0, *(0, 1, 2) * timing.ROUNDS]  # one to warm up


def test_every_query_is_timed_but_no_more_than_the_limit_and_few_of_what_takes_long(monkeypatch):
    assert not np.isnan(timing.timed(lambda row: None, timing.MOST_TIMED)).any()
    assert np.isfinite(timing.timed(lambda row: None, 2 * timing.MOST_TIMED)).sum() == timing.MOST_TIMED
    monkeypatch.setattr(timing, "TIMED_S", 0)
    calls = []
    times = timing.timed(calls.append, 100)
    assert sorted({*calls}) == np.flatnonzero(np.isfinite(times)).tolist() == timing.sample(100).tolist()


def test_the_quickest_round_counts_for_each_query_and_what_takes_long_has_only_one(monkeypatch):
    waits = iter([0, *(0.05, 0.01), *(0.01, 0.05), *(0.02,) * 6])
    with timing.noting() as noted:
        times = timing.timed(lambda row: time.sleep(next(waits)), 2)
    assert (times < 20).all()
    assert noted[0].ms == pytest.approx(times.mean())
    monkeypatch.setattr(timing, "ROUNDS_MS", 10)
    calls = []
    timing.timed(lambda row: [calls.append(row), time.sleep(0.01)], 2)
    assert calls == [0, 0, 1]


def test_a_busy_processor_is_noticed_where_the_rounds_take_the_same():
    """What another thread computes keeps this one waiting, as load of another process does."""
    ended = threading.Event()

    def compute():
        while not ended.is_set():
            sum(range(1000))

    threads = [threading.Thread(target=compute) for _ in range(3)]
    for thread in threads:
        thread.start()
    timing._slowed.cache_clear()
    with timing.noting() as noted:
        timing.timed(lambda row: time.sleep(0.001), 1)
    ended.set()
    for thread in threads:
        thread.join()
    assert noted[0].idle_ms < noted[0].ms / 1.5


def test_what_was_computed_is_not_load():
    def compute(_):
        end = time.thread_time() + 0.002
        while time.thread_time() < end:
            pass

    with timing.noting() as noted:
        times = timing.timed(compute, 4)
    assert 2 <= noted[0].idle_ms <= noted[0].ms == pytest.approx(times.mean())


def test_what_was_stored_tells_the_same_as_what_was_measured():
    with timing.noting() as measured:
        stored = timing.with_note(lambda: {"ms": timing.timed(lambda row: None, 3)})
        assert timing.without_note(stored).keys() == {"ms"}
    with timing.noting() as read:
        timing.without_note(stored)
    assert read == measured != []


def test_times_of_several_stages_are_added_up_and_unknown_where_those_of_one_are():
    with timing.noting() as noted:
        timing.without_note({"latency_ms": np.ones(3)})  # stored without a note
        timing.without_note({"latency_ms": np.empty(0)})  # nothing was timed
    assert noted == [timing.Note(timing.UNKNOWN)]
    assert timing.put_together([("this",), timing.UNKNOWN]) == timing.UNKNOWN == timing.put_together([])
    note = timing.Note(("this",), 10.0, 9.0)
    assert timing.added_up([note, timing.Note(("that",), 5.0, 1.0)]) == timing.Note(("that", "this"), 15.0, 10.0)
    assert timing.added_up([note, timing.Note(timing.UNKNOWN)]) == timing.Note(timing.UNKNOWN)
