"""Asking systems: again where that may help, never twice, and reading whatever retrievers of any framework return."""

import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ragsweep.core.errors import ConfigError, RetrieverError, UnansweredError
from ragsweep.models.language.kept_responses import KeptResponses
from ragsweep.retrieval.results import Result
from ragsweep_engines import asking
from ragsweep_engines.result_reading import LISTS, NAMES, PLACES, Fields, results_of

RESULT = Result(("a",), "b.pdf", "1", "text", 0.5)
HIT = {"id": "a", "source": "b.pdf", "page": 1, "text": "text", "score": 0.5}


class ReadTimeout(OSError):  # noqa: N818 - as requests names it
    """An error of a library."""


class StatusError(Exception):
    def __init__(self, code):
        super().__init__(f"status {code}")
        self.status_code = code


class System:
    """Fails as often as it is told, then answers with a hit."""

    def __init__(self, *errors, hit=HIT):
        self.errors, self.asked, self.hit = [*errors], [], hit

    def __call__(self, query):
        self.asked.append(query)
        if self.errors:
            raise self.errors.pop(0)
        return [self.hit]


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


def test_an_error_that_may_pass_is_asked_again_and_one_for_good_is_named_and_what_came_before_is_kept(ask):
    for number, error in enumerate(PASSING):
        system = System(error, error)
        assert ask(system, f"{number}").results[0] == (RESULT,)
        assert len(system.asked) == 3
    ask(System(), "before")
    for number, (error, times) in enumerate(FINAL):
        system, later, query = System(*[error] * 9), System(), f"why {number}"
        failure = rf'mine:search: query "{query}" failed \({type(error).__name__}: .*1 of 2 answers are kept'
        with pytest.raises(UnansweredError, match=failure):
            ask(system, "before", query)
        assert system.asked == [query] * times
        ask(later, "before", query)
        assert later.asked == [query]
    started = time.perf_counter()
    with pytest.raises(UnansweredError, match=r"TimeoutError: no answer after 0\.05 s \(retriever\.timeout_s\)"):
        ask(lambda query: time.sleep(30), timeout_s=0.05, retries=0)
    assert time.perf_counter() - started < 20


def test_what_was_read_is_said_also_of_kept_answers(ask):
    usual = "Results read by id=id, source=source, page=page, text=text, score=score."
    assert [ask(System()).notices for _ in range(2)] == [[usual]] * 2
    [notice] = ask(lambda query: [{"_id": "a", "metadata": {"path": "b"}}, ["c", 1]], "other").notices
    assert notice == "Results read by id=_id or the result itself, source=metadata.path."


def test_a_field_that_is_set_and_that_nothing_has_is_refused_before_all_queries_are_asked(ask):
    for version, hit in enumerate(({"id": "a", "metadata": {"source": "b"}}, {"id": "a"})):
        system, queries = System(hit=hit), [f"{version} query {number}" for number in range(100)]
        for asked in (queries[:1], queries[1:]):
            with pytest.raises(
                RetrieverError, match=r"retriever\.page: no result has 'metadata\.page' \(there is 'id'"
            ):
                ask(system, *asked, page="metadata.page")
        assert len(system.asked) < 100
        first = iter([[{**hit, "metadata": {"page": 3}}]])
        replies = lambda query, first=first, hit=hit: next(first, [hit])  # noqa: E731
        ask(replies, *queries[:30], page="metadata.page", version="2")


def test_a_system_that_answers_otherwise_than_before_is_noticed(ask):
    system = System()
    for settings in ({}, {"recheck": 2}):
        ask(system, *"abcd", **settings)
    assert len(system.asked) == 6
    with pytest.raises(RetrieverError, match=r"answers 2 of 2 queries in another way .* retriever\.version"):
        ask(System(hit={**HIT, "page": 2}), *"abcd", recheck=2)


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


def read(answer, fields=None):
    return [*results_of(answer, fields or Fields()).results]


def test_every_documented_name_is_read_in_every_place():
    """Of each field the first name counts, and what lies outermost."""
    for place in PLACES:
        for field, names in NAMES.items():
            for number, name in enumerate(names):
                inner = dict.fromkeys(names[number:], "7") | ({} if field == "id" else {"id": "x"})
                hit = inner
                for part in reversed([part for part in place.split(".") if part]):
                    hit = {part: hit}
                [result] = read({LISTS[number % len(LISTS)]: [hit]})
                value = {"id": result.ids[0], "score": f"{result.score:.0f}" if result.score else ""}
                assert value.get(field, result._asdict()[field if field != "id" else "ids"]) == "7", (place, name)


@dataclass(slots=True)
class HaystackLike:
    id: str
    content: str
    meta: dict
    score: float


def langchain_like(text, **metadata):
    return SimpleNamespace(page_content=text, metadata=metadata, id=None, type="Document")


