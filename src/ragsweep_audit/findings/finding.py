"""A problem of a dataset, what looks for it, and all that an audit says of a dataset."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ragsweep.core.terminal import named, quoted
from ragsweep.datasets import Dataset, DatasetFormat, Query
from ragsweep.datasets.model.dataset import Passage
from ragsweep.retrieval import Encoder, Retriever
from ragsweep.store.component import Component
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep.tasks.ranking.coverage import relevant
from ragsweep.tasks.search import components_within
from ragsweep.text.tokens import Tokenizer
from ragsweep_audit.findings.unit_ranks import ENGLISH, UnitRanks, sampled_part, unit_ranks

NOTHING_WRONG = "The audit found nothing wrong with the dataset."


@dataclass(frozen=True)
class Finding:
    """A kind of problem that a dataset has.

    Attributes:
        kind: Its name in settings and files, such as `shifted_pages`.
        problem: What was found, in one sentence with the numbers.
        cost: What it does to the measured numbers, in one sentence.
        advice: What to do about it, in one sentence.
        count: How many things have the problem.
        out_of: How many things were checked.
        examples: Names of the first of them.
        details: Further JSON-compatible values for programs.
    """

    kind: str
    problem: str
    cost: str
    advice: str
    count: int
    out_of: int
    examples: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Problem, cost and advice, for a report."""
        return " ".join(filter(None, (self.problem, self.cost, self.advice)))


@dataclass(frozen=True)
class Audit:
    """What an audit says of a dataset.

    Attributes:
        findings: The problems that it has.
        not_checked: What was not looked for, or only in a part of the dataset, one sentence each.
        undetectable: What was looked for and would be missed in this dataset, one sentence each.
        groups: What the groups of queries cost, if there are any, one sentence.
        coverage: How many relevant units are `expected`, `present` and `missing`.
    """

    findings: tuple[Finding, ...] = ()
    not_checked: tuple[str, ...] = ()
    undetectable: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    coverage: Mapping[str, int] = field(default_factory=dict)

    @property
    def sentences(self) -> list[str]:
        """The findings for a report, or that there are none as far as was checked."""
        clean = " ".join((NOTHING_WRONG, *self.not_checked, *self.undetectable))
        return [*([finding.text for finding in self.findings] or [clean]), *self.groups]


def page_name(dataset: Dataset, passage: Passage) -> str:
    """What a passage is called in a finding: its first page, or its document if documents are judged."""
    return passage.source if dataset.unit == "document" else f"{passage.source}#{passage.page_number}"


LEVEL = 0.01


@dataclass(frozen=True)
class Audited:
    """What is audited.

    Attributes:
        items: The dataset.
        relevance_level: The lowest grade that counts as relevant.
        level: The probability that a finding of a statistical test is a false alarm.
        store: Keeps what is found.
        retriever: Its encoders' windows are compared with the passages; None if nothing is retrieved.
        ranker: The retriever with the stages around it, whose encoders must know the language, too.
        dataset: Has read the documents.
    """

    items: Dataset
    relevance_level: int = 1
    level: float = LEVEL
    store: Store = NO_STORE
    retriever: Retriever | None = None
    ranker: Retriever | None = None
    dataset: DatasetFormat | None = None

    @cached_property
    def ranks(self) -> UnitRanks:
        """The ranks of the relevant units, and of the pages beside them; only where `without_ranks` is empty."""
        return unit_ranks(self.items, self.relevance_level, self.store)

    @cached_property
    def without_ranks(self) -> str:
        """Why there are no ranks to check judgments with; empty if there are."""
        if not len(relevant(self.items, self.relevance_level)[0]):
            return "nothing is judged relevant"
        has_words = any(map(Tokenizer(ENGLISH, ENGLISH), self.items.texts))
        return "" if has_words else "no passage has a word that is not a stop word"

    @property
    def encoder(self) -> Encoder | None:
        """The first encoder of the retriever; None if it has none."""
        return next((part for part in components_within(self.retriever) if isinstance(part, Encoder)), None)

    @property
    def key(self) -> list[object]:
        """What a finding about passages, queries and judgments depends on."""
        return [self.items.digest_of_all, self.relevance_level, self.level]


class Finder(Component, ABC):
    """Looks for one kind of problem. A subclass has `kind`, `cost`, `advice` and `find`; all else has a default.

    A package brings one by an entry point in the group `ragsweep_audit.findings`, which names a class that is made
    without arguments.

    Attributes:
        kind: Its name in `audit.fail_on` and in files, such as `shifted_pages`.
        cost: What it does to the measured numbers, in one sentence.
        advice: What to do about it, in one sentence.
        of_rankings: Whether the problem only matters where rankings are measured.
    """

    kind: ClassVar[str]
    cost: ClassVar[str] = ""
    advice: ClassVar[str] = ""
    of_rankings: ClassVar[bool] = False

    def lacks(self, audited: Audited) -> str:
        """The reason why it cannot be looked for, as the end of a sentence; empty if it can."""
        return ""

    def limits(self, audited: Audited) -> str:
        """The part of the dataset in which it is looked for, as the end of a sentence; empty for all of it."""
        return ""

    def depends_on(self, audited: Audited) -> Sequence[object] | None:
        """What the findings depend on besides the code, by which they are kept; None looks for them each time."""
        return None

    @abstractmethod
    def find(self, audited: Audited) -> Iterable[Finding]:
        """The findings of this kind; none if nothing is wrong."""

    def finding(self, problem: str, names: Sequence[str], out_of: int, **about: Any) -> Finding:
        """A finding about things with these names; `out_of` were checked.

        `about` may have a `cost`, `advice` and `count` of its own, where these are not those of the class, and the
        number of names; all else are details for programs.
        """
        cost, advice = (about.pop(name, getattr(self, name)) for name in ("cost", "advice"))
        count = about.pop("count", len(names))
        return Finding(self.kind, problem, cost, advice, count, out_of, tuple(names), about)

    def of_queries(self, queries: Sequence[Query], problem: str, out_of: int, **more: Any) -> Finding:
        """A finding about queries: the first ones are quoted after what is said of them."""
        texts = named([quoted(query.text) for query in queries])
        return self.finding(f"{problem}{texts}.", [query.query_id for query in queries], out_of, **more)


class ByRanks(Finder):
    """Looks for a problem of judgments in the ranks of the judged units."""

    def lacks(self, audited: Audited) -> str:
        """There may be no ranks."""
        return audited.without_ranks

    def limits(self, audited: Audited) -> str:
        """Of many queries, some are ranked."""
        return sampled_part(len(np.unique(relevant(audited.items, audited.relevance_level)[0])))

    def depends_on(self, audited: Audited) -> Sequence[object]:
        """On passages, queries and judgments."""
        return audited.key
