"""Explains the ranking of one query: what is at each rank, and why."""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import NOTHING, Scores
from ragsweep.core.errors import DatasetError
from ragsweep.core.terminal import aligned, one_line
from ragsweep.datasets import Dataset, Query
from ragsweep.retrieval import Ranker, Ranking, Search, Trace
from ragsweep.retrieval.ingest.ingest import besides
from ragsweep.tasks.ranking.ranking_evaluation import Evaluation
from ragsweep.tasks.ranking.ranking_text import Line, Place, ranking_text
from ragsweep.tasks.ranking.shown import Shown
from ragsweep.tasks.ranking.units import units_of_ranking
from ragsweep.tasks.task import Record
from ragsweep.text.normalisation import composed, folded

if TYPE_CHECKING:
    import pandas as pd

LISTED_QUERIES = 5  # queries that an error names


def find(given: str, queries: Sequence[Query]) -> int:
    """The position of the query with this id, or else of the only query that has or contains this text."""
    ids = [composed(query.query_id) for query in queries]
    if composed(given) in ids:
        return ids.index(composed(given))
    part, texts = _folded(given), [_folded(query.text) for query in queries]
    found = [row for row, text in enumerate(texts) if text == part]
    found = found or [row for row, text in enumerate(texts) if part in text]
    if len(found) == 1:
        return found[0]
    if found:
        listed = "; ".join(f"{ids[row]} {textwrap.shorten(queries[row].text, 60)!r}" for row in found[:LISTED_QUERIES])
        more = f"; and {len(found) - LISTED_QUERIES} more" if len(found) > LISTED_QUERIES else ""
        raise DatasetError(f"query {given!r}: {len(found)} queries have this in their text: {listed}{more}")
    named = dict(zip([*texts, *map(_folded, ids)], [*ids, *ids], strict=True))
    close = dict.fromkeys(named[name] for name in get_close_matches(part, named, n=LISTED_QUERIES, cutoff=0.3))
    hint = f"the nearest ids: {', '.join(close)}" if close else "results/per_query.csv of the run lists all queries"
    raise DatasetError(f"query {given!r}: no query has this id or this text; {hint}")


