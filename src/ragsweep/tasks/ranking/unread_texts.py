"""Queries and passages that are longer than what the models of a retriever read: what a run counts and says of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import NamedTuple

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices, Mask
from ragsweep.models.encoders.encoder import TextModel
from ragsweep.models.encoders.text_read import Lengths, lengths_read
from ragsweep.retrieval import (
    MmrReranker,
    PipelineRetriever,
    Ranker,
    Ranking,
    RoutedRetriever,
    Search,
)
from ragsweep.store.component import declared
from ragsweep.store.stage_store import Store
from ragsweep.tasks.facts import UnreadText
from ragsweep.tasks.run_check import Checked

HEADING = "Text that a model does not read"
LEAST_SAID = 0.01  # of the texts
NO_ROWS = np.empty(0, dtype=np.int64)


class _Texts(NamedTuple):
    """What a model gets: a search, and the positions of those queries and passages of it that the model is to read."""

    search: Search
    queries: Indices
    passages: Indices


def unread_texts(ranker: Ranker, search: Search, ranking: Ranking, queries: Indices, store: Store) -> Checked:
    """A line for each kind of texts of which a model reads the beginning alone, from 1 % of them on.

    Args:
        ranker: The retriever with the stages around it.
        search: What is searched.
        ranking: What was found; a reranker has read these passages, and others if it has more candidates.
        queries: Positions of the queries that count.
        store: Keeps what is counted.
    """
    counts: dict[tuple[str, str, int], UnreadText] = {}
    cut: dict[tuple[str, str, int], Mask] = {}
    ranked = ranking.passages[queries]
    for part, asked in _models(ranker, _Texts(search, queries, np.arange(len(search.passages))), ranked):
        for texts, mask, of in _cut(part, asked, ranked, store):
            key = part.model, texts, mask.size  # a query may be asked in several phrasings
            cut[key] = mask | cut.get(key, False)
            counts[key] = UnreadText(part.model, texts, int(cut[key].sum()), mask.size, of.read, of.unit)
    facts = [fact for fact in dict.fromkeys(counts.values()) if fact.cut]
    lines = [f"{fact.in_words}. {fact.advice}" for fact in facts if fact.share >= LEAST_SAID]
    return Checked.section(HEADING, lines, facts={"unread_texts": [fact._asdict() for fact in facts]} if facts else {})


def _models(part: object, texts: _Texts, ranked: Indices) -> Iterator[tuple[TextModel, _Texts]]:
    """Each model within a component, with the texts that it gets. A reranker gets the ranked passages as they are."""
    if isinstance(part, PipelineRetriever):
        for rewritten in part.expanded(texts.search).searches:
            yield from _models(part.ranker, texts._replace(search=rewritten), ranked)
        own = texts._replace(search=texts.search.of_own_texts, passages=np.unique(ranked[ranked != NOTHING]))
        yield from _models((part.reranker, part.dynamic_k), own, ranked)
    elif isinstance(part, TextModel):
        yield part, texts
    elif isinstance(part, RoutedRetriever):
        yield from _models(part.routes, texts, ranked)
        yield from _models(part.classifier, texts._replace(passages=NO_ROWS), ranked)
    elif isinstance(part, MmrReranker) and part.similarity == "ranking":
        yield from _models(part.encoder, texts._replace(queries=NO_ROWS), ranked)
    elif isinstance(part, Mapping | list | tuple):
        for component in part.values() if isinstance(part, Mapping) else part:
            yield from _models(component, texts, ranked)
    elif is_dataclass(part):
        unused = declared(part, "without_effect")
        yield from _models(
            [getattr(part, field.name) for field in fields(part) if field.name not in unused], texts, ranked
        )


def _cut(part: TextModel, texts: _Texts, ranked: Indices, store: Store) -> Iterator[tuple[str, Mask, Lengths]]:
    """Which texts are longer than what a model reads of them, and the lengths of all, by what they are."""
    of_queries = lengths_read(part, texts.search.queries, "query", store)
    of_passages = lengths_read(part, texts.search.passages, "passage", store, texts.passages)
    if part.reads_pairs and of_queries and of_passages:
        both = of_queries.lengths[texts.queries, np.newaxis] + of_passages.lengths[ranked]
        yield "pairs of a query and a passage", (both > of_passages.read)[ranked != NOTHING], of_passages
    elif not part.reads_pairs:
        kinds = ("queries", texts.queries, of_queries), ("passages", texts.passages, of_passages)
        yield from ((name, lengths.lengths[rows] > lengths.read, lengths) for name, rows, lengths in kinds if lengths)
