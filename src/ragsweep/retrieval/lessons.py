"""Relevance judgments for a component that declares that it learns from them: those of other queries than it ranks for.

Nothing that a component is handed leads to judgments. While a task ranks, it deals out lessons by `dealing`, and
`lessons_for` gives them to a component of the capability `LearnsFromJudgments`. The run says which of
them took some.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from ragsweep.core.code import name_of
from ragsweep.core.errors import ConfigError
from ragsweep.retrieval.folds import folds_of
from ragsweep.retrieval.ranking import Indices, Ranking, Scores, Search


@runtime_checkable
class LearnsFromJudgments(Protocol):
    """A component that learns from the judgments and types of queries in other folds than the one it ranks for.

    Attributes:
        learns_from_judgments: True; a class declares the capability with it.
        folds: How many folds the queries are split into.
        seed: Of the split.
    """

    learns_from_judgments: ClassVar[bool]

    @property
    def folds(self) -> int: ...  # noqa: D102

    @property
    def seed(self) -> int: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class Lessons:
    """What may be known when each fold of queries is ranked for: the judgments and types of the other folds' queries.

    Attributes:
        fold: The fold of each query, shape [queries].
        types: The types in alphabetical order.
        type_of: By fold, the type of each query; -1 for a query of this fold or without a type, shape [folds, queries].
        values: Takes a ranking and the name of a metric. Returns by fold the value at k of each query, more is better;
            NaN for a query of this fold or without judgments, shape [folds, queries].
    """

    fold: Indices
    types: tuple[str, ...]
    type_of: Indices
    values: Callable[[Ranking, str], Scores]


@dataclass(frozen=True, eq=False)
class Judgments:
    """The judgments of a dataset, to be dealt out.

    Attributes:
        values: Takes a ranking and the name of a metric. Returns the value at k of each query, more is better; NaN for
            a query without judgments, shape [queries].
        types: The type of each query, None for one without, shape [queries].
        taken_by: The number of folds of each component that took lessons, by its name.
    """

    values: Callable[[Ranking, str], Scores]
    types: tuple[str | None, ...]
    taken_by: dict[str, int] = field(default_factory=dict)

    def lessons(self, queries: tuple[str, ...], folds: int, seed: int) -> Lessons:
        """Split the queries into folds, and hide from each fold what is known of its own queries."""
        types = tuple(sorted({each for each in self.types if each is not None}))
        of_query = np.array([types.index(each) if each is not None else -1 for each in self.types])
        fold = folds_of(queries, of_query, folds, seed)
        own = fold == np.arange(int(fold.max()) + 1)[:, np.newaxis]
        return Lessons(
            fold, types, np.where(own, -1, of_query), lambda *asked: np.where(own, np.nan, self.values(*asked))
        )

    @property
    def sections(self) -> dict[str, list[str]]:
        """What a report says of the components that took lessons, by heading; empty if there are none."""
        learnt = [
            f"{name} learns from relevance judgments and types of queries. Each query was ranked by what was learnt "
            f"from the queries of the {folds - 1} other folds, never from its own."
            for name, folds in self.taken_by.items()
        ]
        return {"Learnt from judgments": learnt} if learnt else {}


_DEALT: ContextVar[Judgments | None] = ContextVar("judgments", default=None)


@contextmanager
def dealing(judgments: Judgments | None) -> Iterator[None]:
    """Deal out judgments within the block; None deals out none."""
    before = _DEALT.set(judgments)
    try:
        yield
    finally:
        _DEALT.reset(before)


def lessons_for(component: LearnsFromJudgments, search: Search) -> Lessons:
    """What a component may know of the queries of a search.

    Raises:
        ConfigError: The component does not declare that it learns from judgments, or none are dealt out here.
    """
    judgments, name = _DEALT.get(), name_of(component)
    if not isinstance(component, LearnsFromJudgments) or component.learns_from_judgments is not True:
        raise ConfigError(f"retriever: {name} gets no judgments, as it does not declare learns_from_judgments")
    if judgments is None or len(judgments.types) != len(search.queries):
        raise ConfigError(
            f"retriever: {name} learns from the relevance judgments and types of other queries, which are not known "
            "here: it works with task=ranking, and not within another component that learns"
        )
    judgments.taken_by[name] = component.folds
    return judgments.lessons(search.queries, component.folds, component.seed)
