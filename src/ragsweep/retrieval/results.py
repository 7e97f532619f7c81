"""What a retriever returns that runs elsewhere and has passages of its own, also from a file, without the system."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite, isnan, nan
from pathlib import Path
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np

from ragsweep.core.arrays import Milliseconds
from ragsweep.core.digest import digest_file
from ragsweep.core.errors import RetrieverError, first_line
from ragsweep.core.json_records import from_record
from ragsweep.core.limits import Between, Text
from ragsweep.core.parsing import MalformedError, read_text
from ragsweep.core.terminal import quoted
from ragsweep.retrieval.kinds import Method, Retriever

FILE = "returned.jsonl"  # of the results of a run
LARGEST_MB = 1000
MatchBy = Literal["id", "page", "text"]


class Result(NamedTuple):
    """A passage as an external retriever describes it; a field that it does not give is empty.

    Attributes:
        ids: The ids that it gives the passage, or its document.
        source: The document, as a name or a path.
        page: The page, as a number from the first page, or as a label.
        text: What the passage says.
        score: How well it fits the query; higher is better. None if it does not say, or no number.
    """

    ids: tuple[str, ...] = ()
    source: str = ""
    page: str = ""
    text: str = ""
    score: float | None = None


class Answers(NamedTuple):
    """The results of an external retriever for some queries.

    Attributes:
        results: Of each query, best first; None for a query that was never asked, where only a record is read.
        latency_ms: What each query costs on its own, shape [queries]; NaN for one of which that is not known, empty if
            it is known of none.
        notices: What is unusual about what came back, as sentences.
        other_queries: Other queries that were asked.
        kept: How many of them came back at an earlier time, and were kept.
    """

    results: Sequence[Sequence[Result] | None]
    latency_ms: Milliseconds
    notices: Sequence[str] = ()
    other_queries: Sequence[str] = ()
    kept: int = 0


class Matching(NamedTuple):
    """How results are matched to what is judged.

    Attributes:
        first_page: The number of the first page, 0 or 1.
        fuzzy_threshold: How alike a text and a part of a document must be to count as the same, from 0 to 1.
        by: What of a result is compared; None takes the first of them by which any result is known.
    """

    first_page: int = 1
    fuzzy_threshold: float = 0.9
    by: MatchBy | None = None


class ExternalRetriever(Retriever, ABC):
    """Returns passages of its own instead of ranking those that a chunker has cut; let your own inherit from it."""

    brings_passages: ClassVar[bool] = True
    cuts: ClassVar[Sequence[str]] = ()  # settings that remove results; without them, each query would have one

    @property
    def matching(self) -> Matching:
        """How its results are matched to what is judged."""
        return Matching()

    @abstractmethod
    def answers(self, queries: Sequence[str], depth: int) -> Answers:
        """What it returns for the queries: at most `depth` results each."""

    def check(self) -> None:
        """Raise an error if it cannot be used, before anything is recorded."""

    def has_kept(self, queries: Sequence[str]) -> bool:
        """Whether the answers to all queries are stored, so that the system itself is not needed."""
        return False


@dataclass(frozen=True, kw_only=True)
class MatchedRetriever(ExternalRetriever):
    """Base of systems whose results are matched by settings.

    Attributes:
        match_by: What of a result is compared with what is judged; None takes the first of id, page (with source) and
            text by which any result is known.
        first_page: The number of the first page of a document.
        fuzzy_threshold: How alike a text and a part of a document must be to count as the same.
    """

    match_by: MatchBy | None = None
    first_page: Literal[0, 1] = 1
    fuzzy_threshold: Annotated[float, Between(0, 1)] = 0.9

    @property
    def matching(self) -> Matching:
        """How its results are matched to what is judged."""
        return Matching(self.first_page, self.fuzzy_threshold, self.match_by)


@dataclass(frozen=True)
class Line:
    """What came back for a query: a line of the file, as a JSON object.

    Attributes:
        query: The text that was searched for.
        results: Each with the fields of `Result`, best first; null if the query was never asked.
        ms: How long it took, in milliseconds; None if that is not known.
    """

    query: str
    results: tuple[Result, ...] | None
    ms: float | None = None


def lines_of(queries: Sequence[str], answers: Answers) -> Iterator[str]:
    """The lines of the file."""
    times = answers.latency_ms.tolist() or [nan] * len(queries)
    for query, results, ms in zip(queries, answers.results, times, strict=True):
        plain = None if results is None else [_plain(result) for result in results]
        line = {"query": query, "results": plain, "ms": None if isnan(ms) else ms}
        yield json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(result: Result) -> dict[str, object]:
    has_score = result.score is not None and isfinite(result.score)
    return {**result._asdict(), "score": result.score if has_score else None}


@dataclass(frozen=True)
class ReturnedRetriever(MatchedRetriever):
    """What a system has returned before, from a file (`results/returned.jsonl` of its run). Nothing is asked.

    Attributes:
        path: The file, a JSON object a line.
        name: Name of the system, for tables and charts; None takes that of the file.
    """

    without_effect: ClassVar[tuple[str, ...]] = ("path", "name")  # the fingerprint stands for the content

    path: Text
    name: Text | None = None

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the file."""
        try:
            return digest_file(Path(self.path))
        except OSError as error:
            raise RetrieverError(f"retriever.path: {self.path} cannot be read ({error.strerror})") from error

    @property
    def method(self) -> Method:
        """For reports: the name of the system."""
        return Method(self.name or Path(self.path).name)

    def check(self) -> None:
        """Raise `RetrieverError` if the file cannot be read."""
        self._lines  # noqa: B018

    def answers(self, queries: Sequence[str], depth: int) -> Answers:
        """What the file has for each query. Raises `RetrieverError` for a query that it lacks."""
        lines = []
        for query in queries:
            if query not in self._lines:
                raise RetrieverError(f"{self.path}: has no line of the query {quoted(query)}")
            lines.append(self._lines[query])
        return Answers([line.results for line in lines], np.array([line.ms for line in lines], np.float64))

    @cached_property
    def _lines(self) -> Mapping[str, Line]:
        by_query: dict[str, Line] = {}
        try:
            text = read_text(Path(self.path), LARGEST_MB)
        except OSError as error:
            raise RetrieverError(f"retriever.path: {self.path} cannot be read ({first_line(error)})") from error
        except MalformedError as error:
            raise RetrieverError(f"{self.path}: {error}") from error
        for number, line in enumerate(filter(str.strip, text.split("\n")), start=1):
            try:
                read = from_record(Line, line)
            except MalformedError as error:
                raise RetrieverError(f"{self.path}, line {number}: {error}") from error
            by_query[read.query] = read
        return by_query
