"""What a single query costs, with which machine that was measured, and that nothing is timed where nobody asks."""

import numpy as np

from ragsweep.core.digest import DigestedTexts, digest_texts
from ragsweep.core.hardware import machine
from ragsweep.core.timing import (
    UNKNOWN,
    machines_in,
    noting,
    put_together,
    timed,
    with_machines,
    without_machines,
    without_timing,
)


def time_three() -> dict[str, np.ndarray]:
    return {"ms": timed(lambda row: None, 3)}


def test_nothing_is_called_where_nothing_is_timed():
    calls = []
    with without_timing():
        assert timed(calls.append, 3).tolist() == []
    assert calls == []
    assert len(timed(calls.append, 3)) == 3
    assert calls == [0, 0, 1, 2]  # one to warm up


def test_the_machine_of_times_is_noted_around_them():
    with noting() as noted:
        timed(lambda row: None, 100)
    assert noted == [(machine(),)]


def test_what_was_stored_tells_the_same_as_what_was_measured():
    with noting() as measured:
        stored = with_machines(time_three)
        assert without_machines(stored).keys() == {"ms"}
    with noting() as read:
        without_machines(stored)
    assert read == measured != []


def test_stored_times_without_a_machine_have_an_unknown_one():
    with noting() as noted:
        without_machines({"latency_ms": np.ones(3)})
        without_machines({"latency_ms": np.empty(0)})  # nothing was timed
    assert noted == [UNKNOWN]
    assert put_together([("this",), UNKNOWN]) == UNKNOWN == put_together([])


def test_the_machines_of_several_stages_are_put_together():
    assert put_together([("this",), ("that",), ("this",)]) == ("that", "this")


def test_machines_that_a_kept_response_cannot_have_are_unknown():
    assert machines_in(["this"]) == ("this",)
    assert {machines_in(wrong) for wrong in (None, "this", [1], {"this": 1})} == {UNKNOWN}


def test_the_digest_of_texts_is_the_same_when_it_is_remembered():
    texts = ("ab", "c")
    assert digest_texts(DigestedTexts(texts)) == digest_texts(texts) != digest_texts(("a", "bc"))
