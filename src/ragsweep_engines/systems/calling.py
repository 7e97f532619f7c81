"""Finds out how to ask a Python function or an object of a framework, without importing any framework."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import AsyncIterable, Callable, Mapping, Set
from functools import cache, partial
from pkgutil import resolve_name
from threading import Lock, Thread
from typing import Any, NamedTuple

from ragsweep.core.errors import ConfigError, first_line

# Of LangChain's vector stores and retrievers, LlamaIndex, Haystack, PyTerrier and others, the most telling first.
METHODS = ("similarity_search_with_score", "retrieve", "invoke", "run", "query", "search")
TAKE_A_NUMBER = ("similarity_search_with_score", "query", "search")  # the others have a number of their own
QUERIES = ("queries", "questions", "texts", "query_texts")  # parameters that take a list
QUERY = ("query", "question", "text", "q", "query_str", "query_text", "input", "search_query", "str_or_query_bundle")
NUMBER = ("k", "top_k", "n_results", "limit", "num_results", "n", "size", "depth", "max_results")

ANY_NUMBER = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

_starting = Lock()


class Asked(NamedTuple):
    """How a retriever is asked.

    Attributes:
        ask: Takes a query and returns what came back for it.
        how: In words, for errors: `my_app:search`, `my_app:retriever.invoke`.
    """

    ask: Callable[[str], Any]
    how: str


def target_of(call: str) -> Any:
    """What a name like `my_app:search` stands for.

    Raises:
        ConfigError: It cannot be imported.
    """
    module, _, name = call.partition(":")
    if not module or not name:
        raise ConfigError(f"retriever.call: found {call!r}, expected module:name, such as my_app:search")
    try:
        return resolve_name(call)
    except (Exception, SystemExit) as error:  # importing a user's module can raise anything
        reason = f"{type(error).__name__}: {first_line(error)}"
        no_module = isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(f"{error.name}.")
        expected = "; expected module:name" if no_module or module in sys.modules else ""  # else the module raised it
        raise ConfigError(f"retriever.call: {call} cannot be imported ({reason}){expected}") from error


def check_settings(call: str, settings: Mapping[str, Any]) -> None:
    """Raise `ConfigError` if a target cannot be imported, or does not take these settings."""
    target = target_of(call)
    if not settings:
        return
    if not callable(target) or not _is_made_or_called(target):
        raise ConfigError(f"retriever.settings: {call} is an object, expected a function or a class that takes them")
    parameters = _parameters(target)
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    for name in settings:
        if name not in parameters and not takes_any:
            raise ConfigError(f"retriever.settings.{name}: {call} takes {', '.join(parameters) or 'nothing'}")


def built(call: str, settings: Mapping[str, Any]) -> Any:
    """The function or object to ask.

    That is the target itself if it is an object, a method of one, or a function that needs more than the settings give:
    the query. A class, and any other function, makes what is asked.
    """
    target = target_of(call)
    if not _is_made_or_called(target) or not callable(target):
        return target
    of_object = inspect.ismethod(target) and not inspect.isclass(target.__self__)
    needs_more = not inspect.isclass(target) and not _needed(target) <= settings.keys()
    if of_object or needs_more:
        return partial(target, **settings) if settings else target
    return target(**settings)


def asked(thing: Any, call: str, depth: int) -> Asked:
    """How to ask a function or an object.

    Args:
        thing: The function or object.
        call: Its name, for errors.
        depth: How many results a function is asked for, if it takes a number.

    Raises:
        ConfigError: It is neither a function nor an object with one of the usual methods.
    """
    name = next((each for each in METHODS if callable(getattr(thing, each, None))), None)
    if _is_function(thing) or (name is None and callable(thing)):
        return Asked(_bound(thing, depth, call, True), call)
    if name is None:
        expected = f"a function that needs a query, or an object with one of the methods {', '.join(METHODS)}"
        raise ConfigError(f"retriever.call: {call} is, or makes, a {type(thing).__name__}, expected {expected}")
    function, how = getattr(thing, name), f"{call}.{name}"
    if name == "run" and "data" in _parameters(function):
        return Asked(_of_pipeline(thing), how)
    return Asked(_bound(function, depth, how, name in TAKE_A_NUMBER), how)


def _is_function(thing: object) -> bool:
    return inspect.isroutine(thing) or isinstance(thing, partial)


def _is_made_or_called(target: object) -> bool:
    """Whether a target is a class or a function, and not an object that is there already."""
    return inspect.isclass(target) or _is_function(target)


def _parameters(function: Any) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # it is written in C
        return {}


def _needed(function: Any) -> Set[str]:
    """The parameters of a function that have no default."""
    parameters = _parameters(function).values()
    return {each.name for each in parameters if each.default is each.empty and each.kind not in ANY_NUMBER}


def _bound(function: Callable[..., Any], depth: int, how: str, takes_number: bool) -> Callable[[str], Any]:
    """The function of a query alone, whatever its other parameters are called.

    Args:
        function: The function.
        depth: How many results it is asked for.
        how: Its name, for errors.
        takes_number: Whether it is given the number, too, where it has a default of its own.

    Raises:
        ConfigError: It needs more than a query and a number.
    """
    parameters, needed = _parameters(function), _needed(function)
    query = next((name for name in (*QUERIES, *QUERY) if name in (needed or parameters)), None)
    number = next((name for name in NUMBER if name in (parameters if takes_number else needed)), None)
    more = {number: depth} if number else {}
    further = [name for name in parameters if name in needed - {query, number}]
    in_order = [name for name in further if parameters[name].kind in POSITIONAL]
    if query is None and in_order:
        further.remove(in_order[0])
    if query is None and takes_number and not number and len(in_order) == 2:
        further.remove(in_order[1])
        return lambda text: _awaited(function(text, depth))
    if further:
        expected = "expected a function of a query, and perhaps of a number: write one that calls it"
        raise ConfigError(f"retriever.call: {how} also needs {', '.join(further)}; {expected}")
    if query in QUERIES:
        return lambda text: _of_only_query(_awaited(function(**{query: [text]}, **more)))
    if query is not None and parameters[query].kind is not inspect.Parameter.POSITIONAL_ONLY:
        return lambda text: _awaited(function(**{query: text}, **more))
    return lambda text: _awaited(function(text, **more))


def _of_only_query(answer: Any) -> Any:
    """The results of the only query: the only list of results in a list, or what was returned."""
    is_one = isinstance(answer, list | tuple) and len(answer) == 1 and isinstance(answer[0], list)
    return answer[0] if is_one else answer


def _of_pipeline(pipeline: Any) -> Callable[[str], Any]:
    """A pipeline of Haystack, whose components take the query."""
    inputs: Mapping[str, Mapping[str, Any]] = pipeline.inputs()
    taking = {name: [each for each in of_component if each in QUERY] for name, of_component in inputs.items()}
    return lambda query: _awaited(
        pipeline.run({name: dict.fromkeys(names, query) for name, names in taking.items() if names})
    )


def _awaited(answer: Any) -> Any:
    """What was returned, after it was awaited if it can be; of results that come one by one, a list."""
    one_by_one = isinstance(answer, AsyncIterable)
    if not one_by_one and not inspect.isawaitable(answer):
        return answer

    async def wait() -> Any:
        return [each async for each in answer] if one_by_one else await answer

    return asyncio.run_coroutine_threadsafe(wait(), _loop()).result()


def _loop() -> asyncio.AbstractEventLoop:
    """One loop for all answers, in a thread of its own: a client is bound to the loop that it was first used in."""
    with _starting:
        return _started_loop()


@cache
def _started_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name="ragsweep-async", daemon=True).start()
    return loop
