"""A dataset whose passages are what a retriever of elsewhere has returned, and the ranking that it has returned."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.terminal import counted, one_line, say_once, some_of, verb
from ragsweep.core.trec_files import strictly_falling
from ragsweep.datasets import Dataset
from ragsweep.datasets.model.dataset import Passage
from ragsweep.datasets.model.other_passages import only_asked, with_passages
from ragsweep.datasets.model.word_positions import LEAST_HELD
from ragsweep.retrieval import Ranker, Ranking, Rewriter, Search
from ragsweep.retrieval.kinds import Expander, Method, Trace
from ragsweep.retrieval.ranking_checks import checked_answers
from ragsweep.retrieval.results import FILE, Answers, ExternalRetriever, MatchBy, Result, lines_of
from ragsweep.retrieval.stages import rewrite
from ragsweep.store.code import name_of
from ragsweep.tasks.ranking.coverage import measured_queries
from ragsweep.tasks.systems.matching import NAMED, Place, Places
from ragsweep.tasks.task import Measurement

RETURNED = "What the system returned"  # a section of a report
ASKED = "asked.txt"  # of the results of a run: the ids of the measured questions that were asked, if these are not all
TO_JUDGE = "to_judge.jsonl"  # questions that were asked and have no judgments
NO_PASSAGE = Passage("", "", 0, "", "", 0, 0)  # where nothing came back for any query; it is in no ranking
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

    def added_to(self, measurement: Measurement) -> Measurement:
        """What was measured of the ranking, with what is said of the system before all other sections."""
        sections = {RETURNED: [*self.about, *measurement.sections.get(RETURNED, ())]}
        further = {heading: lines for heading, lines in measurement.sections.items() if heading != RETURNED}
        return replace(measurement, sections=sections | further)


@dataclass(frozen=True)
class ReturnedRanking(Ranker):
    """Ranks the passages of a dataset as the system had returned them, for the queries of this dataset.

    Attributes:
        ranking: What it had returned.
        sentences: What is unusual about it.
        of_system: What the system says of its method.
        lines: What it had returned, and for which queries, as lines of files for the results of a run, by their names.
        never: Positions of the queries that it was never asked.
        may_have_cut: Whether a setting of its own may have removed results.
        has_scores: Whether the scores are those of the system.
    """

    ranking: Ranking
    sentences: tuple[str, ...]
    of_system: Method
    lines: Mapping[str, Sequence[str]]
    never: Sequence[int] = ()
    may_have_cut: bool = False
    has_scores: bool = True
    is_record: ClassVar[bool] = True

    @property
    def method(self) -> Method:
        """That of the system."""
        return self.of_system

    @property
    def files(self) -> Mapping[str, Sequence[str]]:
        """What it had returned."""
        return self.lines

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
        ConfigError: The rewriter works on a corpus, which the system keeps to itself; or results do not say clearly
            what they are.
        DatasetError: Nothing of what came back is anything that the dataset knows, or it was never asked any query.
    """
    if isinstance(rewriter, Expander):
        raise ConfigError(f"query: {name_of(rewriter)} needs passages to search, which a system keeps to itself")
    texts = tuple(query.text for query in items.queries)
    texts = rewrite(rewriter, texts).queries if rewriter is not None else texts
    measured = measured_queries(items).tolist()
    answers = checked_answers(
        retriever.answers([texts[row] for row in measured], depth), len(measured), name_of(retriever)
    )
    asked = {row: results for row, results in zip(measured, answers.results, strict=True) if results is not None}
    never = [row for row in measured if row not in asked]
    _check_asked(items, asked, texts, answers.other_queries)
    items = only_asked(items, [*asked])
    places = Places(items, retriever.matching, (result for results in asked.values() for result in results))
    hits = {row: _hits(results, places) for row, results in asked.items()}
    all_hits = [hit for of_query in hits.values() for hit in of_query]
    about = _how_known(all_hits, items, places.by, retriever.method.name or "The system", len(asked))
    say_once(about)
    distinct = {hit.passage: hit for hit in all_hits}
    numbers = {passage: number for number, passage in enumerate(distinct)}
    passages, units = _passages(distinct.values(), items)
    rows = {row: [numbers[hit.passage] for hit in of_query] for row, of_query in hits.items()}
    notices, files = _only_some(items, [*asked], [texts[row] for row in never], answers.other_queries)
    sentences = [
        *answers.notices,
        *notices,
        *_unordered([*asked.values()]),
        *_unusual(all_hits, items),
        *_too_few([asked[row] for row in np.unique(items.qrels.query).tolist() if row in asked], k),
        *places.page_count(asked),
    ]
    times = np.full(len(texts), np.nan)
    times[measured] = answers.latency_ms if len(answers.latency_ms) else np.nan
    lines = [
        *lines_of([texts[row] for row in asked], Answers([*asked.values()], times[[*asked]])),
        *lines_of([texts[row] for row in never], Answers([None] * len(never), np.empty(0))),
    ]
    ranking, has_scores = _ranking(rows, asked, len(texts))
    ranking = replace(ranking, latency_ms=times)
    traits = {"may_have_cut": any(getattr(retriever, name) for name in retriever.cuts), "has_scores": has_scores}
    kept = f"{answers.kept:,} of the answers, and their latency, are of an earlier time: they were kept."
    unknown = "What it could find at all is not known (no coverage), because its passages are its own."
    return Returned(
        with_passages(items, passages or [NO_PASSAGE], units or [("",)], fuzzy_threshold),
        ReturnedRanking(ranking, tuple(sentences), retriever.method, {**files, FILE: lines}, never, **traits),
        (about, *([kept] if answers.kept else []), unknown),
    )


