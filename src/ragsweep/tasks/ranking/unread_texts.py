"""Queries and passages that are longer than what the models of a retriever read: what a run counts and says of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices, Mask
from ragsweep.models.encoders.encoder_capabilities import KnowsWindow
from ragsweep.models.encoders.prompt_tokens import lengths_read
from ragsweep.retrieval import CrossEncoderReranker, PipelineRetriever, Ranker, Ranking, Search
from ragsweep.store.key_capabilities import IgnoresSettings
from ragsweep.store.stage_store import Store
from ragsweep.tasks.ranking.aspect import Aspect
from ragsweep.tasks.unread_text import UnreadText

HEADING = "Text that a model does not read"
LEAST_SAID = 0.01  # of the texts


def unread_texts(ranker: Ranker, search: Search, ranking: Ranking, queries: Indices, store: Store) -> Aspect:
    """A line for each kind of texts of which a model reads the beginning alone, from 1 % of them on.

    Args:
        ranker: The retriever with the stages around it.
        search: What is searched.
        ranking: What was found; a reranker has read these passages, and others if it has more candidates.
        queries: Positions of the queries that count.
        store: Keeps what is counted.
    """
    counts: dict[tuple[str, str, bool], UnreadText] = {}
    cut: dict[tuple[str, str, bool], Mask] = {}
    for part, asked, is_reranker in _models(ranker, search, is_reranker=False):
        for texts, mask, read in _cut(part, asked, ranking.passages[queries], queries, store, is_reranker=is_reranker):
            key = part.model, texts, is_reranker  # a query may be asked in several phrasings
            cut[key] = mask | cut.get(key, False)
            counts[key] = UnreadText(part.model, texts, int(cut[key].sum()), mask.size, read, part.window_unit)
    facts = [fact for fact in dict.fromkeys(counts.values()) if fact.cut]
    lines = [f"{fact.in_words}. {fact.advice}" for fact in facts if fact.share >= LEAST_SAID]
    return Aspect(
        lines,
        sections={HEADING: lines} if lines else {},
        facts={"unread_texts": [fact._asdict() for fact in facts]} if facts else {},
    )


def _models(part: object, search: Search, *, is_reranker: bool) -> Iterator[tuple[KnowsWindow, Search, bool]]:
    """Each model within a component, with the texts that it gets, and whether it reranks."""
    if isinstance(part, PipelineRetriever):
        for rewritten in part.expanded(search).searches:
            yield from _models(part.ranker, rewritten, is_reranker=is_reranker)
        for stage in (part.reranker, part.dynamic_k):
            yield from _models(stage, search.of_own_texts, is_reranker=True)
    elif isinstance(part, KnowsWindow):
        yield part, search, is_reranker
    elif isinstance(part, Mapping | list | tuple):
        for component in part.values() if isinstance(part, Mapping) else part:
            yield from _models(component, search, is_reranker=is_reranker)
    elif is_dataclass(part):
        unused = part.without_effect if isinstance(part, IgnoresSettings) else ()
        for field in fields(part):
            if field.name not in unused:
                yield from _models(getattr(part, field.name), search, is_reranker=is_reranker)


def _cut(
    part: KnowsWindow, search: Search, passages: Indices, queries: Indices, store: Store, *, is_reranker: bool
) -> Iterator[tuple[str, Mask, int]]:
    """Which texts are longer than what a model reads of them, and how much that is, by what they are."""
    rows = np.unique(passages[passages != NOTHING]) if is_reranker else np.arange(len(search.passages))
    is_pair = isinstance(part, CrossEncoderReranker)
    of_queries = lengths_read(part, search.queries, "query", store, is_pair=is_pair)
    of_passages = lengths_read(part, search.passages, "passage", store, rows, is_pair=is_pair)
    if of_queries is None or of_passages is None:
        return
    if is_pair:
        both = of_queries.lengths[queries, np.newaxis] + of_passages.lengths[passages]
        yield "pairs of a query and a passage", (both > of_passages.read)[passages != NOTHING], of_passages.read
    else:
        yield "queries", of_queries.lengths[queries] > of_queries.read, of_queries.read
        yield "passages", of_passages.lengths[rows] > of_passages.read, of_passages.read
