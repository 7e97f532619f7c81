"""Retrievers that run already: asked query by query, again where that may help, and never twice."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from ragsweep.core.errors import RagsweepError, RetrieverError, UnansweredError, first_line
from ragsweep.core.limits import Between, Text
from ragsweep.core.progress import advance, progress
from ragsweep.core.terminal import counted, duration, quoted, some_of
from ragsweep.core.timing import sample
from ragsweep.models.language.kept_responses import KeptResponses
from ragsweep.retrieval.kinds import Method
from ragsweep.retrieval.results import Answers, MatchedRetriever, Result
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep_engines.result_reading import Fields, Read, listing, results_of

FILE = "systems.sqlite"  # beside what the store may delete to make room
FIRST_WAIT_S = 0.5  # before a query is asked again; doubled each time
LONGEST_WAIT_S = 600  # that a system may ask for
MAY_PASS = ("Timeout", "Connect", "RateLimit")  # in the name of an error
AGAIN = (408, 425, 429)  # statuses after which asking again may help, and 500 or above
ANSWERS_WITHOUT_FIELD = 20  # that is set: after so many, the others are not asked for


class KeptAnswer(NamedTuple):
    """A kept answer: its results, the places of their fields, and its time in milliseconds."""

    results: tuple[Result, ...]
    read: Mapping[str, Sequence[str]]
    ms: Annotated[float, Between(0, 1e9)]


class PassingError(RetrieverError):
    """A failure of a system that may pass, so that asking again may help.

    Attributes:
        wait_s: How long the system asks to wait, in seconds; None if it does not say.
    """

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


@dataclass(frozen=True, kw_only=True)
class ReadsResults(MatchedRetriever):
    """Results are measured as they come: the passages of a retriever, in its order.

    Attributes:
        id: The field of a result that has its id, as a JMESPath; None takes the first of the documented names.
        source: The field that has its document.
        page: The field that has its page.
        text: The field that has its text.
        score: The field that has its score. The order in which results come decides, not the score.
    """

    id: Text | None = None
    source: Text | None = None
    page: Text | None = None
    text: Text | None = None
    score: Text | None = None

    def __post_init__(self) -> None:
        self._fields.check()

    @property
    def _fields(self) -> Fields:
        return Fields(self.id, self.source, self.page, self.text, self.score)

    def _notice_of_fields(self, read: Sequence[Mapping[str, Sequence[str]]]) -> str:
        """A sentence that says where the fields of results were found; empty if there were none."""
        places = {name: dict.fromkeys(path for one in read for path in one.get(name, ())) for name in Fields._fields}
        paths_of = ", ".join(f"{name}={' or '.join(paths)}" for name, paths in places.items() if paths)
        return f"Results read by {paths_of}." if paths_of else ""

    def _check_fields(self, read: Sequence[Read]) -> None:
        """Raise `RetrieverError` if no result of any query has a field that is set."""
        read = [one for one in read if one.results]
        for name, path in self._fields._asdict().items():
            if path and read and not any(name in one.fields for one in read):
                names = some_of(dict.fromkeys(field for one in read for field in one.names)) or "none"
                raise RetrieverError(f"retriever.{name}: no result has {path!r} (there is {names})")


@dataclass(frozen=True, kw_only=True)
class RunningRetriever(ReadsResults):
    """A retriever that runs already, and returns results for a query.

    Attributes:
        store: Keeps the answers, so that no query is asked twice.
        depth: How many results it is asked for, if it takes a number.
        version: Of the system, in your words. Another one asks all queries anew.
        recheck: How many queries are asked again although their answers are kept, to notice that the system changed.
        timeout_s: How long a query may take, in seconds.
        retries: How often a query is asked again after an error that may pass.
        at_once: How many queries are asked at the same time; with more than one, latency is that under this load.
    """

    without_effect: ClassVar[tuple[str, ...]] = ("recheck", "timeout_s", "retries", "at_once")
    at_least: ClassVar[Mapping[str, str]] = {"depth": "k"}

    store: Store = NO_STORE
    depth: Annotated[int, Between(1, 1000)] = 20
    version: Text | None = None
    recheck: Annotated[int, Between(0)] = 0
    timeout_s: Annotated[float, Between(0.001, 86400)] = 60
    retries: Annotated[int, Between(0, 10)] = 2
    at_once: Annotated[int, Between(1, 64)] = 1

    @property
    def method(self) -> Method:
        """For reports: what is asked."""
        return Method(self._name)

    def answers(self, queries: Sequence[str], depth: int) -> Answers:
        """The results of each query. Raises `UnansweredError` for one that fails for good."""
        kept_of: dict[str, KeptAnswer] = {}
        for query in dict.fromkeys(queries):
            if (answer := self._kept.find([*self._key, query])) is not None:
                kept_of[query] = answer
        kept_before, waiting = [*kept_of], [query for query in dict.fromkeys(queries) if query not in kept_of]
        again = [kept_before[row] for row in sample(len(kept_before))[: self.recheck].tolist()] if kept_before else []
        if waiting or again:
            self._ask(waiting, again, kept_of)
        kept = [kept_of[query] for query in queries]
        sentence = self._notice_of_fields([one.read for one in kept])
        times = np.array([one.ms for one in kept])
        return Answers(
            [one.results[:depth] for one in kept], times, [sentence] if sentence else [], kept=len(kept_before)
        )

    def has_kept(self, queries: Sequence[str]) -> bool:
        """Whether the answers to all queries are kept, and none is asked again."""
        return not self.recheck and all(self._kept.find([*self._key, query]) for query in queries)

    def _ask(self, waiting: Sequence[str], again: Sequence[str], kept_of: dict[str, KeptAnswer]) -> None:
        """Ask queries, each kept at once, and some that are kept again."""
        read: list[Read] = []
        try:
            with (
                self._opened() as ask,
                progress(f"asking {self._name}", len(waiting)),
                ThreadPoolExecutor(self.at_once) as threads,
            ):

                def asked(query: str) -> KeptAnswer:
                    answer, ms = self._asked(query, ask)
                    read.append(answer)
                    return KeptAnswer(answer.results, answer.fields, ms)

                def keep(query: str) -> KeptAnswer:
                    return self._kept.get([*self._key, query], lambda: asked(query))

                for query, answer in zip(waiting, threads.map(keep, waiting), strict=True):
                    kept_of[query] = answer
                    advance(1)
                    if len(kept_of) == ANSWERS_WITHOUT_FIELD:
                        self._check_fields(read)
                self._check_fields(read)
                other = [query for query in again if asked(query).results != kept_of[query].results]
        except UnansweredError as error:
            if not kept_of or not self._kept.enabled:
                raise
            share = f"{len(kept_of):,} of {counted(len(kept_of) + len({*waiting} - {*kept_of}), 'answer')}"
            raise UnansweredError(f"{error}; {share} are kept, and the next start asks for the others") from error
        if other:
            raise RetrieverError(
                f"{self._name}: answers {len(other)} of {counted(len(again), 'query')} in another way than it did "
                f"before (such as {quoted(other[0])}); set retriever.version to what it is now, and it is asked anew"
            )

    def _asked(self, query: str, ask: Callable[[str], object]) -> tuple[Read, float]:
        """Ask a query: its results, and the time in milliseconds."""
        for attempt in range(self.retries + 1):
            start = time.perf_counter()
            try:
                answer = call_within(self.timeout_s, lambda: listing(ask(query)))
                ms = 1000 * (time.perf_counter() - start)
                return results_of(answer, self._fields), ms
            except Exception as error:  # it is anybody's code
                if isinstance(error, RagsweepError) and not isinstance(error, RetrieverError):
                    raise
                asked_s = error.wait_s if isinstance(error, PassingError) else None
                wait_s = FIRST_WAIT_S * 2**attempt if asked_s is None else asked_s
                if attempt == self.retries or wait_s > LONGEST_WAIT_S or not _may_pass(error):
                    why = _reason_of(error, attempt + 1, asked_s)
                    raise UnansweredError(f"{self._name}: query {quoted(query)}{why}") from error
                time.sleep(wait_s)
        raise AssertionError

    @property
    def _kept(self) -> KeptResponses:
        """The file in which answers are kept."""
        return KeptResponses.of(self.store, KeptAnswer, FILE)

    @property
    def _key(self) -> list[object]:
        """Everything that determines an answer besides the query."""
        return [*self._asked_with, self.depth, self.version, [*self._fields]]

    @property
    @abstractmethod
    def _name(self) -> str:
        """The name of the system, for errors and reports."""

    @property
    def _asked_with(self) -> Sequence[object]:
        """Further settings that determine an answer, as JSON-like values."""
        general = {field.name for field in fields(RunningRetriever)}
        names = [field.name for field in fields(self) if field.name not in {*general, *self.without_effect, "encoder"}]
        own = {name: getattr(self, name) for name in names}
        plain = {name: dict(value) if isinstance(value, Mapping) else value for name, value in own.items()}
        return [type(self).__name__, self.fingerprint, plain]

    @abstractmethod
    def _opened(self) -> AbstractContextManager[Callable[[str], Any]]:
        """The function that is called with a query; made before anything is timed, and only if a query is asked."""


def call_within(seconds: float, call: Callable[[], Any]) -> Any:
    """Call a function in a thread; raises `TimeoutError` if it takes longer, and abandons it."""
    outcome: list[Any] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(call())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        if isinstance(errors[0], SystemExit):
            raise RetrieverError(f"called sys.exit({errors[0].code})")
        raise errors[0]
    if not outcome:
        raise TimeoutError(f"no answer after {seconds:g} s (retriever.timeout_s)")
    return outcome[0]


def passes(status: int) -> bool:
    """Whether asking again may help after a response of this status."""
    return status in AGAIN or status >= 500


def _may_pass(error: Exception) -> bool:
    """Whether an error says that asking again may help: by its type, or by the status of a response."""
    response = vars(error).get("response")
    own = vars(error).get("status_code", vars(error).get("code"))
    status = own if isinstance(own, int) else vars(response).get("status_code") if response is not None else None
    if isinstance(status, int):
        return passes(status)
    named = type(error).__name__  # libraries have errors of their own, such as requests.ReadTimeout
    may_pass = isinstance(error, TimeoutError | ConnectionError | PassingError)
    return may_pass or any(word in named for word in MAY_PASS)


def _reason_of(error: Exception, tries: int, asked_s: float | None) -> str:
    """The error and the number of tries, for a message."""
    ours = isinstance(error, RetrieverError)
    reason = f": {error}" if ours else f" failed ({type(error).__name__}: {first_line(error)})"
    waiting = f", and asks to wait {duration(asked_s)}" if asked_s is not None else ""
    return f"{reason}{waiting}{f' ({tries} tries)' if tries > 1 else ''}"
