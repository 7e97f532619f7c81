"""What a retriever returns that runs elsewhere and has passages of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple

from ragsweep.core.arrays import Milliseconds
from ragsweep.retrieval.kinds import Retriever

MatchBy = Literal["id", "page", "text"]


class Result(NamedTuple):
    """What such a retriever says of a passage that it has retrieved; what it does not say is empty.

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
    """What came back for some queries.

    Attributes:
        results: Of each query, best first; None for a query that was never asked, where only a record is read.
        latency_ms: What a query costs on its own, for some or all of them; empty if not known.
        notices: What is unusual about what came back, as sentences.
        others: Other queries that were asked.
        kept: How many of them came back at an earlier time, and were kept.
    """

    results: Sequence[Sequence[Result] | None]
    latency_ms: Milliseconds
    notices: Sequence[str] = ()
    others: Sequence[str] = ()
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
        """Whether the answers to all queries are kept, and nothing is asked: its system can be gone then."""
        return False
