"""What retrievers that run already have in common: how they are asked, and how their results are read and kept."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from ragsweep.core.limits import Between, Text
from ragsweep.retrieval.kinds import Method
from ragsweep.retrieval.results import Answers, ExternalRetriever, Matching
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep_engines.systems import asking
from ragsweep_engines.systems.reading import Fields, Reader


@dataclass(frozen=True, kw_only=True)
class ReadsResults(ExternalRetriever):
    """Results are measured as they come: the passages of a retriever, in its order.

    They are matched to what is judged by their id, or their source and page, or their text.

    Attributes:
        id: The field of a result that has its id, as a JMESPath; None finds the usual ones.
        source: The field that has its document.
        page: The field that has its page.
        text: The field that has its text.
        score: The field that has its score. The order in which results come decides, not the score.
        first_page: The number of the first page of a document.
        fuzzy_threshold: How alike a text and a part of a document must be to count as the same, where neither id nor
            page is known.
    """

    id: Text | None = None
    source: Text | None = None
    page: Text | None = None
    text: Text | None = None
    score: Text | None = None
    first_page: Literal[0, 1] = 1
    fuzzy_threshold: Annotated[float, Between(0, 1)] = 0.9

    def __post_init__(self) -> None:
        self._fields.check()

    @property
    def matching(self) -> Matching:
        """How its results are matched to what is judged."""
        return Matching(self.first_page, self.fuzzy_threshold)

    @property
    def _fields(self) -> Fields:
        return Fields(self.id, self.source, self.page, self.text, self.score)


ANSWERS_WITHOUT_FIELD = 20  # that is set: after so many, the others are not asked for


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
        """What came back for each query. Raises `UnansweredError` for one that fails for good."""
        manner = asking.Manner(self.timeout_s, self.retries, self.at_once, self.recheck)
        reader = Reader(self._fields, ANSWERS_WITHOUT_FIELD)
        kept, key = asking.kept_in(self.store), self._key
        found = asking.answers(queries, self._opened, reader.results, manner, kept=kept, key=key, name=self._name)
        reader.check()
        return found._replace(results=[each and each[:depth] for each in found.results])

    def has_kept(self, queries: Sequence[str]) -> bool:
        """Whether the answers to all queries are kept, and none is asked again."""
        kept, key = asking.kept_in(self.store), self._key
        return not self.recheck and all(kept.find([*key, query]) for query in queries)

    @property
    def _key(self) -> list[object]:
        """What decides an answer besides the query."""
        return [*self._asked_with, self.depth, self.version, [*self._fields]]

    @property
    @abstractmethod
    def _name(self) -> str:
        """What is asked, for errors and reports."""

    @property
    @abstractmethod
    def _asked_with(self) -> Sequence[object]:
        """What decides an answer besides the settings here and the query, as a JSON-like value."""

    @abstractmethod
    def _opened(self) -> AbstractContextManager[Callable[[str], Any]]:
        """What is called with a query, made before anything is timed, and only if a query is asked."""
