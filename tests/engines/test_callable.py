"""Functions and objects of a user: how they are asked, when they are made, and what is timed."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import pytest

from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.testing import SystemContract
from ragsweep_engines import callable_retriever
from ragsweep_engines.callable_retriever import CallableRetriever

SLOW_S = 0.4
MODULE = """
import asyncio
import functools
import sys
import time

def plain(query, k): return ("plain", query, k)
def alone(q): return ("alone", q)
def named(*, question, top_k=3): return ("named", question, top_k)
def single(anything): return ("single", anything)
def batched(queries): return ("batched", queries)
async def waits(query, k=2):
    await asyncio.sleep(0)
    return ("waits", query, k)
async def one_by_one(query, k=2):
    for part in ("streamed", query, k):
        await asyncio.sleep(0)
        yield part
async def loop_of(query): return asyncio.get_running_loop()
partial = functools.partial(plain, k=7)

class Retriever:
    def __init__(self, size=1): self.size = size
    def invoke(self, input): return ("invoke", self.size, input)
    @classmethod
    def of(cls, size=1): return cls(size)

class Store:
    def similarity_search_with_score(self, query, k=4): return ("store", query, k)
    def search(self, query, search_type): raise AssertionError

class Engine:
    def retrieve(self, str_or_query_bundle): return ("retrieve", str_or_query_bundle)
    def query(self, str_or_query_bundle): raise AssertionError

class Own:
    def retrieve(self, query, top_k): return ("own", query, top_k)

class Component:
    def run(self, query: str, filters=None, top_k=None): return ("run", query, top_k)

class Called:
    def __call__(self, query): return ("called", query)

class Nothing: ...

def search(query, k):
    return [{"source": "a.pdf", "page": at, "text": f"{query} {at}", "score": 1 / at} for at in range(1, k + 1)]

class Slow:
    def __init__(self, log, seconds):
        time.sleep(seconds)
        with open(log, "a") as file:
            file.write("made\\n")

    def invoke(self, input): return [{"id": "a", "text": input}]

class Broken:
    def __init__(self): raise ValueError("no index\\nat all")

class Ending:
    def __init__(self): sys.exit(0)

def build(size=1, colour="red"): return Retriever(size)
def of_text(text, query="bm25", size=2): return Retriever((text, query, size))
def find(what, text="plain"): return ("find", what, text)
def wide(query, texts=None, k=3): return ("wide", query, texts, k)
def always(query="none"): return [query]
def deep(query, *, corpus, top_k, language): raise AssertionError
def with_settings(query, k, colour="red"): return ("settings", query, k, colour)
retriever = Retriever(5)
store, engine, component, called, nothing = Store(), Engine(), Component(), Called(), Nothing()
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "system_of_tests.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)


def ask(name, **settings):
    call = f"system_of_tests:{name}"
    CallableRetriever(call, settings=settings).check()
    return callable_retriever.query_function(callable_retriever.make_target(call, settings), call, 9)("why?")


