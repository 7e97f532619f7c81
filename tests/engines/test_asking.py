"""Asking a system: again where that may help, within a time limit, and never twice."""

import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import pytest

from ragsweep.core.errors import RetrieverError, UnansweredError
from ragsweep.models.language.kept import KeptResponses
from ragsweep.retrieval.results import Result
from ragsweep_engines import asking

RESULT = Result(("a",), "b.pdf", "1", "text", 0.5)
HIT = {"id": "a", "source": "b.pdf", "page": 1, "text": "text", "score": 0.5}


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
        return [HIT]


@dataclass(frozen=True, kw_only=True)
class Asked(asking.RunningRetriever):
    """Asks the system of a test."""

    system: Any
    key: str = "key"
    _name = "mine:search"

    @property
    def _asked_with(self):
        return [self.key]

    def _opened(self):
        return nullcontext(self.system)


@pytest.fixture
def ask(store, monkeypatch):
    monkeypatch.setattr(asking, "FIRST_WAIT_S", 0.001)

    def with_(system, *queries, **settings):
        retriever = Asked(**{"system": system, "store": store, "timeout_s": 5, **settings})
        return retriever.answers(queries or ("q",), 10)

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


PASSING = [TimeoutError("slow"), ConnectionError("gone"), ReadTimeout("slow"), *map(StatusError, (429, 500, 503))]
FINAL = [(ValueError("wrong"), 1), (StatusError(404), 1), (StatusError(401), 1), (StatusError(500), 3)]


def test_an_error_that_may_pass_is_asked_again(ask):
    for number, error in enumerate(PASSING):
        system = System(error, error)
        assert ask(system, f"{number}").results[0] == (RESULT,)
        assert len(system.asked) == 3


def test_a_query_that_fails_for_good_is_named_and_what_came_before_is_kept(ask):
    ask(System(), "before")
    for number, (error, times) in enumerate(FINAL):
        system, query = System(*[error] * 9), f"why {number}"
        failure = rf'mine:search: query "{query}" failed \({type(error).__name__}: .*1 of 2 answers are kept'
        with pytest.raises(UnansweredError, match=failure):
            ask(system, "before", query)
        assert system.asked == [query] * times
        later = System()
        ask(later, "before", query)
        assert later.asked == [query]


def test_a_query_that_takes_too_long_is_named(ask):
    started = time.perf_counter()
    with pytest.raises(UnansweredError, match=r"TimeoutError: no answer after 0\.05 s \(retriever\.timeout_s\)"):
        ask(lambda query: time.sleep(30), timeout_s=0.05, retries=0)
    assert time.perf_counter() - started < 20


def test_what_was_read_is_said_also_of_kept_answers(ask):
    for _ in range(2):
        assert ask(System()).notices == [
            "Results read by id=id, source=source, page=page, text=text, score=score.",
        ]
    [notice] = ask(lambda query: [{"_id": "a", "metadata": {"path": "b"}}, ["c", 1]], "other").notices
    assert notice == "Results read by id=_id or the result itself, source=metadata.path."


def test_a_field_that_is_set_and_that_nothing_has_is_refused_before_all_queries_are_asked(ask):
    for version, hit in enumerate(({"id": "a", "metadata": {"source": "b"}}, {"id": "a"})):
        system = System()
        queries = [f"{version} query {number}" for number in range(100)]
        with pytest.raises(RetrieverError, match=r"retriever\.page: no result has 'metadata\.page' \(there is 'id'"):
            ask(lambda query, system=system, hit=hit: system(query) and [hit], *queries, page="metadata.page")
        assert len(system.asked) < 100
        first = iter([[{**hit, "metadata": {"page": 3}}]])
        replies = lambda query, first=first, hit=hit: next(first, [hit])  # noqa: E731
        ask(replies, *queries[:30], page="metadata.page", version="2")


def test_a_system_that_answers_otherwise_than_before_is_noticed(ask):
    system = System()
    ask(system, *"abcd")
    ask(system, *"abcd", recheck=2)
    assert len(system.asked) == 6
    with pytest.raises(RetrieverError, match=r"answers 2 of 2 queries in another way .* retriever\.version"):
        ask(lambda query: [{**HIT, "page": 2}], *"abcd", recheck=2)


def test_what_is_no_answer_is_asked_again(tmp_path):
    kept, answer = KeptResponses(tmp_path / asking.FILE), asking.KeptAnswer((), {}, 1.0)
    responses = [
        {},
        {"results": 3, "ms": 1, "read": {}},
        {"results": [[["a"], "b", "c", "d", "x"]], "ms": 1, "read": {}},
        {"results": [[["a"], "b", "c", "d", None]], "ms": -1, "read": {}},
        {"results": [[["a"]]], "ms": 1, "read": {"id": 3}},
    ]
    for query, response in enumerate(responses):
        kept.get(query, lambda response=response: response)
        with pytest.warns(UserWarning, match="a kept response is damaged"):
            assert replace(kept, kind=asking.KeptAnswer).get(query, lambda: answer) == answer
