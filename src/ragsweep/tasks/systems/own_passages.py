"""A dataset whose passages are what a retriever of elsewhere has returned, and the ranking that it has returned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.terminal import counted, some_of
from ragsweep.core.trec_files import strictly_falling
from ragsweep.datasets import Dataset
from ragsweep.datasets.model.numbered_words import LEAST_HELD
from ragsweep.datasets.model.other_passages import only_asked, with_passages
from ragsweep.retrieval import Ranker, Ranking, Rewriter, Search
from ragsweep.retrieval.kinds import Expander, Method, Trace
from ragsweep.retrieval.ranking_checks import checked_answers
from ragsweep.retrieval.results import Answers, ExternalRetriever, Result
from ragsweep.retrieval.returned import FILE, lines_of
from ragsweep.retrieval.stages import rewrite
from ragsweep.store.code import name_of
from ragsweep.tasks.ranking.coverage import measured_queries
from ragsweep.tasks.systems.about_answers import RETURNED, about, only_some, too_few
from ragsweep.tasks.systems.places import Places
from ragsweep.tasks.systems.result_passages import ResultPassages
from ragsweep.tasks.systems.shifted import misnamed_pages, opposite_order, shifted_pages


class Returned(NamedTuple):
    """What a system has returned.

    Attributes:
        items: Its passages, as a dataset.
        ranker: Ranks them as it did.
        about: What a report says of it: how its results were matched, and what is not known.
    """

    items: Dataset
    ranker: ReturnedRanking
    about: tuple[str, ...]

    def with_sections(self, sections: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
        """The sections of a report with what is said of the system."""
        return {RETURNED: [*self.about, *sections.get(RETURNED, ())]} | {
            heading: sentences for heading, sentences in sections.items() if heading != RETURNED
        }


@dataclass(frozen=True)
class ReturnedRanking(Ranker):
    """Ranks the passages of a dataset as the system had returned them, for the queries of this dataset.

    Attributes:
        ranking: What it had returned.
        sentences: What is unusual about it.
        of_system: What the system says of its method.
        files: What it had returned, and for which queries, as lines of files for the results of a run, by their names.
        never: Positions of the queries that it was never asked.
    """

    ranking: Ranking
    sentences: tuple[str, ...]
    of_system: Method
    files: Mapping[str, Sequence[str]]
    never: Sequence[int] = ()
    is_record: ClassVar[bool] = True

    @property
    def method(self) -> Method:
        """That of the system."""
        return self.of_system

    def rank(self, search: Search, depth: int) -> Ranking:
        """The first passages that it had returned for each query."""
        return replace(self.ranking, passages=self.ranking.passages[:, :depth], scores=self.ranking.scores[:, :depth])

    def never_asked(self, search: Search, queries: Indices) -> Indices:
        """Those of the queries that it was never asked."""
        return np.intersect1d(queries, np.array(self.never, dtype=np.int64))

    def sections(self, search: Search) -> Mapping[str, Sequence[str]]:
        """What is unusual about what it had returned."""
        return {RETURNED: self.sentences} if self.sentences else {}

    def trace(self, search: Search, query: int) -> Trace:
        """How a query got its ranking."""
        return Trace(formula=f"as {self.method.name or 'the system'} returned it")


def returned(
    retriever: ExternalRetriever,
    rewriter: Rewriter | Expander | None,
    items: Dataset,
    *,
    depth: int,
    k: int,
    fuzzy_threshold: float = LEAST_HELD,
) -> Returned:
    """Ask a system the queries that are measured, and match what it returns to what is judged.

    Args:
        retriever: Asks the system.
        rewriter: Changes the queries first; None leaves them as they are.
        items: The dataset; its passages are its pages.
        depth: The most results of a query.
        k: The cutoff.
        fuzzy_threshold: As of `relevant_passages`.

    Raises:
        ConfigError: The rewriter works on a corpus, which the system keeps to itself.
        ConfigError: The ids of results name several things that the dataset knows.
        DatasetError: Nothing of what came back is anything that the dataset knows, or it was never asked any query.
    """
    asked = _asked(retriever, rewriter, items, depth)
    items, results = only_asked(items, [*asked.found]), [*asked.found.values()]
    places, found = Places(items, retriever.matching), ResultPassages(items)
    ranked = [found.rows([(each, places.of(each)) for each in of_query]) for of_query in results]
    found.expect_known(items)
    found.expect_clear_ids()
    ranking = _ranking(dict(zip(asked.found, zip(ranked, results, strict=True), strict=True)), len(asked.texts))
    never = [asked.texts[row] for row in asked.never]
    said, files = only_some(items, [*asked.found], never, asked.answers.others)
    method, judged = retriever.method, ([*asked.judged], [*asked.judged.values()])
    sentences = (
        *asked.answers.notices,
        *said,
        *_unordered(results),
        *found.sentences(),
        *too_few(judged[1], k),
        *(misnamed_pages(results, places) or shifted_pages(items, *judged, places)),
        *opposite_order(items, *judged, places),
    )
    lines = [
        *lines_of([asked.texts[row] for row in asked.found], asked.answers._replace(results=results)),
        *lines_of(never, Answers([None] * len(never), np.empty(0))),
    ]
    ranking = replace(ranking, latency_ms=asked.answers.latency_ms)
    return Returned(
        with_passages(items, found.passages, found.units, fuzzy_threshold),
        ReturnedRanking(ranking, sentences, method, {**files, FILE: lines}, asked.never),
        about(method.name, found.by, len(asked.found), asked.answers.kept),
    )


@dataclass(frozen=True)
class _Asked:
    """What a system was asked, and what came back.

    Attributes:
        texts: All queries of the dataset, as they are asked.
        answers: Those to the measured ones.
        found: The results of the measured queries that were asked, by their positions.
        judged: Those of queries with judgments.
        never: Positions of the measured queries that were not asked.
    """

    texts: Sequence[str]
    answers: Answers
    found: Mapping[int, Sequence[Result]]
    judged: Mapping[int, Sequence[Result]]
    never: Sequence[int]


def _asked(retriever: ExternalRetriever, rewriter: Rewriter | Expander | None, items: Dataset, depth: int) -> _Asked:
    if isinstance(rewriter, Expander):
        raise ConfigError(f"query: {name_of(rewriter)} needs passages to search, which a system keeps to itself")
    texts = tuple(query.text for query in items.queries)
    texts = rewrite(rewriter, texts).queries if rewriter is not None else texts
    measured, judged = measured_queries(items).tolist(), np.unique(items.qrels.query).tolist()
    answers = checked_answers(
        retriever.answers([texts[row] for row in measured], depth), len(measured), name_of(retriever)
    )
    found = {row: results for row, results in zip(measured, answers.results, strict=True) if results is not None}
    of_judged = {row: found[row] for row in judged if row in found}
    if not of_judged:
        raise DatasetError(
            f"{items.name}: none of its {counted(len(judged), 'judged question')} was asked (such as "
            f"{some_of(texts[row] for row in judged)}); questions that were: {some_of(answers.others) or 'none'}"
        )
    return _Asked(texts, answers, found, of_judged, [row for row in measured if row not in found])


def needs_nothing(retriever: ExternalRetriever, rewriter: Rewriter | Expander | None, items: Dataset) -> bool:
    """Whether the answers to what is measured are all kept; not known of queries that something rewrites first."""
    texts = [items.queries[row].text for row in measured_queries(items).tolist()]
    return rewriter is None and retriever.has_kept(texts)


def _unordered(results: Sequence[Sequence[Result]]) -> list[str]:
    """For how many queries scores do not fall, or do not rise where those of more queries rise, as distances."""
    scores = [[each.score for each in of_query if each.score is not None] for of_query in results]
    steps = [np.diff(of_query) for of_query in scores if len(of_query) > 1]
    unordered = len(steps) - max(
        sum(bool((each <= 0).all()) for each in steps), sum(bool((each >= 0).all()) for each in steps)
    )
    of = f"of {unordered:,} of {counted(len(results), 'query')}"
    return [f"The scores {of} are in no order: the order in which the results came counts."] if unordered else []


def _ranking(rows: Mapping[int, tuple[Sequence[int], Sequence[Result]]], queries: int) -> Ranking:
    """The ranking in the order in which results came; their scores if these fall for each query."""
    depth = max(1, *(len(passages) for passages, _ in rows.values()))
    passages = np.full((queries, depth), NOTHING)
    scores = np.full((queries, depth), -np.inf)
    given = {
        row: np.array([np.nan if each.score is None else each.score for each in results])
        for row, (_, results) in rows.items()
    }
    fall = all(np.isfinite(each).all() and (np.diff(each) <= 0).all() for each in given.values())
    for row, (found, _) in rows.items():
        passages[row, : len(found)] = found
        scores[row, : len(found)] = given[row] if fall else -np.arange(1.0, len(found) + 1)
    return Ranking(passages, np.where(passages == NOTHING, -np.inf, strictly_falling(scores)))