CALLS = [  # a name, its settings, and what it is asked
    ("plain", {}, ("plain", "why?", 9)),
    ("named", {}, ("named", "why?", 9)),
    ("single", {}, ("single", "why?")),
    ("waits", {}, ("waits", "why?", 9)),
    ("one_by_one", {}, ["streamed", "why?", 9]),
    ("partial", {}, ("plain", "why?", 9)),
    ("with_settings", {"colour": "blue"}, ("settings", "why?", 9, "blue")),
    ("retriever", {}, ("invoke", 5, "why?")),
    ("Retriever", {}, ("invoke", 1, "why?")),
    ("build", {}, ("invoke", 1, "why?")),
    ("build", {"size": 8}, ("invoke", 8, "why?")),
    ("of_text", {"text": "x", "query": "y"}, ("invoke", ("x", "y", 2), "why?")),
    ("find", {"text": "x"}, ("find", "why?", "x")),
    ("store", {}, ("store", "why?", 9)),
    ("engine", {}, ("retrieve", "why?")),
    ("Own", {}, ("own", "why?", 9)),
    ("component", {}, ("run", "why?", None)),
    ("called", {}, ("called", "why?")),
]
REFUSED = [
    ("nosuch", {}, "cannot be imported .*nosuch"),
    ("nothing", {}, "is, or makes, a Nothing, expected a function that needs a query, or an object with one of"),
    ("always", {}, "is, or makes, a list, expected a function that needs a query"),
    ("deep", {}, "deep needs corpus, language; expected a function of a query"),
    ("deep", {"corpus": "x"}, "deep needs language; expected"),
    ("batched", {}, "batched needs queries; expected a function of a query"),
    ("retriever", {"size": 3}, r"retriever\.settings: .* is an object, expected a function or a class"),
    ("build", {"sice": 3}, r"retriever\.settings\.sice: .*build takes size, colour"),
    ("retriever", {"api_key": "x"}, r"retriever\.settings\.api_key: may be a key"),
    ("retriever", {"where": "sk-" + 40 * "aB3"}, r"retriever\.settings\.where: may be a key"),
]


@pytest.mark.usefixtures("module")
def test_functions_and_objects_are_asked_by_their_own_names():
    calls = [(name, settings, ask(name, **settings)) for name, settings, _ in CALLS]
    assert [call for call, expected in zip(calls, CALLS, strict=True) if call != expected] == []


@pytest.mark.usefixtures("module")
def test_what_cannot_be_asked_or_may_be_a_key_is_refused_by_its_name():
    for name, settings, message in REFUSED:
        with pytest.raises(ConfigError, match=message):
            ask(name, **settings)


@pytest.mark.usefixtures("module")
def test_answers_are_awaited_in_one_loop_also_where_another_one_runs():
    """A client that keeps its connections works in the loop of its first request only."""
    call = "system_of_tests:loop_of"
    retriever = callable_retriever.query_function(callable_retriever.target_of(call), "loop_of", 9)
    kept = retriever("why?")

    async def within() -> object:
        return retriever("why?")

    with ThreadPoolExecutor() as own:  # a browser of other tests has a loop in this thread
        assert own.submit(asyncio.run, within()).result() is kept


@pytest.mark.usefixtures("module")
def test_making_a_system_is_not_timed_and_has_no_time_limit(tmp_path):
    settings = {"log": str(tmp_path / "log.txt"), "seconds": SLOW_S}
    retriever = CallableRetriever("system_of_tests:Slow", settings=settings, timeout_s=SLOW_S / 2)
    assert retriever.answers(["a", "b"], 10).latency_ms.max() < 1000 * SLOW_S / 2


@pytest.mark.usefixtures("module")
def test_a_system_is_made_only_if_a_query_is_asked(tmp_path, store):
    log = tmp_path / "log.txt"
    retriever = CallableRetriever("system_of_tests:Slow", settings={"log": str(log), "seconds": 0}, store=store)
    first = retriever.answers(["a", "b"], 10)
    assert (first.kept, log.read_text()) == (0, "made\n")
    again = retriever.answers(["b", "a"], 10)
    assert (again.kept, again.results) == (2, first.results[::-1])
    assert log.read_text() == "made\n"


@pytest.mark.usefixtures("module")
def test_a_system_that_cannot_be_made_is_one_line():
    for name, message in (("Broken", "ValueError: no index"), ("Ending", "SystemExit")):
        with pytest.raises(RetrieverError, match=rf"cannot be made \({message}[^\n]*$"):
            CallableRetriever(f"system_of_tests:{name}").answers(["a"], 10)


class TestCallable(SystemContract):
    component = CallableRetriever
    settings: ClassVar = {"call": "system_of_tests:search", "depth": 2}

    @pytest.fixture(autouse=True)
    def _importable(self, module):
        pass
