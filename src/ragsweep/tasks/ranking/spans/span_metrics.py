"""Metrics of spans: which text the passages share with the references, and which references and documents they find.

Each takes `(judged, k)` and returns values of shape [queries], in [0, 1] unless it says otherwise. Further arguments:

    token: What is compared: a `character` of the documents, by its offset; or a `word` of a multiset of words.
    overlap: `union` counts a character once, however many passages or references have it. `chroma` counts as the code
        of Chroma's chunking_evaluation does: each retrieved passage, and what each reference misses, in full.
    threshold: A passage holds a reference if it has at least this share of its tokens.

Definitions follow Smith and Troynikov, Evaluating Chunking Strategies for Retrieval (Chroma 2024); docs/data.md says
what differs. Recalls, coverages and accuracies are never smaller for a larger k.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ragsweep.core.arrays import Indices
from ragsweep.datasets.model.word_positions import LEAST_HELD
from ragsweep.retrieval import NOTHING
from ragsweep.statistics.intervals import Array
from ragsweep.tasks.metric import metric
from ragsweep.tasks.ranking.judging import Hits, Judged
from ragsweep.tasks.ranking.metrics import PerQuery
from ragsweep.tasks.ranking.spans.counts import Counts
from ragsweep.tasks.ranking.spans.needs import of_spans, ratio, spans_in
from ragsweep.tasks.ranking.spans.spans import Spans, Token

SpanOverlap = Literal["union", "chroma"]


@of_spans
@metric("Token IoU", low=0, high=1, of_text=True)
def token_iou(judged: Judged, k: int, *, token: Token = "character", overlap: SpanOverlap = "union") -> PerQuery:
    """Tokens that the first k passages share with the references, as a share of the tokens of both together.

    Also called Jaccard index.
    """
    counts, k = _counts(judged, k, token)
    if overlap == "chroma":
        missed = counts.referenced_repeated[:, 0] - counts.shared_repeated[:, k]
        return ratio(counts.shared[:, k], counts.retrieved_repeated[:, k] + missed)
    return _iou(counts, k)


@of_spans
@metric("Token precision", low=0, high=1, of_text=True)
def token_precision(judged: Judged, k: int, *, token: Token = "character", overlap: SpanOverlap = "union") -> PerQuery:
    """Share of the tokens of the first k passages that belong to a reference. 0 if nothing was retrieved."""
    counts, k = _counts(judged, k, token)
    return ratio(counts.shared[:, k], _retrieved(counts, overlap)[:, k])


@of_spans
@metric("Token recall", low=0, high=1)
def token_recall(judged: Judged, k: int, *, token: Token = "character", overlap: SpanOverlap = "union") -> PerQuery:
    """Share of the tokens of the references that are in the first k passages."""
    counts, k = _counts(judged, k, token)
    return ratio(counts.shared[:, k], _referenced(counts, overlap)[:, 0])


@of_spans
@metric("Token F1", low=0, high=1, of_text=True)
def token_f1(judged: Judged, k: int, *, token: Token = "character", overlap: SpanOverlap = "union") -> PerQuery:
    """Harmonic mean of token precision and token recall of a query, also called Dice coefficient."""
    counts, k = _counts(judged, k, token)
    return ratio(2 * counts.shared[:, k], _retrieved(counts, overlap)[:, k] + _referenced(counts, overlap)[:, 0])


@of_spans
@metric("Precision Ω", low=0, high=1, of_text=True)
def token_precision_omega(
    judged: Judged, k: int, *, token: Token = "character", overlap: SpanOverlap = "union"
) -> PerQuery:
    """Token precision if exactly the passages with a part of a reference were retrieved.

    It depends on how the documents are cut, not on the ranking or the cutoff: no retriever that finds all references
    has a higher precision. With `chroma`, a passage that only touches a reference counts as one with a part of it, and
    what no passage has of the references is added to the denominator, as in Chroma's code.
    """
    spans = spans_in(judged)
    if overlap == "chroma" and token == "character":
        return _iou(spans.counts_of_relevant(token, touching=True), 1)
    counts = spans.counts_of_relevant(token)
    return ratio(counts.shared[:, 1], counts.retrieved[:, 1])


@of_spans
@metric("Passage coverage", low=0, high=1)
def passage_coverage(judged: Judged, k: int, *, token: Token = "character", threshold: float = LEAST_HELD) -> PerQuery:
    """Share of the references of a query that one of the first k passages holds."""
    spans = spans_in(judged)
    return _share_of_references(spans.rows, spans.held(token)[:, :k] >= threshold, spans)


@of_spans
@metric("Passage accuracy", low=0, high=1, binary=True)
def passage_accuracy(judged: Judged, k: int, *, token: Token = "character", threshold: float = LEAST_HELD) -> PerQuery:
    """Whether the first k passages hold all references of a query: 0.0 or 1.0."""
    return _whether_all(passage_coverage(judged, k, token=token, threshold=threshold))


@of_spans
@metric("Passage precision", low=0, high=1)
def passage_precision(judged: Judged, k: int, *, token: Token = "character", threshold: float = LEAST_HELD) -> PerQuery:
    """Share of the first k passages that hold a reference. If fewer than k were retrieved, the share of those.

    The metric `precision` divides by k, and counts passages with any part of a reference.
    """
    spans = spans_in(judged)
    return ratio(_ranks_with_any(spans.held(token)[:, :k] >= threshold, spans), _passages_within(spans, k))


@of_spans
@metric("Passage recall", low=0, high=1)
def passage_recall(judged: Judged, k: int, *, token: Token = "character", threshold: float = LEAST_HELD) -> PerQuery:
    """The same number as `passage_coverage`, by definition; it is here because `passage_f1` is computed from it."""
    return passage_coverage(judged, k, token=token, threshold=threshold)


@of_spans
@metric("Passage F1", low=0, high=1)
def passage_f1(judged: Judged, k: int, *, token: Token = "character", threshold: float = LEAST_HELD) -> PerQuery:
    """Harmonic mean of passage precision and passage recall of a query."""
    precision = passage_precision(judged, k, token=token, threshold=threshold)
    recall = passage_recall(judged, k, token=token, threshold=threshold)
    return ratio(2 * precision * recall, precision + recall)


@of_spans
@metric("Document coverage", low=0, high=1)
def document_coverage(judged: Judged, k: int) -> PerQuery:
    """Share of the documents with references of which a passage is within the first k. 0 or 1 for one document."""
    spans = spans_in(judged)
    _, first = np.unique(np.column_stack([spans.rows, spans.reference_documents]), axis=0, return_index=True)
    return _share_of_references(spans.rows[first], _same_document(spans, k)[first], spans)


@of_spans
@metric("Document accuracy", low=0, high=1, binary=True)
def document_accuracy(judged: Judged, k: int) -> PerQuery:
    """Whether the first k passages come from every document with references: 0.0 or 1.0.

    If a query has references in one document only, this is the same number as `document_coverage`.
    """
    return _whether_all(document_coverage(judged, k))


@of_spans
@metric("Document precision", low=0, high=1)
def document_precision(judged: Judged, k: int) -> PerQuery:
    """Share of the first k passages that come from a document with references. 0 if nothing was retrieved."""
    return ratio(document_passages(judged, k), _passages_within(spans_in(judged), k))


@of_spans
@metric("Document recall", low=0, high=1)
def document_recall(judged: Judged, k: int) -> PerQuery:
    """The same number as `document_coverage`, by definition."""
    return document_coverage(judged, k)


@of_spans
@metric("Document passages", low=0)
def document_passages(judged: Judged, k: int) -> PerQuery:
    """How many of the first k passages come from a document with references: a whole number from 0 to k."""
    spans = spans_in(judged)
    return _ranks_with_any(_same_document(spans, k), spans)


def _counts(judged: Judged, k: int, token: Token) -> tuple[Counts, int]:
    """What the passages share with the references, and the column for the first k."""
    counts = spans_in(judged).counts(token)
    return counts, min(k, counts.shared.shape[1] - 1)


def _retrieved(counts: Counts, overlap: SpanOverlap) -> Array:
    return counts.retrieved_repeated if overlap == "chroma" else counts.retrieved


def _referenced(counts: Counts, overlap: SpanOverlap) -> Array:
    return counts.referenced_repeated if overlap == "chroma" else counts.referenced


def _iou(counts: Counts, k: int) -> PerQuery:
    shared = counts.shared[:, k]
    return ratio(shared, counts.retrieved[:, k] + counts.referenced[:, 0] - shared)


def _whether_all(shares: PerQuery) -> PerQuery:
    all_found: PerQuery = (shares == 1).astype(np.float64)
    return all_found


def _passages_within(spans: Spans, k: int) -> PerQuery:
    """How many of the first k ranks have a passage, shape [queries]."""
    return spans.retrieved[:, min(k, spans.passages.shape[1])]


def _same_document(spans: Spans, k: int) -> Hits:
    """Whether the passage at each of the first k ranks is of the document of a reference, shape [references, k]."""
    passages = spans.passages[spans.rows, :k]
    same_document: Hits = (spans.documents[passages] == spans.reference_documents[:, None]) & (passages != NOTHING)
    return same_document


def _ranks_with_any(hits: Hits, spans: Spans) -> PerQuery:
    """At how many ranks of each query any of its references is found; hits have the shape [references, ranks]."""
    reference, rank = np.nonzero(hits)
    any_reference = np.zeros((len(spans.passages), hits.shape[1]))
    any_reference[spans.rows[reference], rank] = 1
    ranks: PerQuery = any_reference.sum(axis=1)
    return ranks


def _share_of_references(rows: Indices, hits: Hits, spans: Spans) -> PerQuery:
    """The share of the references of each query that are found at any rank.

    Args:
        rows: The query of each reference, shape [references].
        hits: Whether it is found at a rank, shape [references, ranks].
        spans: The spans.
    """
    queries = len(spans.passages)
    return ratio(np.bincount(rows, hits.any(axis=1), queries), np.bincount(rows, minlength=queries))
