"""The retriever that runs already: a function, or an object of a framework, none of which is imported here."""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from collections.abc import AsyncIterable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache, partial
from pkgutil import resolve_name
from threading import Lock, Thread
from typing import Any

from ragsweep.core.digest import digest
from ragsweep.core.errors import ConfigError, RagsweepError, RetrieverError, first_line
from ragsweep.core.limits import Code
from ragsweep.models.language.endpoint_access import likely_key
from ragsweep.store.code import digest_of_module
from ragsweep_engines.asking import RunningRetriever

# Of LangChain's vector stores and retrievers, LlamaIndex, components of Haystack, PyTerrier and others.
METHODS = ("similarity_search_with_score", "invoke", "retrieve", "run", "search")
TAKE_A_NUMBER = ("similarity_search_with_score", "search")  # the others have a number of their own
NUMBER = ("k", "top_k", "limit", "n_results")  # parameters that take the number of results
LISTS = ("queries", "questions", "texts")  # parameters that take several queries
ANY_NUMBER = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

_building = Lock()


@dataclass(frozen=True)
class CallableRetriever(RunningRetriever):
    """Any Python function, or an object of a framework, that returns results for a query.

    Attributes:
        call: What is asked, as `module:name`, or `module:object.method` where the usual method is not meant. A class,
            or a function that needs nothing besides the settings, makes what is asked.
        settings: Arguments of the class or function.
    """

    call: Code
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if name := likely_key(self.settings):
            where = f"let {self.call} read it from the environment"
            raise ConfigError(f"retriever.settings.{name}: may be a key, and every run records it; {where}")

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the user's own code that is called."""
        return digest([digest_of_module(self.call.partition(":")[0])])

    def check(self) -> None:
        """Raise `ConfigError` if what is asked cannot be imported, or does not take the settings."""
        target = target_of(self.call)
        if self.settings and not (inspect.isclass(target) or _is_function(target)):
            raise ConfigError(
                f"retriever.settings: {self.call} is an object, expected a function or a class that takes them"
            )
        parameters = _parameters(target)
        takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
        for name in self.settings:
            if name not in parameters and not takes_any:
                takes = ", ".join(parameters) or "nothing"
                raise ConfigError(f"retriever.settings.{name}: {self.call} takes {takes}")

    @property
    def _name(self) -> str:
        return self.call

    @contextmanager
    def _opened(self) -> Iterator[Callable[[str], Any]]:
        try:
            with _building:
                target = _made(self.call, json.dumps(dict(self.settings), sort_keys=True))
            ask = query_function(target, self.call, self.depth)
        except RagsweepError:
            raise
        except (Exception, SystemExit) as error:  # it is anybody's code
            reason = f"{type(error).__name__}: {first_line(error)}"
            raise RetrieverError(f"{self.call}: cannot be made ({reason})") from error
        yield ask


@lru_cache(maxsize=2)
def _made(call: str, settings: str) -> Any:
    """The function or object to ask; the last ones are kept for the jobs of a sweep. The settings are JSON."""
    return make_target(call, json.loads(settings))


def target_of(call: str) -> Any:
    """Import what a name like `my_app:search` stands for. Raises `ConfigError` if it cannot be imported."""
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


def make_target(call: str, settings: Mapping[str, Any]) -> Any:
    """The function or object to ask: the target, or what it makes.

    A class makes what is asked, and so does a function that needs no more than the settings give.
    """
    target = target_of(call)
    if inspect.isclass(target):
        return target(**settings)
    if not _is_function(target):
        return target
    is_method = inspect.ismethod(target) and not inspect.isclass(target.__self__)
    if is_method or not {*_needed(target)} <= settings.keys():
        return partial(target, **settings) if settings else target
    return target(**settings)


def query_function(target: Any, call: str, depth: int) -> Callable[[str], Any]:
    """The function that takes a query and returns its results.

    Args:
        target: The function or object.
        call: Its name, for errors.
        depth: How many results a function is asked for, if it takes a number.

    Raises:
        ConfigError: It is neither a function of a query nor an object with one of the usual methods.
    """
    name = next((name for name in METHODS if callable(getattr(target, name, None))), "")
    if _is_function(target) or (not name and callable(target)):
        return _query_alone(target, depth, call, True)
    if not name:
        expected = f"a function that needs a query, or an object with one of the methods {', '.join(METHODS)}"
        raise ConfigError(f"retriever.call: {call} is, or makes, a {type(target).__name__}, expected {expected}")
    return _query_alone(getattr(target, name), depth, f"{call}.{name}", name in TAKE_A_NUMBER)


def _query_alone(function: Callable[..., Any], depth: int, how: str, takes_number: bool) -> Callable[[str], Any]:
    """The function of a query alone: its first parameter is the query, and one has the name of a number, or is second.

    Args:
        function: The function.
        depth: How many results it is asked for.
        how: Its name, for errors.
        takes_number: Whether it is given the number where it has a default of its own.
    """
    parameters, needed = _parameters(function), _needed(function)
    query = next(iter(needed or parameters), None)
    number = next((name for name in NUMBER if name in (parameters if takes_number else needed)), None)
    if number is None and takes_number and len(needed) > 1:
        number = needed[1]
    further = [name for name in needed if name not in (query, number)]
    if further or query in LISTS:
        expected = "expected a function of a query, and perhaps of a number: write one that calls it"
        raise ConfigError(f"retriever.call: {how} needs {', '.join(further or LISTS[:1])}; {expected}")

    given = {number: depth} if number else {}
    if query is not None and parameters[query].kind is inspect.Parameter.KEYWORD_ONLY:
        return lambda text: _awaited(function(**{query: text}, **given))
    return lambda text: _awaited(function(text, **given))


def _is_function(target: object) -> bool:
    return inspect.isroutine(target) or isinstance(target, partial)


def _parameters(function: Any) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):  # it is written in C, or nothing that is called
        return {}


def _needed(function: Any) -> list[str]:
    """The parameters of a function that have no default."""
    parameters = _parameters(function).values()
    return [one.name for one in parameters if one.default is one.empty and one.kind not in ANY_NUMBER]


def _awaited(answer: Any) -> Any:
    """The returned value, awaited if it can be; results that come one by one become a list."""
    one_by_one = isinstance(answer, AsyncIterable)
    if not one_by_one and not inspect.isawaitable(answer):
        return answer

    async def wait() -> Any:
        return [one async for one in answer] if one_by_one else await answer

    with _building:
        loop = _loop()
    return asyncio.run_coroutine_threadsafe(wait(), loop).result()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """One loop for all answers, in a thread of its own: a client is bound to the loop that it was first used in."""
    loop = asyncio.new_event_loop()
    Thread(target=loop.run_forever, name="ragsweep-async", daemon=True).start()
    return loop
