"""The parts of documents that are returned for the passages of a ranking, as a dataset and a ranking of their own.

A part stands at as many places of the judged ranking as it has judged units: where pages are judged, at one place for
each of its pages, first those on which a passage was found. So every page that is returned counts, and none counts
twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.core.trec_files import strictly_falling
from ragsweep.datasets import Dataset, Document, Qrels
from ragsweep.datasets.model.collection import Page
from ragsweep.datasets.model.dataset import Passage
from ragsweep.datasets.model.span_judgments import relevant_passages
from ragsweep.models.encoders.token_counts import token_counts
from ragsweep.retrieval import Ranking
from ragsweep.retrieval.returned_units.merging import Enlarging, Part
from ragsweep.statistics.intervals import Array
from ragsweep.store.stage_store import Store
from ragsweep.tasks.ranking.judging import Judged
from ragsweep.tasks.ranking.ranking_settings import EvaluationSettings

RANKED_AT_LEAST = 100  # a query with fewer ranked passages has no others


class ReturnedParts:
    """The parts that are returned for the judged queries at every cutoff, in pieces with one unit each."""

    def __init__(
        self, items: Dataset, enlarging: Enlarging, ranking: Ranking, evaluation: EvaluationSettings, deepest: int
    ) -> None:
        """Find the parts at the cutoffs 1 to `deepest`."""
        self.queries = np.unique(items.qrels.query)
        self._items, self._ranking, self._enlarging, self._evaluation = items, ranking, enlarging, evaluation
        self._documents = {document.source: document for document in items.documents}
        self._positions = {unit: position for position, unit in enumerate(items.units)}
        self._numbers: dict[tuple[str, int, int], int] = {}
        self._passages: list[Passage] = []
        self._units: list[int] = []
        self._by_pages = items.unit == "page"
        self.parts: list[list[list[Part]]] = []  # by query and cutoff
        self._rows: list[list[list[tuple[int, ...]]]] = []  # the pieces of these parts
        for query in self.queries.tolist():
            ranked = ranking.passages[query][ranking.passages[query] != NOTHING].tolist()
            at_cutoffs = enlarging.at_cutoffs(ranked, ranking.scores[query].tolist(), deepest)
            self.parts.append(at_cutoffs)
            new = dict.fromkeys(part for parts in at_cutoffs for part in parts)
            pieces = {part: self._pieces_of(part, ranked) for part in new}
            self._rows.append([[pieces[part] for part in parts] for parts in at_cutoffs])
        if not self._passages:  # nothing is found for any query, and a dataset has passages
            first = items.passages[0]
            self._number(self._documents[first.source], first.start, first.end)
        self._best = self._best_possible() if items.references else {}
        self._all = self._as_dataset()
        rows = {query.query_id: row for row, query in enumerate(items.queries)}
        judgments = relevant_passages(items.references, self._passages, evaluation.fuzzy_threshold)
        numbers = {passage.chunk_id: number for number, passage in enumerate(self._passages)}
        self._relevant = {(rows[of.query_id], numbers[of.unit]) for of in judgments if of.grade}

    @property
    def numbers(self) -> Indices:
        """How many parts each query gets at most, shape [queries]."""
        return np.array([max(map(len, at_cutoffs)) for at_cutoffs in self.parts], dtype=np.int64)

    @property
    def mean_size(self) -> float:
        """The mean size of what may be returned, in characters."""
        spans = zip(self._items.passages, self._enlarging.spans, strict=True)
        units = {(passage.source, *span) for passage, span in spans}
        return sum(end - start for _, start, end in units) / len(units)

    def tokens(self, counter: tuple[str, Store]) -> Array | None:
        """The tokens of what each query gets at each cutoff, shape [cutoffs, queries]; None if they are not known."""
        counts = token_counts(self._all.texts, *counter)
        if counts is None:
            return None
        of = counts.tolist()
        sums = [[sum(of[piece] for part in at for piece in part) for at in rows] for rows in self._rows]
        return np.array(sums, dtype=np.float64).T

    def ended(self, cutoffs: Indices, depth: int, budget: int | None) -> int:
        """For how many queries more passages may be found, and those that are ranked make too little."""
        ranked = (self._ranking.passages[self.queries] != NOTHING).sum(axis=1)
        ends = depth if len(self._ranking.floor) else RANKED_AT_LEAST  # some have fewer candidates
        more = (ranked >= ends) & (ranked < len(self._items.passages))
        less = self.numbers < cutoffs if budget is None else self.numbers <= cutoffs
        return int((more & less).sum())

    def ranks_of(self, cutoffs: Indices) -> dict[tuple[int, int], tuple[int, ...]]:
        """The ranks of the passages that each piece at the cutoff of its query is returned for."""
        return {
            (int(query), piece): part.ranks
            for row, (query, cutoff) in enumerate(zip(self.queries, cutoffs.tolist(), strict=True))
            if cutoff
            for part, pieces in zip(self.parts[row][cutoff - 1], self._rows[row][cutoff - 1], strict=True)
            for piece in pieces
        }

    def values(self, cutoff: int) -> Array:
        """The value of each metric at a cutoff, shape [metrics, queries]."""
        items, _, judged, places = self.judged(np.full(len(self.queries), cutoff))
        values = np.empty((len(self._evaluation.metrics), len(self.queries)))
        for number in np.unique(places).tolist():
            rows = np.flatnonzero(places == number)
            judged_rows = judged if len(rows) == len(self.queries) else judged.rows(rows)
            values[:, rows] = self._evaluation.values(items, judged_rows, number)
        return values

    def judged(self, cutoffs: Indices) -> tuple[Dataset, Ranking, Judged, Indices]:
        """What each query gets at a cutoff of its own, judged; nothing at cutoff 0.

        Returns:
            The dataset with the pieces as passages, and the judgments of these; the pieces, ranked; the judged ranking;
            how many places each judged query has, shape [queries].
        """
        rows = [rows[cutoff - 1] if cutoff else [] for rows, cutoff in zip(self._rows, cutoffs.tolist(), strict=True)]
        parts = [of[cutoff - 1] if cutoff else [] for of, cutoff in zip(self.parts, cutoffs.tolist(), strict=True)]
        width = max(1, *(sum(map(len, row)) for row in rows), int(cutoffs.max(initial=0)))
        passages = np.full((len(self._items.queries), width), NOTHING)
        scores = np.full(passages.shape, -np.inf)
        for query, row, of_row in zip(self.queries.tolist(), rows, parts, strict=True):
            pieces = [piece for part in row for piece in part]
            passages[query, : len(pieces)] = pieces
            scores[query, : len(pieces)] = [part.score for part, inner in zip(of_row, row, strict=True) for _ in inner]
        items = self._with_qrels(rows) if self._items.references else self._all
        scores = np.where(scores == -np.inf, -np.inf, strictly_falling(scores))  # so that pieces keep their order
        ranking = replace(self._ranking, passages=passages, scores=scores, floor=np.empty(0))
        judged = self._evaluation.judged(items, ranking, width)
        missing = cutoffs - np.array([len(row) for row in rows])
        return items, ranking, judged, (judged.units != NOTHING).sum(axis=1) + missing

    def _pieces_of(self, part: Part, ranked: Sequence[int]) -> tuple[int, ...]:
        """The positions of the pieces of a part, which are new if no other part had them."""
        document = self._documents[part.source]
        if not self._by_pages:
            return (self._number(document, part.start, part.end),)
        passages = [self._items.passages[ranked[rank]] for rank in part.ranks]

        def first_found(page: Page) -> int:
            ranks = (rank for rank, of in enumerate(passages) if of.start < page.end and of.end > page.start)
            return next(ranks, len(passages))

        pages = [page for page in document.pages if page.start < part.end and page.end > part.start]
        borders = [(max(part.start, page.start), min(part.end, page.end)) for page in sorted(pages, key=first_found)]
        return tuple(self._number(document, *span) for span in borders if document.text[slice(*span)].strip())

    def _number(self, document: Document, start: int, end: int) -> int:
        key = (document.source, start, end)
        if key not in self._numbers:
            self._numbers[key] = len(self._passages)
            page = next(page for page in reversed(document.pages) if page.start <= start)
            name = f"{document.source}#{page.page + 1}/{start}-{end}"
            passage = Passage(document.text[start:end], document.source, page.page, page.page_number, name, start, end)
            self._passages.append(passage)
            self._units.append(self._positions[page.unit] if self._items.unit != "passage" else len(self._units))
        return self._numbers[key]

    def _best_possible(self) -> Mapping[int, Sequence[int]]:
        """By query, the pieces that are returned if exactly the passages with a part of a reference are found."""
        best: dict[int, Sequence[int]] = {}
        qrels = self._items.qrels
        for query in self.queries.tolist():
            relevant = qrels.unit[(qrels.query == query) & (qrels.grade > 0)]
            passages = np.flatnonzero(np.isin(self._items.passage_units, relevant)).tolist()
            parts = self._enlarging.together(passages, [0.0] * len(passages))
            best[query] = [piece for part in parts for piece in self._pieces_of(part, passages)]
        return best

    def _with_qrels(self, rows: Sequence[Sequence[Sequence[int]]]) -> Dataset:
        """The dataset with judgments of what each query gets, and of what is best to be added to that.

        So R is how many pieces with a part of a reference there are, besides those that could not be returned beside
        what is returned.
        """
        judgments = []
        for query, row in zip(self.queries.tolist(), rows, strict=True):
            returned = [piece for part in row for piece in part if (query, piece) in self._relevant]
            lost = [piece for piece in self._best[query] if not any(self._overlap(piece, other) for other in returned)]
            judgments += [(query, piece, 1) for piece in (*returned, *lost)] or [(query, 0, 0)]
        return replace(self._all, qrels=Qrels(*np.array(judgments, dtype=np.int64).T))

    def _overlap(self, piece: int, other: int) -> bool:
        one, two = self._passages[piece], self._passages[other]
        return one.source == two.source and one.start < two.end and two.start < one.end

    def _as_dataset(self) -> Dataset:
        names = tuple(passage.chunk_id for passage in self._passages)
        return replace(
            self._items,
            units=names if self._items.unit == "passage" else self._items.units,
            passages=tuple(self._passages),
            passage_units=np.array(self._units, dtype=np.int64),
            further_units=np.empty((0, 2), dtype=np.int64),
        )
