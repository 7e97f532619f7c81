"""Metrics that compare the text of retrieved passages with the text of the references.

What a token is can be chosen: a `character` of the documents, by its offset; or a `word` of a multiset of words.
Definitions follow Smith and Troynikov, Evaluating Chunking
Strategies for Retrieval (Chroma 2024); docs/spans.md says what differs.
"""

from __future__ import annotations

from typing import Literal

from ragsweep.statistics.intervals import Array
from ragsweep.tasks.metric import metric
from ragsweep.tasks.ranking.judging import Judged
from ragsweep.tasks.ranking.metrics import PerQuery
from ragsweep.tasks.ranking.spans.counts import Counts
from ragsweep.tasks.ranking.spans.needs import of_spans, ratio, spans_in
from ragsweep.tasks.ranking.spans.spans import Token

SpanOverlap = Literal["union", "chroma"]


@of_spans
@metric("Token IoU", low=0, high=1, of_text=True)
def token_iou(judged: Judged, k: int, *, token: Token = "character", overlap: SpanOverlap = "union") -> PerQuery:
    """Tokens that the first k passages share with the references, as a share of the tokens of both together.

    Also called Jaccard index.

    Args:
        judged: The judged rankings.
        k: Cutoff, at least 1.
        token: What is compared.
        overlap: `union` counts a character once, however many passages or references have it. `chroma` counts as the
            code of Chroma's chunking_evaluation does: each retrieved passage, and what each reference misses, in full.

    Returns:
        Values in [0, 1], shape [queries].
    """
    counts, k = _counts(judged, k, token)
    if overlap == "chroma":
        missed = counts.referenced_repeated[:, 0] - counts.shared_repeated[:, k]
        return ratio(counts.shared[:, k], counts.retrieved_repeated[:, k] + missed)
    return _iou(counts, k)


@of_spans
@metric("Token precision", low=0, high=1, of_text=True)
def token_precision(judged: Judged, k: int, *, token: Token = "character", overlap: SpanOverlap = "union") -> PerQuery:
    """Share of the tokens of the first k passages that belong to a reference. 0 if nothing was retrieved.

    Arguments as of `token_iou`.

    Returns:
        Values in [0, 1], shape [queries].
    """
    counts, k = _counts(judged, k, token)
    return ratio(counts.shared[:, k], _retrieved(counts, overlap)[:, k])


@of_spans
@metric("Token recall", low=0, high=1)
def token_recall(judged: Judged, k: int, *, token: Token = "character", overlap: SpanOverlap = "union") -> PerQuery:
    """Share of the tokens of the references that are in the first k passages. Arguments as of `token_iou`.

    Returns:
        Values in [0, 1], shape [queries]; never smaller for a larger k.
    """
    counts, k = _counts(judged, k, token)
    return ratio(counts.shared[:, k], _referenced(counts, overlap)[:, 0])


@of_spans
@metric("Token F1", low=0, high=1, of_text=True)
def token_f1(judged: Judged, k: int, *, token: Token = "character", overlap: SpanOverlap = "union") -> PerQuery:
    """Harmonic mean of token precision and token recall of a query, also called Dice coefficient.

    Arguments as of `token_iou`.

    Returns:
        Values in [0, 1], shape [queries].
    """
    counts, k = _counts(judged, k, token)
    both = _retrieved(counts, overlap)[:, k] + _referenced(counts, overlap)[:, 0]
    return ratio(2 * counts.shared[:, k], both)


@of_spans
@metric("Precision Ω", low=0, high=1, of_text=True)
def token_precision_omega(
    judged: Judged, k: int, *, token: Token = "character", overlap: SpanOverlap = "union"
) -> PerQuery:
    """Token precision if exactly the passages with a part of a reference were retrieved.

    It depends on how the documents are cut, not on the ranking or the cutoff: no retriever that finds all references
    has a higher precision.

    Args:
        judged: The judged rankings.
        k: Cutoff, which has no effect.
        token: What is compared.
        overlap: With `chroma`, a passage that only touches a reference counts as one with a part of it, and what no
            passage has of the references is added to the denominator, as in Chroma's code.

    Returns:
        Values in [0, 1], shape [queries].
    """
    spans = spans_in(judged)
    if overlap == "chroma" and token == "character":
        return _iou(spans.counts_of_relevant(token, touching=True), 1)
    counts = spans.counts_of_relevant(token)
    return ratio(counts.shared[:, 1], counts.retrieved[:, 1])


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