def needs_nothing(retriever: ExternalRetriever, rewriter: Rewriter | Expander | None, items: Dataset) -> bool:
    """Whether the answers to what is measured are all kept; not known of queries that something rewrites first."""
    texts = [items.queries[row].text for row in measured_queries(items).tolist()]
    return rewriter is None and retriever.has_kept(texts)


class _Hit(NamedTuple):
    """A result of a query, without its score.

    Attributes:
        result: The result.
        place: What it was matched to.
        copy: Its number among the same results of the query, from 1: what came back twice takes two ranks.
    """

    result: Result
    place: Place
    copy: int

    @property
    def passage(self) -> tuple[Result, int]:
        """What all hits have in common that are one passage."""
        return self.result, self.copy

    @property
    def is_repeated(self) -> bool:
        """Whether the query got the same text before; chunks of a page, or of a document, can share its id."""
        return self.copy > 1 and self.result.text not in ("", *self.result.ids)


def _hits(results: Sequence[Result], places: Places) -> list[_Hit]:
    copies: Counter[Result] = Counter()
    hits = []
    for result in results:
        unscored = result._replace(score=None)
        copies[unscored] += 1
        hits.append(_Hit(unscored, places.of(result), copies[unscored]))
    return hits


def _passages(hits: Iterable[_Hit], items: Dataset) -> tuple[list[Passage], list[tuple[str, ...]]]:
    """The passages, one for each of these hits, and the units of each."""
    names: Counter[str] = Counter()
    passages, units = [], []
    for result, place, _ in hits:
        name = next(iter(result.ids), "") or (place.units[0] if place.units else _name(result))
        names[name] += 1
        name = f"{name}/{names[name]}" if names[name] > 1 else name
        text = "" if result.text in result.ids else result.text  # the name alone came back
        source = place.source or result.source
        passages.append(Passage(text, source, 0, result.page, name, place.start, place.end))
        units.append((name,) if items.unit == "passage" else place.units or (_name(result),))
    return passages, units


def _how_known(hits: Sequence[_Hit], items: Dataset, by: MatchBy, name: str, queries: int) -> str:
    """How many results are known, and by what. Raises `DatasetError` if there are some, and none is known."""
    strangers = [_name(hit.result) for hit in hits if not hit.place.units]
    if hits and len(strangers) == len(hits):
        raise DatasetError(
            f"nothing of what came back is anything that {items.name} knows by {NAMED[by]} "
            f"({some_of(dict.fromkeys(strangers))}); expected what is judged, such as {some_of(items.units)}: set "
            "retriever.id, retriever.source and retriever.page to its fields, or retriever.match_by"
        )
    matched = len(hits) - len(strangers)
    return (
        f"{name} returned {counted(len(hits), 'result')} for {counted(queries, 'query')}; {matched:,} "
        f"({matched / max(1, len(hits)):.0%}) known by their {NAMED[by]} (retriever.match_by={by})."
    )


