"""Deals out relevance judgments: for each fold of queries those of the others, to the components that declare it.

Nothing that a component is handed leads to judgments. While a task ranks, it deals them out by `dealing`: the functions
of `stages.py` and `trace.py` then rank by what a `LearnsFromJudgments` has learnt, wherever it stands in a pipeline. A
component that the task has not found in its configuration gets none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import NOTHING, Indices, Scores
from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.core.timing import UNTIMED, sample, set_within
from ragsweep.retrieval.copies import fresh, parts_of
from ragsweep.retrieval.folds import folds_of, numbered, of_one_kind
from ragsweep.retrieval.kinds import Ranker
from ragsweep.retrieval.lessons import LearnsFromJudgments, Lesson
from ragsweep.retrieval.ranking import Ranking, Search
from ragsweep.store.code import kind_of, name_of

LEAST_DEPTH = 100  # learning looks at so many passages at least, so that a lower depth changes nothing that is learnt

Values = Callable[[Ranking, str], Scores]
Rank = Callable[[Ranker, Search, int], Ranking]


class Learnt(NamedTuple):
    """What a component has learnt.

    Attributes:
        rankers: The ranker of each fold.
        fold: The fold of each query, shape [queries].
    """

    rankers: Sequence[Ranker]
    fold: Indices


@dataclass(frozen=True, eq=False)
class Judgments:
    """The judgments of a dataset, as they are dealt out.

    Attributes:
        learners: The components that get them, by their place in the configuration.
        types: The type of each query, None for one without.
        values_of: Takes queries, and returns what `Lesson.values` is for them; it must not lead to those of others.
        groups: The group of each query, None for one that is alone; empty if all are.
        learnt: What each component has learnt, by its place and the digest of the search.
    """

    learners: Mapping[str, LearnsFromJudgments]
    types: tuple[str | None, ...]
    values_of: Callable[[Indices], Values]
    groups: tuple[str | None, ...] = ()
    learnt: dict[tuple[str, str], Learnt] = field(default_factory=dict)

    def check(self, learner: LearnsFromJudgments, search: Search, rank: Rank) -> None:
        """Raise `ConfigError` for what cannot be learnt from."""
        place = self._place(learner)
        fold = self._fold(learner, search)
        learner.check_lesson(self._lesson(search, LEAST_DEPTH, fold, 0, rank))
        kinds = of_one_kind(search.queries, self.groups)
        texts = len({*kinds[self._type_of(search) >= 0].tolist()}) or len({*kinds.tolist()})
        if texts < learner.folds:
            found = f"found {learner.folds} for {texts} different queries with a type"
            raise ConfigError(f"{place}.folds: {found}, expected at most one for each")

    def rank(self, learner: LearnsFromJudgments, search: Search, depth: int, rank: Rank) -> Ranking:
        """Rank each fold by what was learnt from the others.

        Raises:
            RetrieverError: After it has seen the judgments of a fold, the component ranks otherwise for that fold.
        """
        fold, memo = self._fold(learner, search), _once(search, rank)
        rankers, rankings = [], []
        for each in (*range(int(fold.max()) + 1), 0):  # the first one again, when all judgments have been dealt out
            ranker = fresh(learner).learn_from_judgments(self._lesson(search, depth, fold, each, memo))
            rankers.append(ranker)
            rankings.append(rank(ranker, search, depth))
        first = fold == 0
        before, after = rankings[0].passages[first], rankings.pop().passages[first]
        if not np.array_equal(before, after):
            raise RetrieverError(
                f"{self._place(learner)}: {kind_of(learner)} ranks otherwise for queries whose judgments it has seen "
                "for other folds; it must learn from its lesson alone, and in the same way each time"
            )
        self.learnt[self._place(learner), search.digest] = Learnt(rankers[:-1], fold)
        return _by_fold(rankings, fold)

    def of(self, learner: LearnsFromJudgments, search: Search, rank: Rank) -> Learnt:
        """What a component has learnt for a search."""
        key = (self._place(learner), search.digest)
        if key not in self.learnt:
            self.rank(learner, search, LEAST_DEPTH, rank)
        return self.learnt[key]

    def _place(self, learner: LearnsFromJudgments) -> str:
        return next(place for place, each in self.learners.items() if each is learner)

    def _type_of(self, search: Search) -> Indices:
        """The type of each query as a number in alphabetical order, -1 for one without."""
        if len(search.queries) != len(self.types):
            raise RetrieverError(f"found {len(search.queries)} queries to learn for, expected {len(self.types)}")
        return numbered(self.types)[1]

    def _fold(self, learner: LearnsFromJudgments, search: Search) -> Indices:
        if not isinstance(learner.folds, int) or learner.folds < 2:
            found = f"found {learner.folds!r}, expected a whole number of at least 2"
            raise ConfigError(f"{self._place(learner)}.folds: {found}")
        return folds_of(search.queries, self._type_of(search), learner.folds, learner.seed, self.groups)

    def _lesson(self, search: Search, depth: int, fold: Indices, held: int, rank: Rank) -> Lesson:
        others = np.flatnonzero(fold != held)
        return Lesson(
            search=search,
            depth=max(depth, LEAST_DEPTH),
            learn_from=others,
            rank_for=np.flatnonzero(fold == held),
            types=tuple(self.types[query] for query in others),
            number_of_types=len({*self.types} - {None}),
            values=self.values_of(others),
            rank=lambda ranker, depth: rank(ranker, search, depth),
        )


def _once(search: Search, rank: Rank) -> Rank:
    """Ranks a search by each ranker once."""
    kept: dict[tuple[int, int], tuple[Ranker, Ranking]] = {}  # with the ranker, or another one could get its id

    def ranked(ranker: Ranker, search: Search, depth: int) -> Ranking:
        key = (id(ranker), depth)
        if key not in kept:
            kept[key] = (ranker, rank(ranker, search, depth))
        return kept[key][1]

    return ranked


def _by_fold(rankings: Sequence[Ranking], fold: Indices) -> Ranking:
    """Of rankings of all queries, the rows of each fold from its own."""
    rows = sample(len(fold))
    ms = [ranking.latency_ms for ranking in rankings]
    sizes = [ranking.index_bytes for ranking in rankings]
    return replace(
        rows_of(rankings, fold, max(ranking.passages.shape[1] for ranking in rankings)),
        latency_ms=taken(ms, fold[rows]) if {len(each) for each in ms} == {len(rows)} else UNTIMED,
        index_bytes=np.max(sizes, axis=0) if all(map(len, sizes)) else np.empty(0, dtype=np.int64),
    )


def rows_of(rankings: Sequence[Ranking], source: Indices, depth: int) -> Ranking:
    """Of rankings of all queries, each row from the ranking that `source` says; without latency and bytes."""
    recalls = [ranking.recall_of_exact for ranking in rankings]
    exact = np.ones(len(source))  # the recall of a ranker that searches exactly
    recall = taken([each if len(each) else exact for each in recalls], source)
    return Ranking(
        taken([_padded(ranking.passages, depth, NOTHING) for ranking in rankings], source),
        taken([_padded(ranking.scores, depth, -np.inf) for ranking in rankings], source),
        recall_of_exact=recall if any(map(len, recalls)) else np.empty(0),
    )


def _padded(rows: npt.NDArray[Any], width: int, empty: float) -> npt.NDArray[Any]:
    """Rows of this width, cut or filled up."""
    return np.pad(rows[:, :width], ((0, 0), (0, max(0, width - rows.shape[1]))), constant_values=empty)


def taken(arrays: Sequence[npt.NDArray[Any]], source: Indices) -> npt.NDArray[Any]:
    """Of arrays with the same rows, one array that has each row from the array that `source` says."""
    rows: npt.NDArray[Any] = np.stack(arrays)[source, np.arange(len(source))]
    return rows


_DEALT: ContextVar[Judgments | None] = ContextVar("judgments that are dealt out", default=None)


def dealing(judgments: Judgments | None) -> AbstractContextManager[None]:
    """Deal out judgments while a task ranks; None deals out none."""
    return set_within(_DEALT, judgments)


def dealt_to(learner: LearnsFromJudgments) -> Judgments:
    """Deals out the judgments that a component may learn from; raises `ConfigError` if it gets none here."""
    judgments = _DEALT.get()
    if judgments is None or not any(each is learner for each in judgments.learners.values()):
        raise ConfigError(
            f"retriever: {name_of(learner)} learns from the relevance judgments and types of other queries, which are "
            "not known here: it works with task=ranking, and not within another retriever that learns"
        )
    return judgments


def learners_in(part: object, place: str) -> dict[str, LearnsFromJudgments]:
    """The components within a component that learn from judgments, by their places; not those within one of them."""
    if isinstance(part, LearnsFromJudgments):
        return {place: part}
    found: dict[str, LearnsFromJudgments] = {}
    for name, each in parts_of(part):
        found |= learners_in(each, f"{place}.{name}")
    return found