@dataclass(frozen=True)
class Explanation:
    """The ranking of one query of a recorded run, computed again here.

    Attributes:
        record: What was recorded.
        dataset: The passages, queries and judgments.
        search: What was searched, and for what.
        retriever: The retriever of the run, built again.
        query: Position of the query in the dataset.
        ranking: Of all queries.
        shown: What is returned for it, measured.
        measured: The table of queries.
    """

    record: Record
    dataset: Dataset
    search: Search
    retriever: Ranker
    query: int
    ranking: Ranking
    shown: Shown
    measured: pd.DataFrame

    def text(self, width: int) -> Iterator[str]:
        """All of it, line by line."""
        query, unit = self.dataset.queries[self.query], self.dataset.unit
        of_type = f" ({query.query_type})" if query.query_type else ""
        yield from textwrap.wrap(f"query {query.query_id}{of_type}: {one_line(query.text)}", width)
        if self.trace.searched is not None:
            yield from textwrap.wrap(f"searched as: {one_line(self.trace.searched)}", width)
        if self.trace.change:
            yield from textwrap.wrap(f"changed: {one_line(self.trace.change)}", width)
        yield f"run {one_line(self.record.name)} ({self.record.run_id})"
        for grade in dict.fromkeys(self.grades.values()):
            names = ", ".join(self._name(each) for each, its in self.grades.items() if its == grade)
            yield from textwrap.wrap(f"relevant {unit}s of grade {grade}: {names}", width, subsequent_indent="  ")
        yield ""
        yield from self._measured()
        yield ""
        yield from self._legend()
        yield from ranking_text(self.top, self.missed, self.evaluation.k, unit, width)

    @cached_property
    def grades(self) -> dict[int, int]:
        """The relevant units of the query and their grades: highest grade first, then corpus order."""
        qrels = self._judged.qrels
        relevant = (qrels.query == self.query) & (qrels.grade >= self.evaluation.judged.relevance_level)
        grades = zip(qrels.unit[relevant].tolist(), qrels.grade[relevant].tolist(), strict=True)
        return dict(sorted(grades, key=lambda pair: (-pair[1], pair[0])))

    @cached_property
    def ranked(self) -> list[Line]:
        """The judged ranking, with the ranks of the exported TREC file."""
        judged, row = self.evaluation.judged, self._row
        retrieved = np.flatnonzero(judged.units[row] != NOTHING)
        places = judged.ranks[row, retrieved]
        passages = self.shown.ranking.passages[self.query, places].tolist()
        scores = self.shown.ranking.scores[self.query, places].tolist()
        lines = []
        for rank, passage, score in zip(retrieved.tolist(), passages, scores, strict=True):
            unit, gain = int(judged.units[row, rank]), judged.gains[row, rank]
            if gain:
                judgment = "relevant" if judged.hits[row, rank] else f"grade {gain:g}"
            else:
                judgment = "repeat" if judged.repeated[row, rank] and unit in self.grades else "-"
            lines.append(self._returned(unit, passage, judgment, rank + 1, score))
        return lines

    @property
    def top(self) -> list[Line]:
        """The ranking within the cutoff."""
        return self.ranked[: self._within]

    @property
    def missed(self) -> list[Line]:
        """The relevant units outside the cutoff: first the ranked ones in their order, then the others."""
        later = [line for line in self.ranked[self._within :] if line.judgment == "relevant"]
        judged = self.evaluation.judged
        absent = self.grades.keys() - set(judged.units[self._row].tolist())
        return [*later, *(self._absent(unit) for unit in self.grades if unit in absent)]

    @cached_property
    def trace(self) -> Trace:
        """How the ranking came about."""
        return self.retriever.trace(self.search, self.query)

    @cached_property
    def parts(self) -> Mapping[str, Mapping[int, Place]]:
        """Where each candidate stands in the rankings that the ranking was made of."""
        normalised = self.trace.normalisation.of
        return {name: _places(ranking, normalised(ranking)) for name, ranking in self.trace.parts.items()}

    @property
    def words(self) -> Mapping[str, npt.NDArray[np.float64]] | None:
        """What each word of the query adds to the score of each passage; None if no stage counts words."""
        return self.trace.words and self.trace.words.added

    @property
    def evaluation(self) -> Evaluation:
        """What is returned, measured."""
        return self.shown.evaluation

    @property
    def _within(self) -> int:
        return int(self.evaluation.within[self._row])

    @property
    def _row(self) -> int:
        """Position of the query among those that were judged."""
        return int(np.searchsorted(self.evaluation.judged.queries, self.query))

    def _measured(self) -> Iterator[str]:
        """The recorded metrics, and the metrics computed here if they differ."""
        names = self.evaluation.names
        here = self.measured.iloc[self._row].to_dict()
        of_query = self.record.per_query[self.record.per_query["query_id"] == here["query_id"]].to_dict("records")
        was = of_query[0] if of_query else {}  # the query may have been added since
        differ = [name for name in ("query", *names, "retrieved", "relevant") if was.get(name) != here[name]]
        rows = [["", *names], [f"recorded, k={self.record.params.get('k')}", *_values(was, names)]]
        if differ:
            rows.append([f"here, k={self.evaluation.k}", *_values(here, names)])
        yield from aligned(rows)
        if differ:
            yield f"not as recorded: {', '.join(differ)}; reproducing the run says what has changed"

    def _legend(self) -> Iterator[str]:
        """The stages, and what the columns and remarks mean."""
        if self.trace.stages:
            yield from aligned([["stage", ""], *map(list, self.trace.stages.items())], left=(0, 1))
            yield ""
        if self.parts:
            yield f"score: {self.trace.formula or 'computed from the scores below'}"
            yield f"norm:  {self.trace.normalisation.means}"
        if self.trace.words:
            of = f"{self.trace.words.stage} " if self.trace.words.stage else ""
            yield f"words: what each word of the query adds to the {of}score"
        if self.parts or self.words is not None:
            yield ""

    def _returned(self, unit: int, passage: int, judgment: str, rank: int, score: float) -> Line:
        """A line of the ranking; what is more than a passage stands beside the passage that was found first in it."""
        ranks = self.shown.ranks_of.get((self.query, passage))
        if ranks is None:
            return self._line(unit, passage, judgment, rank, score)
        line = self._line(unit, int(self.ranking.passages[self.query, ranks[0]]), judgment, rank, score)
        returned = f"returned for what was found at rank {', '.join(str(each + 1) for each in ranks)}"
        return line._replace(remarks=[returned, *line.remarks], text=self.shown.items.texts[passage])

    def _line(
        self, unit: int, passage: int, judgment: str, rank: int | None = None, score: float | None = None
    ) -> Line:
        parts = {name: places.get(passage) for name, places in self.parts.items()}
        remarks = [] if rank else [self._reason(passage)]
        if self.words is not None:
            added = {word: float(scores[passage]) for word, scores in self.words.items() if scores[passage]}
            heaviest = sorted(added, key=lambda word: -added[word])
            shared = ", ".join(f"{word} {added[word]:.1f}" for word in heaviest)
            remarks.append(f"words: {shared}" if shared else "no word of the query adds to its score")
        text = self.dataset.texts[passage]
        if indexed := besides(self.dataset.indexed_texts[passage], text):
            remarks.append(f"indexed as: {one_line(indexed)}")
        return Line(rank, score, self._name(unit), judgment, parts, remarks, text)

    def _reason(self, passage: int) -> str:
        """Why a relevant unit is not in the ranking."""
        ranks = np.flatnonzero(self.ranking.passages[self.query] == passage)
        if not len(ranks):
            end = int((self.ranking.passages[self.query] != NOTHING).sum())
            return f"not in the ranking, which ends at rank {end}"
        stands_for = int(units_of_ranking(self.ranking.passages, self.dataset)[self.query, ranks[0]])
        return f"its passage is at rank {ranks[0] + 1}, where it stands for {self._name(stands_for)}"

    def _absent(self, unit: int) -> Line:
        """A relevant unit that the ranking lacks, with its passage that came nearest to being retrieved."""
        if self._judged is not self.dataset:
            text = self._judged.texts[int(self._judged.passages_of(unit)[0])]
            return Line(None, None, self._name(unit), "missed", dict.fromkeys(self.parts), ["it is not returned"], text)
        passages = self.dataset.passages_of(unit).tolist()
        if not passages:
            never = ["has no passage: it can never be found"]
            return Line(None, None, self._name(unit), "missed", dict.fromkeys(self.parts), never, "")

        def nearness(passage: int) -> tuple[float, float]:
            places = [part[passage] for part in self.parts.values() if passage in part]
            added = sum(float(scores[passage]) for scores in (self.words or {}).values())
            return max((place.normalised for place in places), default=-np.inf), added

        ranked = [each for each in self.ranking.passages[self.query].tolist() if each in passages]  # has other pages
        return self._line(unit, ranked[0] if ranked else max(passages, key=nearness), "missed")

    def _name(self, unit: int) -> str:
        """A unit's name, without the document if there is only one document."""
        name = self._judged.units[unit]
        return one_line(name.removeprefix(f"{self._only_document}#") if self._only_document else name)

    @property
    def _judged(self) -> Dataset:
        """The dataset whose units are judged: passages that are returned in place of those that were found, or all."""
        return self.shown.items if self.shown.ranks_of and self.dataset.unit == "passage" else self.dataset

    @cached_property
    def _only_document(self) -> str | None:
        sources = {passage.source for passage in self.dataset.passages}
        return sources.pop() if len(sources) == 1 else None


def _values(row: Mapping[Hashable, Any], names: Sequence[str]) -> list[str]:
    """The metrics of a row of the table of queries."""
    return [f"{row[name]:.4f}" if name in row else "-" for name in names]


def _places(candidates: Ranking, normalised: Scores) -> dict[int, Place]:
    """The places of one query's candidates, by passage."""
    columns = (candidates.passages[0], candidates.scores[0], normalised[0])
    places = zip(*(column.tolist() for column in columns), strict=True)
    return {
        passage: Place(rank, score, normalised)
        for rank, (passage, score, normalised) in enumerate(places, start=1)
        if passage != NOTHING
    }


def _folded(text: str) -> str:
    return " ".join(folded(text).split())