def _unusual(hits: Sequence[_Hit], items: Dataset) -> Iterator[str]:
    """That results are unknown, stand in several places, or came back twice."""
    strangers = [_name(hit.result) for hit in hits if not hit.place.units]
    ambiguous = [hit.place.units[0] for hit in hits if hit.place.other_places]
    if strangers:
        unknown = "nothing that the dataset knows" if items.passages else "judged for no query"
        yield (
            f"{len(strangers):,} of {counted(len(hits), 'result')} {verb(len(strangers), 'are')} {unknown} "
            f"({some_of(dict.fromkeys(strangers))}): they count as not relevant."
        )
    if ambiguous:
        yield (
            f"{counted(len(ambiguous), 'result')} {verb(len(ambiguous), 'have')} a text that stands in several places, "
            f"of which the first counts ({some_of(dict.fromkeys(ambiguous))}): set retriever.id, or retriever.source "
            "and retriever.page, if there are fields that say which one it is."
        )
    if repeated := sum(hit.is_repeated for hit in hits):
        yield f"{counted(repeated, 'result')} came back twice for a query: each takes a rank."


def _check_asked(items: Dataset, asked: Mapping[int, object], texts: Sequence[str], logged: Sequence[str]) -> None:
    judged = np.unique(items.qrels.query).tolist()
    if not any(row in asked for row in judged):
        raise DatasetError(
            f"{items.name}: none of its {counted(len(judged), 'judged question')} was asked (such as "
            f"{some_of(texts[row] for row in judged)}); questions that were: {some_of(logged) or 'none'}"
        )


def _only_some(
    items: Dataset, asked: Sequence[int], never: Sequence[str], other_queries: Sequence[str]
) -> tuple[list[str], dict[str, Sequence[str]]]:
    """What is printed, and written, where the queries that were asked are not those of the dataset."""
    notices: list[str] = []
    files: dict[str, Sequence[str]] = {}
    if never:
        files[ASKED] = [f"{items.queries[row].query_id}\n" for row in asked]
        notices.append(
            f"{counted(len(never), 'question')} of {len(asked) + len(never):,} never asked, so not measured "
            f"({some_of(never)}): dataset.ids=results/{ASKED} measures others on those that were."
        )
    if other_queries:
        lines = ({"query": query, "relevant_docs": []} for query in other_queries)
        files[TO_JUDGE] = [json.dumps(line, ensure_ascii=False) + "\n" for line in lines]
        notices.append(
            f"{counted(len(other_queries), 'question')} asked without a judgment ({some_of(other_queries)}): "
            f"questions=table questions.path=results/{TO_JUDGE} reads them."
        )
    return notices, files


def _too_few(results: Sequence[Sequence[Result]], k: int) -> Iterator[str]:
    """That a system returns fewer results than the cutoff."""
    most, empty = max(map(len, results), default=0), sum(not of_query for of_query in results)
    if empty:
        yield f"{empty:,} of {len(results):,} queries got no result."
    if 0 < most < k:
        yield f"It returned at most {counted(most, 'result')} for a query, and k is {k}: ask it for more."


def _unordered(results: Sequence[Sequence[Result]]) -> Iterator[str]:
    """For how many queries scores do not fall, or do not rise where those of more queries rise, as distances."""
    scores = [[result.score for result in of_query if result.score is not None] for of_query in results]
    steps = [np.diff(of_query) for of_query in scores if len(of_query) > 1]
    ordered = max(sum(bool((step * sign <= 0).all()) for step in steps) for sign in (1, -1))
    if ordered < len(steps):
        of = f"of {len(steps) - ordered:,} of {counted(len(results), 'query')}"
        yield f"The scores {of} are in no order: the order in which the results came counts."


def _ranking(
    rows: Mapping[int, Sequence[int]], results: Mapping[int, Sequence[Result]], queries: int
) -> tuple[Ranking, bool]:
    """The ranking in the order in which results came, and whether it has their scores: if these fall for each query."""
    depth = max(1, *map(len, rows.values()))
    passages, scores = np.full((queries, depth), NOTHING), np.full((queries, depth), -np.inf)
    given = {row: np.array([result.score for result in of_query], dtype=float) for row, of_query in results.items()}
    fall = all(np.isfinite(of_query).all() and (np.diff(of_query) <= 0).all() for of_query in given.values())
    for row, passages_of_row in rows.items():
        passages[row, : len(passages_of_row)] = passages_of_row
        scores[row, : len(passages_of_row)] = given[row] if fall else -np.arange(1.0, len(passages_of_row) + 1)
    return Ranking(passages, np.where(passages == NOTHING, -np.inf, strictly_falling(scores))), fall


def _name(result: Result) -> str:
    """What a result is called that nothing knows."""
    where = "#".join(filter(None, (result.source, result.page)))
    named: Iterable[str] = (*result.ids[:1], where, one_line(result.text)[:LONGEST_NAME])
    return next(filter(None, named), "a result without id, source and text")
