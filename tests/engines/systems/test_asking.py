"""Asking a system: again where that may help, within a time limit, and never twice."""

import time
from contextlib import nullcontext

import pytest

from ragsweep.core.errors import RetrieverError, UnansweredError
from ragsweep.retrieval.results import Result
from ragsweep.store.stage_store import Store
from ragsweep_engines.systems import asking

RESULT = Result(("a",), "b.pdf", "1", "text", 0.5)


class ReadTimeout(OSError):  # noqa: N818 - as requests names it
    """An error of a library."""


class StatusError(Exception):
    def __init__(self, code):
        super().__init__(f"status {code}")
        self.status_code = code


class System:
    """Fails as often as it is told for each query, then answers."""

    def __init__(self, *errors):
        self.errors, self.asked = [*errors], []

    def __call__(self, query):
        self.asked.append(query)
        if self.errors:
            raise self.errors.pop(0)
        return [RESULT]


@pytest.fixture
def ask(tmp_path, monkeypatch):
    monkeypatch.setattr(asking, "FIRST_WAIT_S", 0.001)

    def with_(system, *queries, key="key", timeout_s=5, retries=2, at_once=1, recheck=0, read=list):
        manner = asking.Manner(timeout_s, retries, at_once, recheck)
        kept = asking.kept_in(Store(str(tmp_path)))
        return asking.answers(
            *(queries or ("q",), lambda: nullcontext(system), read, manner), kept=kept, key=[key], name="mine:search"
        )

    return with_


def test_no_query_is_asked_twice(ask):
    system = System()
    first = ask(system, "a", "b", "a")
    again = ask(system, "b", "a")
    assert system.asked == ["a", "b"]
    assert [*again.results] == [(RESULT,), (RESULT,)]
    assert again.latency_ms.tolist() == [first.latency_ms[1], first.latency_ms[0]]
    ask(system, "a", key="another version")
    assert system.asked == ["a", "b", "a"]


@pytest.mark.parametrize(
    "error",
    [
        TimeoutError("slow"),
        ConnectionError("gone"),
        ReadTimeout("slow"),
        StatusError(500),
        StatusError(429),
        StatusError(503),
    ],
)
def test_an_error_that_may_pass_is_asked_again(ask, error):
    system = System(error, error)
    assert ask(system).results[0] == (RESULT,)
    assert len(system.asked) == 3


@pytest.mark.parametrize(
    ("error", "times"), [(ValueError("wrong"), 1), (StatusError(404), 1), (StatusError(401), 1), (StatusError(500), 3)]
)
def test_a_query_that_fails_for_good_is_named_and_what_came_before_is_kept(ask, error, times):
    ask(System(), "before")
    system = System(*[error] * 9)
    with pytest.raises(UnansweredError, match=rf'mine:search: query "why" failed \({type(error).__name__}: ') as failed:
        ask(system, "before", "why")
    assert "1 of 2 answers are kept" in str(failed.value)
    assert system.asked == ["why"] * times
    later = System()
    ask(later, "before", "why")
    assert later.asked == ["why"]


def test_a_query_that_takes_too_long_is_named(ask):
    started = time.perf_counter()
    with pytest.raises(UnansweredError, match=r"TimeoutError: no answer after 0\.05 s \(retriever\.timeout_s\)"):
        ask(lambda query: time.sleep(30), timeout_s=0.05, retries=0)
    assert time.perf_counter() - started < 20


@pytest.mark.usefixtures("long_work")
def test_the_time_of_a_call_is_not_that_of_reading_what_it_returned(ask):
    def read(answer):
        time.sleep(0.6)
        return [*answer]

    found = ask(System(), timeout_s=0.5, retries=0, read=read)
    assert ([*found.results], found.latency_ms[0] < 500) == ([(RESULT,)], True)
    with pytest.raises(UnansweredError, match="no answer after"):
        ask(lambda query: (time.sleep(30) for _ in "a"), "lazy", timeout_s=0.05, retries=0)


def test_a_system_that_ends_python_is_named(ask):
    def ends(query):
        raise SystemExit(0)

    with pytest.raises(UnansweredError, match=r"called sys\.exit\(0\)"):
        ask(ends)


def test_several_are_asked_at_once_in_any_order_and_returned_in_theirs(ask):
    def answer(query):
        time.sleep(0.05 if query == "a" else 0)
        return [Result((query,))]

    assert [each[0].ids for each in ask(answer, *"abcdef", at_once=3).results] == [(each,) for each in "abcdef"]


def test_a_system_that_answers_otherwise_than_before_is_noticed(ask):
    system = System()
    ask(system, *"abcd")
    ask(system, *"abcd", recheck=2)
    assert len(system.asked) == 6
    with pytest.raises(RetrieverError, match=r"answers 2 of 2 queries in another way .* retriever\.version"):
        ask(lambda query: [RESULT._replace(page="2")], *"abcd", recheck=2)


@pytest.mark.parametrize(
    "response",
    [{}, {"results": 3, "ms": 1}, {"results": [[["a"], "b", "c", "d", "x"]], "ms": 1}, {"results": [[["a"]]], "ms": 1}],
)
def test_what_is_no_answer_is_asked_again(response):
    assert not asking._is_answer(response)
