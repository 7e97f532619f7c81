"""Queries and passages that are longer than what the models of a retriever read: what a run counts and says of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices, Mask
from ragsweep.models.encoders.encoder import TextModel
from ragsweep.models.encoders.text_read import Lengths, lengths_read
from ragsweep.retrieval import Ranker, Ranking, Search
from ragsweep.retrieval.ranking import TextsRead
from ragsweep.store.component import Component
from ragsweep.store.stage_store import Store
from ragsweep.tasks.evaluation_record import UnreadText
from ragsweep.tasks.run_check import Checked

HEADING = "Text that a model does not read"
LEAST_SAID = 0.01  # of the texts


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
    texts = TextsRead(search, queries, np.arange(len(search.passages)), ranking.passages[queries])
    for model, of_model in _models(ranker, texts):
        for kind, mask, of in _cut(model, of_model, store):
            key = model.model, kind, mask.size  # a query may be asked in several phrasings
            cut[key] = mask | cut.get(key, False)
            counts[key] = UnreadText(model.model, kind, int(cut[key].sum()), mask.size, of.read, of.unit)
    facts = [fact for fact in dict.fromkeys(counts.values()) if fact.cut]
    lines = [f"{fact.in_words}. {fact.advice}" for fact in facts if fact.share >= LEAST_SAID]
    return Checked.section(HEADING, lines, facts={"unread_texts": [fact._asdict() for fact in facts]} if facts else {})


def _models(part: Any, texts: TextsRead) -> Iterator[tuple[TextModel, TextsRead]]:
    """Each model within a component, with the texts that it gets."""
    if isinstance(part, TextModel):
        yield part, texts
    elif isinstance(part, Mapping | list | tuple):
        for inner in part.values() if isinstance(part, Mapping) else part:
            yield from _models(inner, texts)
    else:
        kind = type(part) if isinstance(part, Component) else Component  # a user's part may lack the base
        for inner, of_inner in kind.texts_of_parts(part, texts):
            yield from _models(inner, of_inner)


def _cut(model: TextModel, texts: TextsRead, store: Store) -> Iterator[tuple[str, Mask, Lengths]]:
    """Which texts are longer than what a model reads of them, and the lengths of all, by what they are."""
    of_queries = lengths_read(model, texts.search.queries, "query", store)
    of_passages = lengths_read(model, texts.search.passages, "passage", store, texts.passages)
    if model.reads_pairs and of_queries and of_passages:
        pair_lengths = of_queries.lengths[texts.queries, np.newaxis] + of_passages.lengths[texts.ranked]
        yield "pairs of a query and a passage", (pair_lengths > of_passages.read)[texts.ranked != NOTHING], of_passages
    elif not model.reads_pairs:
        kinds = ("queries", texts.queries, of_queries), ("passages", texts.passages, of_passages)
        yield from ((name, lengths.lengths[rows] > lengths.read, lengths) for name, rows, lengths in kinds if lengths)
