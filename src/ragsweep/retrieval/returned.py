"""What a system has returned, as a file: measured again without the system."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np

from ragsweep.core.digest import digest_file
from ragsweep.core.errors import RetrieverError, first_line
from ragsweep.core.json_records import from_record
from ragsweep.core.limits import Between, Text
from ragsweep.core.parsing import MalformedError, read_text
from ragsweep.core.terminal import quoted
from ragsweep.retrieval.kinds import Method
from ragsweep.retrieval.results import Answers, ExternalRetriever, MatchBy, Matching, Result

FILE = "returned.jsonl"  # of the results of a run
LARGEST_MB = 1000


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
    timed = len(answers.latency_ms) == len(queries)
    for row, (query, results) in enumerate(zip(queries, answers.results, strict=True)):
        ms = float(answers.latency_ms[row]) if timed else None
        plain = None if results is None else [_plain(each) for each in results]
        found = {"query": query, "results": plain, "ms": ms}
        yield json.dumps(found, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(result: Result) -> dict[str, object]:
    known = result.score is not None and isfinite(result.score)
    return {**result._asdict(), "score": result.score if known else None}


@dataclass(frozen=True)
class ReturnedRetriever(ExternalRetriever):
    """What a system has returned before, from a file (`results/returned.jsonl` of its run). Nothing is asked.

    Attributes:
        path: The file, a JSON object a line.
        name: Name of the system, for tables and charts; None takes that of the file.
        first_page: The number of the first page of a document.
        fuzzy_threshold: How alike a text and a part of a document must be to count as the same.
        match_by: What of a result is compared with what is judged; None takes the first of id, page (with source) and
            text by which any result is known.
    """

    without_effect: ClassVar[tuple[str, ...]] = ("path", "name")  # the fingerprint stands for the content

    path: Text
    name: Text | None = None
    first_page: Literal[0, 1] = 1
    fuzzy_threshold: Annotated[float, Between(0, 1)] = 0.9
    match_by: MatchBy | None = None

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

    @property
    def matching(self) -> Matching:
        """How its results are matched to what is judged."""
        return Matching(self.first_page, self.fuzzy_threshold, self.match_by)

    def check(self) -> None:
        """Raise `RetrieverError` if the file cannot be read."""
        self._lines  # noqa: B018

    def answers(self, queries: Sequence[str], depth: int) -> Answers:
        """What the file has for each query. Raises `RetrieverError` for a query that it lacks."""
        found = []
        for query in queries:
            if query not in self._lines:
                raise RetrieverError(f"{self.path}: has no line of the query {quoted(query)}")
            found.append(self._lines[query])
        times = [each.ms for each in found if each.ms is not None]
        asked = [each for each in found if each.results is not None]
        known = np.array(times if len(times) == len(asked) else [])
        return Answers([each.results for each in found], known)

    @cached_property
    def _lines(self) -> Mapping[str, Line]:
        found: dict[str, Line] = {}
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
            found[read.query] = read
        return found
