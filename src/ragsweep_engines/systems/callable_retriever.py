"""The retriever that runs already: a function, or an object of a framework."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any

from ragsweep.core.digest import digest
from ragsweep.core.errors import ConfigError, RagsweepError, RetrieverError, first_line
from ragsweep.core.limits import Code
from ragsweep.models.language.likely_keys import likely_key
from ragsweep.store.code import digest_of_module
from ragsweep_engines.systems import calling
from ragsweep_engines.systems.running_retriever import RunningRetriever

MOST_BUILT = 2  # systems that a process keeps
_built: dict[str, Any] = {}
_lock = Lock()


@dataclass(frozen=True)
class CallableRetriever(RunningRetriever):
    """Any Python function, or an object of a framework, that returns results for a query.

    It may be a function of a query and a number, a retriever or a vector store of LangChain, a retriever or a query
    engine of LlamaIndex, a component or a pipeline of Haystack, a transformer of PyTerrier, or a collection of Chroma.

    Attributes:
        call: What is asked, as `module:name`, or `module:object.method` where the usual method is not meant. A class,
            or a function that needs no query besides the settings, makes what is asked.
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
        """Digest of the code that is asked, as far as it is in modules of the user."""
        module = self.call.partition(":")[0]
        return digest([digest_of_module(module)])

    def check(self) -> None:
        """Raise `ConfigError` if what is asked cannot be imported, or does not take the settings."""
        calling.check_settings(self.call, self.settings)

    @property
    def _name(self) -> str:
        return self.call

    @property
    def _asked_with(self) -> Sequence[object]:
        return ["callable", self.fingerprint, self.call, self._built_with]

    @contextmanager
    def _opened(self) -> Iterator[Callable[[str], Any]]:
        try:
            ask = self._asked.ask
        except RagsweepError:
            raise
        except (Exception, SystemExit) as error:  # it is anybody's code
            reason = f"{type(error).__name__}: {first_line(error)}"
            raise RetrieverError(f"{self.call}: cannot be made ({reason})") from error
        yield ask

    @cached_property
    def _asked(self) -> calling.Asked:
        """How the function or object is asked, which is built once for equal settings."""
        key = digest([self.call, self._built_with])
        with _lock:
            if key not in _built:
                while len(_built) >= MOST_BUILT:
                    _built.pop(next(iter(_built)))
                _built[key] = calling.built(self.call, self.settings)
            return calling.asked(_built[key], self.call, self.depth)

    @property
    def _built_with(self) -> list[list[Any]]:
        return [[name, value] for name, value in sorted(self.settings.items())]
