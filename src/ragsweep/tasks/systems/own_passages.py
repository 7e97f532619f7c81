"""A dataset whose passages are what a retriever of elsewhere has returned, and the ranking that it has returned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.terminal import counted, one_line, say_once, some_of
from ragsweep.core.trec_files import strictly_falling
from ragsweep.datasets import Dataset
from ragsweep.datasets.model.dataset import Passage
from ragsweep.datasets.model.numbered_words import LEAST_HELD
from ragsweep.datasets.model.other_passages import only_asked, with_passages
from ragsweep.retrieval import Ranking, Rewriter, Search
from ragsweep.retrieval.method import Method, method_of
from ragsweep.retrieval.ranking import Expander
from ragsweep.retrieval.results import Answers, BringsPassages, KeepsAnswers, Result
from ragsweep.retrieval.returned import FILE, lines_of
from ragsweep.retrieval.stages import rewrite
from ragsweep.retrieval.trace import Trace
from ragsweep.store.code import name_of
from ragsweep.tasks.ranking.coverage import unanswerable
from ragsweep.tasks.systems.about_answers import RETURNED, about, only_some, too_few
from ragsweep.tasks.systems.places import Place, Places, passage_of
from ragsweep.tasks.systems.shifted import misnamed_pages, opposite_order, shifted_pages

LONGEST_NAME = 80  # characters of the text that names a result without an id


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
class ReturnedRanking:
    """Ranks the passages of a dataset as the system had returned them, for the queries of this dataset.

    Attributes:
        ranking: What it had returned.
        sentences: What is unusual about it.
        method: What the system says of its method.
        files: What it had returned, and for which queries, as lines of files for the results of a run, by their names.
        never: Positions of the queries that it was never asked.
    """

    ranking: Ranking
    sentences: tuple[str, ...]
    method: Method
    files: Mapping[str, Sequence[str]]
    never: Sequence[int] = ()

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
    retriever: BringsPassages,
    rewriter: Rewriter | None,
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
    if isinstance(rewriter, Expander):
        raise ConfigError(f"query: {name_of(rewriter)} needs passages to search, which a system keeps to itself")
    texts = tuple(query.text for query in items.queries)
    texts = rewrite(rewriter, texts).queries if rewriter is not None else texts
    measured, judged = _measured(items), np.unique(items.qrels.query).tolist()
    answers = retriever.answers([texts[row] for row in measured], depth)
    answered = {row: found for row, found in zip(measured, answers.results, strict=True) if found is not None}
    rows, results = [*answered], [*answered.values()]
    of_judged = {row: answered[row] for row in judged if row in answered}
    never = [row for row in measured if row not in answered]
    if not of_judged:
        there_is = some_of(answers.others) or "none"
        raise DatasetError(
            f"{items.name}: none of its {counted(len(judged), 'judged question')} was asked (such as "
            f"{some_of(texts[row] for row in judged)}); questions that were: {there_is}"
        )
    items = only_asked(items, rows)
    places = Places(items, retriever.matching)
    found = _Passages(items)
    ranked = [found.rows([(each, places.of(each)) for each in of_query]) for of_query in results]
    if found.by and not found.known:
        known = some_of(items.units)
        raise DatasetError(
            f"nothing of what came back is anything that {items.name} knows ({some_of(found.strangers)}); expected "
            f"what is judged, such as {known}: set retriever.id, retriever.source and retriever.page to its fields"
        )
    found.expect_clear_ids()
    dataset = with_passages(items, found.passages, found.units, fuzzy_threshold)
    ranking = _ranking(dict(zip(rows, zip(ranked, results, strict=True), strict=True)), len(texts))
    shifted = misnamed_pages(results, places) or shifted_pages(items, [*of_judged], [*of_judged.values()], places)
    opposite = opposite_order(items, [*of_judged], [*of_judged.values()], places)
    said, files = only_some(items, rows, [texts[row] for row in never], answers.others)
    method = method_of(retriever)
    if unordered := _unordered(results):
        of = f"of {unordered:,} of {counted(len(results), 'query')}"
        said.append(f"The scores {of} are in no order: the order in which the results came counts.")
        say_once(f"{method.name or 'the system'}: {said[-1]}")
    sentences = [*answers.notices, *said, *found.sentences(), *too_few([*of_judged.values()], k), *shifted, *opposite]
    files[FILE] = [
        *lines_of([texts[row] for row in rows], answers._replace(results=results)),
        *lines_of([texts[row] for row in never], Answers([None] * len(never), np.empty(0))),
    ]
    ranking = replace(ranking, latency_ms=answers.latency_ms)
    said_of = about(method.name, found.by, len(rows), answers.kept)
    return Returned(dataset, ReturnedRanking(ranking, tuple(sentences), method, files, never), said_of)


def needs_nothing(retriever: BringsPassages, rewriter: Rewriter | None, items: Dataset) -> bool:
    """Whether the answers to what is measured are all kept; not known of queries that something rewrites first."""
    texts = [items.queries[row].text for row in _measured(items)]
    return rewriter is None and isinstance(retriever, KeepsAnswers) and retriever.has_kept(texts)


def _measured(items: Dataset) -> list[int]:
    """Positions of the queries that have judgments, and of those that the documents are known not to answer."""
    return [*map(int, np.union1d(items.qrels.query, unanswerable(items)))]


class _Passages:
    """Collects results as passages: each once, but a result that a query got twice takes two ranks."""

    def __init__(self, items: Dataset) -> None:
        self.passages: list[Passage] = []
        self.units: list[tuple[str, ...]] = []
        self.by: Counter[str] = Counter()
        self.strangers: Counter[str] = Counter()
        self._unit = items.unit
        self._unknown = "nothing that the dataset knows" if items.passages else "judged for no query"
        self._repeated = 0
        self._ambiguous: Counter[str] = Counter()
        self._unclear: list[tuple[str, ...]] = []
        self._which_id: dict[int, tuple[str, ...]] = {}
        self._numbers: dict[tuple[object, ...], int] = {}
        self._names: Counter[str] = Counter()

    @property
    def known(self) -> int:
        """How many results were matched."""
        return self.by.total() - self.by["nothing"]

    def rows(self, results: Sequence[tuple[Result, Place]]) -> list[int]:
        """The positions of the passages of a query."""
        seen: Counter[tuple[object, ...]] = Counter()
        found = []
        for result, place in results:
            self.by[place.by] += 1
            if place.by == "nothing":
                self.strangers[_name(result)] += 1
            numbers = result.ids if all(map(str.isdecimal, result.ids)) else ()
            if place.rivals:
                self._unclear.append((place.units[0], *place.rivals))
            elif place.by == "id" and len(numbers) > 1 and place.units[0] in numbers:  # else its source is judged
                self._which_id[numbers.index(place.units[0])] = numbers
            if place.others:
                self._ambiguous[place.units[0]] += 1
            key = (result._replace(score=None), place)
            seen[key] += 1
            same_text = result.text not in ("", *result.ids)  # chunks of a page, or of a document, can share its id
            self._repeated += same_text and seen[key] > 1
            found.append(self._number(result, place, seen[key]))
        return found

    def expect_clear_ids(self) -> None:
        """Raise `ConfigError` if results have two ids that are known, or numbers of which now one, now another is."""
        unclear = [*self._unclear, *(self._which_id.values() if len(self._which_id) > 1 else ())]
        if unclear:
            raise ConfigError(
                f"a result has several ids ({some_of(unclear[0])}), and more than one can be what is judged: "
                "set retriever.id to the field that is"
            )

    def _number(self, result: Result, place: Place, time: int) -> int:
        key = (result._replace(score=None), place, time)
        if key not in self._numbers:
            self._numbers[key] = len(self.passages)
            name = next(iter(result.ids), "") or (place.units[0] if place.units else _name(result))
            self._names[name] += 1
            number = self._names[name]
            passage = passage_of(result, place, f"{name}/{number}" if number > 1 else name)
            self.passages.append(passage)
            self.units.append((passage.chunk_id,) if self._unit == "passage" else place.units or (_name(result),))
        return self._numbers[key]

    def sentences(self) -> list[str]:
        """What is unusual about the results."""
        said = []
        if strangers := self.by["nothing"]:
            said.append(
                f"{strangers:,} of {counted(self.by.total(), 'result')} are {self._unknown} "
                f"({some_of(self.strangers)}): they count as not relevant."
            )
        if self._ambiguous:
            where = "places" if self._unit == "passage" else f"{self._unit}s"
            said.append(
                f"{counted(self._ambiguous.total(), 'result')} without a known id or page have a text that stands in "
                f"several {where}, of which the first counts ({some_of(self._ambiguous)}): set retriever.id, or "
                "retriever.source and retriever.page, if there are fields that say which one it is."
            )
        if self._repeated:
            said.append(f"{counted(self._repeated, 'result')} came back twice for a query: each takes a rank.")
        return said


def _name(result: Result) -> str:
    """What a result is called that nothing knows."""
    named = [
        *result.ids[:1],
        "#".join(filter(None, (result.source, result.page))),
        one_line(result.text)[:LONGEST_NAME],
    ]
    return next(filter(None, named), "a result without id, source and text")


def _unordered(results: Sequence[Sequence[Result]]) -> int:
    """How many queries have scores that do not fall, or do not rise where those of more queries rise, as distances."""
    scores = [[each.score for each in of_query if each.score is not None] for of_query in results]
    steps = [np.diff(of_query) for of_query in scores if len(of_query) > 1]
    return len(steps) - max(
        sum(bool((each <= 0).all()) for each in steps), sum(bool((each >= 0).all()) for each in steps)
    )


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
