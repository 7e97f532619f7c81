"""How functions and objects are asked, whatever their parameters are called."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from ragsweep.core.errors import ConfigError
from ragsweep_engines import callable_retriever as calling
from ragsweep_engines.callable_retriever import CallableRetriever

MODULE = """
import asyncio
import functools

def plain(query, k): return ("plain", query, k)
def alone(q): return ("alone", q)
def named(*, question, top_k=3): return ("named", question, top_k)
def unnamed(what, many): return ("unnamed", what, many)
def single(anything): return ("single", anything)
def batched(queries): return ("batched", queries)
async def waits(query, k=2):
    await asyncio.sleep(0)
    return ("waits", query, k)
async def one_by_one(query, k=2):
    for each in ("streamed", query, k):
        await asyncio.sleep(0)
        yield each
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
    return calling.asked(calling.built(call, settings), call, 9)("why?")


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize(
    ("name", "settings", "expected"),
    [
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
    ],
)
def test_each_is_asked_by_its_own_names(name, settings, expected):
    assert ask(name, **settings) == expected


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("nosuch", {}, "cannot be imported .*nosuch"),
        ("nothing", {}, "is, or makes, a Nothing, expected a function that needs a query, or an object with one of"),
        ("always", {}, "is, or makes, a list, expected a function that needs a query"),
        ("deep", {}, "deep needs corpus, language; expected a function of a query"),
        ("deep", {"corpus": "x"}, "deep needs language; expected"),
        ("batched", {}, "batched needs queries; expected a function of a query"),
        ("retriever", {"size": 3}, r"retriever\.settings: .* is an object, expected a function or a class"),
        ("build", {"sice": 3}, r"retriever\.settings\.sice: .*build takes size, colour"),
    ],
)
def test_what_cannot_be_asked_is_named(name, settings, said):
    with pytest.raises(ConfigError, match=said):
        ask(name, **settings)


@pytest.mark.parametrize("settings", [{"api_key": "x"}, {"where": "sk-" + 40 * "aB3"}])
def test_a_setting_that_may_be_a_key_is_refused(settings):
    [name] = settings
    with pytest.raises(ConfigError, match=rf"retriever\.settings\.{name}: may be a key"):
        CallableRetriever("mine:build", settings=settings)


@pytest.mark.usefixtures("module")
def test_answers_are_awaited_in_one_loop_also_where_another_one_runs():
    """A client that keeps its connections works in the loop of its first request only."""
    retriever = calling.asked(calling.target_of("system_of_tests:loop_of"), "loop_of", 9)
    kept = retriever("why?")

    async def within() -> object:
        return retriever("why?")

    with ThreadPoolExecutor() as own:  # a browser of other tests has a loop in this thread
        assert own.submit(asyncio.run, within()).result() is kept
