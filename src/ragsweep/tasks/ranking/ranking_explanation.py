"""Explains the ranking of one query on a terminal: what is at each rank, and why."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ragsweep.core.arrays import NOTHING
from ragsweep.core.errors import DatasetError
from ragsweep.core.terminal import aligned, one_line, shortened
from ragsweep.datasets import Dataset, Query
from ragsweep.retrieval import Ranker, Ranking, Search, Trace
from ragsweep.retrieval.ingest.ingest import besides
from ragsweep.tasks.ranking.shown import Shown
from ragsweep.tasks.ranking.units import units_of_ranking
from ragsweep.tasks.task import Record
from ragsweep.text.normalisation import composed, folded

if TYPE_CHECKING:
    import pandas as pd

LISTED_QUERIES = 5  # queries that an error names
TEXT_LINES = 2  # of a passage
SHORTEST_UNIT = 8  # characters of its name
INDENT = " " * 6


class Place(NamedTuple):
    """The rank (from 1), score and normalised score of a passage in one of the fused rankings."""

    rank: int
    score: float
    normalised: float


@dataclass(frozen=True)
class Line:
    """A passage in the ranking, or a relevant unit that is not in the ranking.

    Attributes:
        unit: Name of its unit, for example of its page.
        judgment: Its relevance for the query, in a word or two.
        rank: Rank from 1; None if it is not in the ranking.
        score: The score that decides the rank.
        parts: Its place in each fused ranking, None if it is not in that ranking. Empty without fusion.
        remarks: Further lines about the passage. Longer ones are cut.
        text: Text of the passage.
    """

    unit: str
    judgment: str
    rank: int | None
    score: float | None
    parts: Mapping[str, Place | None]
    remarks: Sequence[str] = ()
    text: str = ""

    @property
    def cells(self) -> list[str]:
        """Its row of the table."""
        rank, score = str(self.rank or "-"), "" if self.score is None else f"{self.score:.4f}"
        cells = [rank, score, self.unit, self.judgment]
        for place in self.parts.values():
            cells += [f"#{place.rank}", f"{place.score:.4f}", f"{place.normalised:.4f}"] if place else ["-", "", "0"]
        return cells

    def below(self, width: int) -> Iterator[str]:
        """What stands below its row."""
        for text, lines in [*((remark, 1) for remark in self.remarks), (one_line(self.text), TEXT_LINES)]:
            yield from textwrap.wrap(
                text, width, initial_indent=INDENT, subsequent_indent=INDENT, max_lines=lines, placeholder=" ..."
            )


def ranking_text(top: Sequence[Line], missed: Sequence[Line], k: int, unit: str, width: int) -> Iterator[str]:
    """The ranking within the cutoff, a line at the cutoff, and the relevant units that were missed.

    The unit is what is judged, such as a page; the width is that of the terminal, in columns.
    """
    parts = dict.fromkeys(name for line in [*top, *missed] for name in line.parts)
    titles = ["rank", "score", unit, "judged", *(title for name in parts for title in (name, "score", "norm"))]
    rows = [titles, *(line.cells for line in [*top, *missed])]
    longest = max(len(row[2]) for row in rows) - max(0, max(map(len, aligned(rows, (2, 3)))) - width)
    heading, *heads = aligned(
        [[*row[:2], shortened(row[2], max(SHORTEST_UNIT, longest)), *row[3:]] for row in rows], (2, 3)
    )
    blocks = [[head, *line.below(width)] for head, line in zip(heads, [*top, *missed], strict=True)]
    yield heading
    yield from (line for block in blocks[: len(top)] for line in block)
    if not top:
        yield f"{INDENT}nothing was retrieved"
    yield f"--- cutoff k={k} {'-' * width}"[:width]
    yield f"missed {unit}s:" if missed else f"no relevant {unit} was missed"
    yield from (line for block in blocks[len(top) :] for line in block)


def find(given: str, queries: Sequence[Query]) -> int:
    """The position of the query with this id, or else of the only query that has or contains this text."""
    ids = [composed(query.query_id) for query in queries]
    if composed(given) in ids:
        return ids.index(composed(given))
    part, texts = _folded(given), [_folded(query.text) for query in queries]
    rows = [row for row, text in enumerate(texts) if text == part]
    rows = rows or [row for row, text in enumerate(texts) if part in text]
    if len(rows) == 1:
        return rows[0]
    if rows:
        listed = "; ".join(f"{ids[row]} {textwrap.shorten(queries[row].text, 60)!r}" for row in rows[:LISTED_QUERIES])
        more = ", such as" if len(rows) > LISTED_QUERIES else ""
        raise DatasetError(f"query {given!r}: {len(rows)} queries have this in their text{more}: {listed}")
    id_of = dict(zip([*texts, *map(_folded, ids)], [*ids, *ids], strict=True))
    close = dict.fromkeys(id_of[name] for name in get_close_matches(part, id_of, n=LISTED_QUERIES, cutoff=0.3))
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
        query, unit, trace = self.dataset.queries[self.query], self.dataset.unit, self.trace
        of_type = f" ({query.query_type})" if query.query_type else ""
        yield from textwrap.wrap(f"query {query.query_id}{of_type}: {one_line(query.text)}", width)
        if trace.searched is not None:
            yield from textwrap.wrap(f"searched as: {one_line(trace.searched)}", width)
        if trace.change:
            yield from textwrap.wrap(f"changed: {one_line(trace.change)}", width)
        yield f"run {one_line(self.record.name)} ({self.record.run_id})"
        for grade in dict.fromkeys(self.grades.values()):
            names = ", ".join(self._name(unit) for unit, of_unit in self.grades.items() if of_unit == grade)
            yield from textwrap.wrap(f"relevant {unit}s of grade {grade}: {names}", width, subsequent_indent="  ")
        yield from ["", *self._metrics(), ""]
        if trace.stages:
            yield from [*aligned([["stage", ""], *map(list, trace.stages.items())], left=(0, 1)), ""]
        scores = []
        if self.parts:
            formula = trace.formula or "computed from the scores below"
            scores += [f"score: {formula}", f"norm:  {trace.normalisation.means}"]
        if trace.words:
            scores.append(f"words: what each word of the query adds to the {f'{trace.words.stage} score'.strip()}")
        yield from [*scores, ""] if scores else []
        ranked, within = list(self._ranked()), int(self.shown.evaluation.within[self._row])
        judged = self.shown.evaluation.judged.units[self._row]
        missed = [line for line in ranked[within:] if line.judgment == "relevant"]
        missed += [self._absent(unit) for unit in self.grades if unit not in judged]
        yield from ranking_text(ranked[:within], missed, self.shown.evaluation.k, unit, width)

    @cached_property
    def grades(self) -> dict[int, int]:
        """The relevant units of the query and their grades: highest grade first, then corpus order."""
        qrels = self._judged.qrels
        relevant = (qrels.query == self.query) & (qrels.grade >= self.shown.evaluation.judged.relevance_level)
        grades = zip(qrels.unit[relevant].tolist(), qrels.grade[relevant].tolist(), strict=True)
        return dict(sorted(grades, key=lambda pair: (-pair[1], pair[0])))

    @cached_property
    def trace(self) -> Trace:
        """How the ranking came about."""
        return self.retriever.trace(self.search, self.query)

    @cached_property
    def parts(self) -> Mapping[str, Mapping[int, Place]]:
        """Where each candidate stands in the rankings that the ranking was made of."""
        places: dict[str, dict[int, Place]] = {}
        for name, part in self.trace.parts.items():
            rows = part.passages[0].tolist(), part.scores[0].tolist(), self.trace.normalisation.of(part)[0].tolist()
            places[name] = {
                passage: Place(rank, *scores) for rank, (passage, *scores) in enumerate(zip(*rows, strict=True), 1)
            }
            places[name].pop(NOTHING, None)
        return places

    @property
    def _row(self) -> int:
        """Position of the query among those that were judged."""
        return int(np.searchsorted(self.shown.evaluation.judged.queries, self.query))

    @property
    def _judged(self) -> Dataset:
        """The dataset whose units are judged: passages that are returned in place of those that were found, or all."""
        return self.shown.items if self.shown.ranks_of and self.dataset.unit == "passage" else self.dataset

    def _metrics(self) -> Iterator[str]:
        """The recorded metrics, and the metrics computed here if they differ."""
        names, k = self.shown.evaluation.names, self.record.params.get("k")
        computed = self.measured.iloc[self._row].to_dict()
        of_query = self.record.per_query[self.record.per_query["query_id"] == computed["query_id"]].to_dict("records")
        was = of_query[0] if of_query else {}  # the query may have been added since
        differ = [name for name in ("query", *names, "retrieved", "relevant") if was.get(name) != computed[name]]
        rows = {f"recorded, k={k}": was} | ({f"here, k={self.shown.evaluation.k}": computed} if differ else {})
        values = (
            [title, *(f"{row[name]:.4f}" if name in row else "-" for name in names)] for title, row in rows.items()
        )
        yield from aligned([["", *names], *values])
        if differ:
            yield f"not as recorded: {', '.join(differ)}; reproducing the run says what has changed"

    def _ranked(self) -> Iterator[Line]:
        """The judged ranking, with the ranks of the exported TREC file.

        What is more than a passage has the line of the passage that was found first in it.
        """
        judged, row = self.shown.evaluation.judged, self._row
        for rank in np.flatnonzero(judged.units[row] != NOTHING).tolist():
            unit, place = int(judged.units[row, rank]), judged.ranks[row, rank]
            if gain := judged.gains[row, rank]:
                judgment = "relevant" if judged.hits[row, rank] else f"grade {gain:g}"
            else:
                judgment = "repeat" if judged.repeated[row, rank] and unit in self.grades else "-"
            passage = int(self.shown.ranking.passages[self.query, place])
            score = float(self.shown.ranking.scores[self.query, place])
            ranks = self.shown.ranks_of.get((self.query, passage))
            first = passage if ranks is None else int(self.ranking.passages[self.query, ranks[0]])
            line = self._line(unit, first, judgment, rank + 1, score)
            if ranks is not None:
                returned = f"returned for what was found at rank {', '.join(str(place + 1) for place in ranks)}"
                line = replace(line, remarks=[returned, *line.remarks], text=self.shown.items.texts[passage])
            yield line

    def _line(
        self, unit: int, passage: int, judgment: str, rank: int | None = None, score: float | None = None
    ) -> Line:
        parts = {name: places.get(passage) for name, places in self.parts.items()}
        remarks = [] if rank else [self._reason(passage)]
        if self.trace.words:
            added = {word: float(scores[passage]) for word, scores in self.trace.words.added.items() if scores[passage]}
            shared = ", ".join(f"{word} {added[word]:.1f}" for word in sorted(added, key=lambda word: -added[word]))
            remarks.append(f"words: {shared}" if shared else "no word of the query adds to its score")
        text = self.dataset.texts[passage]
        if indexed := besides(self.dataset.indexed_texts[passage], text):
            remarks.append(f"indexed as: {one_line(indexed)}")
        return Line(self._name(unit), judgment, rank, score, parts, remarks, text)

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
        missed = Line(self._name(unit), "missed", None, None, dict.fromkeys(self.parts))
        if self._judged is not self.dataset:
            text = self._judged.texts[int(self._judged.passages_of(unit)[0])]
            return replace(missed, remarks=["it is not returned"], text=text)
        passages = self.dataset.passages_of(unit).tolist()
        if not passages:
            return replace(missed, remarks=["has no passage: it can never be found"])

        def nearness(passage: int) -> tuple[float, float]:
            normalised = [part[passage].normalised for part in self.parts.values() if passage in part]
            words = self.trace.words.added.values() if self.trace.words else ()
            return max(normalised, default=-np.inf), sum(float(scores[passage]) for scores in words)

        ranked = [row for row in self.ranking.passages[self.query].tolist() if row in passages]  # has other pages
        return self._line(unit, ranked[0] if ranked else max(passages, key=nearness), "missed")

    def _name(self, unit: int) -> str:
        """A unit's name, without the document if there is only one document."""
        name, (source, *further) = self._judged.units[unit], {passage.source for passage in self.dataset.passages}
        return one_line(name if further else name.removeprefix(f"{source}#"))


def _folded(text: str) -> str:
    return " ".join(folded(text).split())
