"""Asks a system that runs elsewhere, query by query: with a time limit, again where that may help, and never twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ragsweep.core.errors import RagsweepError, RetrieverError, UnansweredError, first_line
from ragsweep.core.progress import advance, progress
from ragsweep.core.terminal import counted, duration, quoted
from ragsweep.core.timing import sample
from ragsweep.models.language.kept import KeptResponses
from ragsweep.retrieval.results import Answers, Result
from ragsweep.store.stage_store import Store
from ragsweep_engines.systems.reading import listing

FILE = "systems.sqlite"  # beside what the store may delete to make room
LONGEST_RETRY_AFTER_S = 600  # that a system may ask for
FIRST_WAIT_S = 0.5  # before a query is asked again; doubled each time
MAY_PASS = ("Timeout", "Connect", "RateLimit")  # in the name of an error
Ask = Callable[[str], object]
Read = Callable[[object], Sequence[Result]]
AGAIN = (408, 425, 429)  # statuses after which asking again may help, and 500 or above


class PassingError(RetrieverError):
    """A failure of a system that may pass, so that asking again may help.

    Attributes:
        wait_s: How long the system asks to wait, in seconds; None if it does not say.
    """

    def __init__(self, reason: str, wait_s: float | None = None) -> None:
        super().__init__(reason)
        self.wait_s = wait_s


class Answer(NamedTuple):
    """What came back for a query, and how long that took."""

    results: tuple[Result, ...]
    ms: float


@dataclass(frozen=True)
class Manner:
    """How a system is asked.

    Attributes:
        timeout_s: How long a query may take, in seconds.
        retries: How often a query is asked again after an error that may pass.
        at_once: How many queries are asked at the same time.
        recheck: How many queries are asked again although their answers are kept.
    """

    timeout_s: float
    retries: int
    at_once: int
    recheck: int


def kept_in(store: Store) -> KeptResponses:
    """The file in which answers are kept."""
    return KeptResponses(Path(store.path) / FILE, store.enabled, valid=_is_answer)


def answers(
    queries: Sequence[str],
    opened: Callable[[], AbstractContextManager[Ask]],
    read: Read,
    manner: Manner,
    *,
    kept: KeptResponses,
    key: Sequence[object],
    name: str,
) -> Answers:
    """The answers to all queries: kept ones, and those that come back now, each kept at once.

    Args:
        queries: The queries.
        opened: Makes what asks the system a query; called only if a query is asked.
        read: Reads the list of results that it returns.
        manner: How it is asked.
        kept: Keeps answers.
        key: What decides an answer besides the query.
        name: Of the system, for errors.

    Raises:
        UnansweredError: A query could not be answered; what came before is kept.
        RetrieverError: The system answers queries that are asked again in another way than before.
    """
    before = {query: kept.find([*key, query]) for query in dict.fromkeys(queries)}
    found = {query: _answer(response) for query, response in before.items() if response is not None}
    known, waiting = [*found], [query for query, response in before.items() if response is None]
    again = [known[row] for row in sample(len(known))[: manner.recheck].tolist()] if known else []
    if not waiting and not again:
        return _answers_of(queries, found, len(known))
    try:
        with opened() as ask, progress(f"asking {name}", len(waiting)), ThreadPoolExecutor(manner.at_once) as threads:

            def asked(query: str) -> Mapping[str, Any]:
                return _asked(query, ask, read, manner, name)

            def answer(query: str) -> Answer:
                return _answer(kept.get([*key, query], lambda: asked(query)))

            for query, answered in zip(waiting, threads.map(answer, waiting), strict=True):
                found[query] = answered
                advance(1)
            _recheck(again, found, asked, name)
    except UnansweredError as error:
        if not found or not kept.enabled:
            raise
        some = f"{len(found):,} of {counted(len(before), 'answer')}"
        raise UnansweredError(f"{error}; {some} are kept, and the next start asks for the others") from error
    return _answers_of(queries, found, len(known))


def _answers_of(queries: Sequence[str], found: Mapping[str, Answer], kept: int) -> Answers:
    times = np.array([found[query].ms for query in queries])
    return Answers([found[query].results for query in queries], times, kept=kept)


def _answer(response: Mapping[str, Any]) -> Answer:
    return Answer(from_plain(response["results"]), response["ms"])


def _asked(query: str, ask: Ask, read: Read, manner: Manner, name: str) -> Mapping[str, Any]:
    for attempt in range(manner.retries + 1):
        start = time.perf_counter()
        try:
            answer = within(manner.timeout_s, lambda: listing(ask(query)))
            ms = 1000 * (time.perf_counter() - start)
            results = read(answer)
        except Exception as error:  # it is anybody's code
            if isinstance(error, RagsweepError) and not isinstance(error, RetrieverError):
                raise
            asked_s = error.wait_s if isinstance(error, PassingError) else None
            wait_s = FIRST_WAIT_S * 2**attempt if asked_s is None else asked_s
            if attempt == manner.retries or wait_s > LONGEST_RETRY_AFTER_S or not _may_pass(error):
                raise UnansweredError(f"{name}: query {quoted(query)}{_why(error, attempt + 1, asked_s)}") from error
            time.sleep(wait_s)
        else:
            return {"results": plain(results), "ms": ms}
    raise AssertionError


def within(seconds: float, call: Callable[[], Any]) -> Any:
    """What a call returns; raises `TimeoutError` where it takes longer, and leaves it behind."""
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


def passes(status: int) -> bool:
    """Whether asking again may help after a response of this status."""
    return status in AGAIN or status >= 500


def _why(error: Exception, tries: int, asked_s: float | None) -> str:
    """What went wrong, and how often."""
    ours = isinstance(error, RetrieverError)
    reason = f": {error}" if ours else f" failed ({type(error).__name__}: {first_line(error)})"
    waiting = f", and asks to wait {duration(asked_s)}" if asked_s is not None else ""
    return f"{reason}{waiting}{f' ({tries} tries)' if tries > 1 else ''}"


def _recheck(some: Sequence[str], found: Mapping[str, Answer], asked: Callable[[str], Any], name: str) -> None:
    other = [query for query in some if asked(query)["results"] != plain(found[query].results)]
    if other:
        raise RetrieverError(
            f"{name}: answers {len(other)} of {counted(len(some), 'query')} in another way than it did before (such as "
            f"{quoted(other[0])}); set retriever.version to what it is now, and it is asked anew"
        )


def _is_answer(response: Mapping[str, Any]) -> bool:
    """Whether what was read is an answer; the file may have been written by anyone."""
    results, ms = response.get("results"), response.get("ms")
    if not isinstance(results, list) or not isinstance(ms, int | float) or not 0 <= ms < 1e9:
        return False
    return all(
        isinstance(each, list)
        and len(each) == 5
        and isinstance(each[0], list)
        and all(isinstance(text, str) for text in (*each[0], *each[1:4]))
        and (each[4] is None or isinstance(each[4], int | float))
        for each in results
    )


def plain(results: Sequence[Result]) -> list[list[Any]]:
    """Results as lists and plain values, to be kept."""
    return [[[*each.ids], each.source, each.page, each.text, each.score] for each in results]


def from_plain(kept: Sequence[Sequence[Any]]) -> tuple[Result, ...]:
    """Results from what `plain` has made of them."""
    return tuple(Result(tuple(ids), source, page, text, score) for ids, source, page, text, score in kept)