def llama_like(text, score, **metadata):
    node = SimpleNamespace(id_="n1", text=text, metadata=metadata, embedding=[0.1] * 384)
    return SimpleNamespace(node=node, score=score)


A, B, C = (Result((name,), text=name) for name in "abc")
NAN = float("nan")
SHAPES = [
    (["a", "b"], [A, B]),
    ([("a", 0.5), ("b", 0.25)], [A._replace(score=0.5), B._replace(score=0.25)]),
    ([(0.5, "a")], [A._replace(score=0.5)]),
    ({"a": 0.2, "b": 0.9}, [B._replace(score=0.9), A._replace(score=0.2)]),
    ({"a": NAN, "b": 0.5, "c": np.float32("nan")}, [B._replace(score=0.5), A, C]),
    ([{"_id": "a", "_source": {"text": "t"}, "_score": 3.5}], [Result(("a",), text="t", score=3.5)]),
    ({"answer": "42", "documents": [langchain_like("t", source="a.pdf", page=3)]}, [Result((), "a.pdf", "3", "t")]),
    ([langchain_like("t", source="a.pdf", page=0)], [Result((), "a.pdf", "0", "t")]),
    ([llama_like("t", 0.5, file_name="a.pdf", page_label="iv")], [Result(("n1",), "a.pdf", "iv", "t", 0.5)]),
    (SimpleNamespace(source_nodes=[llama_like("t", 0.5)]), [Result(("n1",), text="t", score=0.5)]),
    (
        {"documents": [HaystackLike("h", "t", {"file_path": "/x/a.pdf", "page_number": 2}, 0.5)]},
        [Result(("h",), "/x/a.pdf", "2", "t", 0.5)],
    ),
    (
        {"ids": [["a", "b"]], "documents": [["x", "y"]], "metadatas": [[{"page": 1}, {"page": 2}]], "embeddings": None},
        [Result(("a",), "", "1", "x"), Result(("b",), "", "2", "y")],
    ),
    (
        pd.DataFrame({"docno": ["b", "a"], "score": [1.0, 2.0], "rank": [1, 0]}),
        [Result(("a",), score=2), Result(("b",), score=1)],
    ),
    (pd.DataFrame({"docno": ["c", "b", "a"], "rank": ["10", "2", "1"]}), [Result((name,)) for name in "abc"]),
    (pd.DataFrame([{"docno": "a", "text": "x"}, {"docno": "b"}]), [Result(("a",), text="x"), Result(("b",))]),
    (
        {"points": [{"id": 7, "score": 0.5, "payload": {"page_content": "t", "metadata": {"source": "a.pdf"}}}]},
        [Result(("7",), "a.pdf", "", "t", 0.5)],
    ),
    (
        [{"_id": "d", "_source": {"text": "t", "metadata": {"source": "a.pdf", "page": 0}}}],
        [Result(("d",), "a.pdf", "0", "t")],
    ),
    ([{"id": "a", "page": [3, 4]}], [Result(("a",))]),
    ([], []),
    ({"documents": []}, []),
]
REFUSED = [
    (None, "returned NoneType, expected a list of results"),
    ({"a#1", "a#2"}, "returned set, expected a list of results, the best first"),
    ({"answer": "42"}, r"without a list of results \('answer'\)"),
    ([{}], "a result of type dict"),
    ([{"wert": {"inhalt": "t"}, "score": 1}], r"no result has a field of a usual name \(there is 'wert\.inhalt', 's"),
]


def test_results_are_read_whatever_their_shape_and_what_is_no_list_of_them_is_named():
    assert [(answer, read(answer)) for answer, expected in SHAPES if read(answer) != expected] == []
    for answer, message in REFUSED:
        with pytest.raises(RetrieverError, match=message):
            read(answer)


def test_a_field_that_is_set_is_the_one_that_is_read_and_a_path_that_fails_is_one_line():
    hits = [{"name": "d1", "where": {"file": "a.pdf", "sheet": 3}, "says": {"text": "t"}, "rank": {"cosine": 0.5}}]
    with pytest.raises(RetrieverError, match=r"without a list of results \('retrievalResults'\)"):
        read({"retrievalResults": hits})
    with pytest.raises(RetrieverError, match=r"there is 'name', 'where\.file', 'where\.sheet'"):
        read([{name: value for name, value in hits[0].items() if name != "rank"}])
    fields = Fields("name", "where.file", "where.sheet", "says.text", "rank.cosine")
    assert read(hits, fields) == [Result(("d1",), "a.pdf", "3", "t", 0.5)]
    with pytest.raises(ConfigError, match=r"retriever\.page: found 'a\[', expected a JMESPath"):
        Fields(page="a[").check()
    with pytest.raises(RetrieverError, match=r"retriever\.source: .*fails on a result"):
        read(hits, Fields(source="join('#', [where.file, where.sheet])"))
