"""What the metrics of spans need: the references of the judged queries, and the passages retrieved for them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np

from ragsweep.core.arrays import Indices
from ragsweep.datasets import Dataset
from ragsweep.datasets.model.overlaps import on_one_line, overlapping
from ragsweep.datasets.model.word_positions import Words, number_words, shares_of_words
from ragsweep.retrieval import NOTHING
from ragsweep.statistics.intervals import Array
from ragsweep.tasks.ranking.spans.counts import Counts, Placed, count_characters, count_words

Computed = TypeVar("Computed")
Token = Literal["character", "word"]


@dataclass(frozen=True, eq=False)
class Spans:
    """The references of the judged queries, and the passages retrieved for them.

    Counts are computed when a metric first asks for them, once for all metrics and cutoffs.

    Attributes:
        passages: Passage at each rank, `NOTHING` after the last one, shape [queries, cutoffs].
        rows: The query of each reference, in ascending order, shape [references].
        spans: Start and end of each passage of the corpus, with the characters of all documents counted through, shape
            [passages, 2].
        documents: The document of each passage, shape [passages].
        texts: The text of each passage.
        reference_spans: Start and end of each reference, counted like those of passages, shape [references, 2]; both
            are the same for a reference without offsets.
        reference_documents: The document of each reference, shape [references].
        reference_texts: The text of each reference.
        relevant: A query, and a passage that has a part of one of its references, shape [pairs, 2].
    """

    passages: Indices
    rows: Indices
    spans: Indices
    documents: Indices
    texts: tuple[str, ...]
    reference_spans: Indices
    reference_documents: Indices
    reference_texts: tuple[str, ...]
    relevant: Indices
    kept: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def placed(self) -> Placed:
        """The retrieved passages."""
        row, rank = np.nonzero(self.passages != NOTHING)
        return Placed(row, rank, self.passages[row, rank], *self.passages.shape)

    @cached_property
    def retrieved(self) -> Array:
        """How many of the first 0, 1, ... ranks have a passage, shape [queries, cutoffs + 1]."""
        return self.placed.add_up(self.placed.row, self.placed.rank, np.ones(len(self.placed.row)))

    def counts(self, token: Token) -> Counts:
        """What the first passages of each query share with its references."""
        return self._once(("counts", token), lambda: self._count(token, self.placed))

    def counts_of_relevant(self, token: Token, *, touching: bool = False) -> Counts:
        """The same for all passages that have a part of a reference, in column 1.

        Args:
            token: What is counted.
            touching: Whether a passage that ends where a reference begins, or the other way round, is one of them.
        """

        def count() -> Counts:
            pairs = self.relevant
            if touching:
                reference, passage = overlapping(self.spans, self.reference_spans + np.array([-1, 1]))
                pairs = np.unique(np.column_stack([self.rows[reference], passage]), axis=0)
            rows, passages = pairs.T
            return self._count(token, Placed(rows, np.zeros_like(rows), passages, len(self.passages), 1))

        return self._once(("relevant", token, touching), count)

    def held(self, token: Token) -> Array:
        """The share of each reference that the passage at each rank has, shape [references, cutoffs].

        With `word`, it is the share of the reference's words that occur in the passage; else that of its characters.
        """
        return self._once(("held", token), lambda: self._held(token))

    def _count(self, token: Token, placed: Placed) -> Counts:
        if token == "character":
            return count_characters(placed, self.spans, self.rows, self.reference_spans)
        passages, references = self._words(placed.passage)
        return count_words(placed, passages, self.rows, references)

    def _held(self, token: Token) -> Array:
        of_references = self.passages[self.rows]
        reference, rank = np.nonzero(of_references != NOTHING)
        passage = of_references[reference, rank]
        held = np.zeros(of_references.shape)
        if token == "character":
            (start, end), (first, last) = self.reference_spans[reference].T, self.spans[passage].T
            held[reference, rank] = (np.minimum(end, last) - np.maximum(start, first)).clip(min=0) / (end - start)
        else:
            passages, references = self._words(passage)
            held[reference, rank] = shares_of_words(passages, references, passage, reference)
        return held

    def _words(self, passages: Indices) -> list[Words]:
        """The words of these passages, and of all references; the other passages get none."""
        used = set(passages.tolist())
        texts = (text if place in used else "" for place, text in enumerate(self.texts))
        return self._once(("words", *sorted(used)), lambda: number_words([*texts], self.reference_texts))

    def _once(self, name: Hashable, compute: Callable[[], Computed]) -> Computed:
        if name not in self.kept:
            self.kept[name] = compute()
        computed: Computed = self.kept[name]
        return computed


def retrieved_spans(dataset: Dataset, queries: Indices, passages: Indices) -> Spans:
    """The spans of the judged queries of a dataset.

    Args:
        dataset: Passages, references and judgments.
        queries: Positions of the judged queries, in ascending order, shape [queries].
        passages: Passage at each of their ranks, as many as there are cutoffs, shape [queries, cutoffs].
    """
    row_of = {dataset.queries[query].query_id: row for row, query in enumerate(queries.tolist())}
    references = [reference for reference in dataset.references if reference.query_id in row_of]
    references.sort(key=lambda reference: row_of[reference.query_id])
    spans, reference_spans = on_one_line(dataset.passages, references)
    sources = [*(passage.source for passage in dataset.passages), *(reference.source for reference in references)]
    names = {source: place for place, source in enumerate(dict.fromkeys(sources))}
    of_unit = np.full(len(dataset.units), NOTHING)
    of_unit[dataset.passage_units] = np.arange(len(dataset.passages))
    grade = dataset.qrels.grade > 0
    relevant = np.column_stack(
        [np.searchsorted(queries, dataset.qrels.query[grade]), of_unit[dataset.qrels.unit[grade]]]
    )
    return Spans(
        passages=passages,
        rows=np.array([row_of[reference.query_id] for reference in references], dtype=np.int64),
        spans=spans,
        documents=np.array([names[passage.source] for passage in dataset.passages], dtype=np.int64),
        texts=dataset.texts,
        reference_spans=reference_spans,
        reference_documents=np.array([names[reference.source] for reference in references], dtype=np.int64),
        reference_texts=tuple(reference.text for reference in references),
        relevant=np.unique(relevant[relevant[:, 1] != NOTHING], axis=0),
    )
