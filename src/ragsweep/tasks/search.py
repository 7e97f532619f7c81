"""What a retriever searches in a dataset, and the stages around it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from ragsweep.datasets import Dataset
from ragsweep.datasets.dataset import Passage
from ragsweep.retrieval import Names, PipelineRetriever, Ranker, Reranker, Rewriter, Search
from ragsweep.retrieval.checks import expect_method
from ragsweep.retrieval.ranking import Indices

STAGES = ("query", "reranker", "dynamic_k")  # settings of a task, besides its retriever


def in_stages(
    retriever: Ranker, query: Rewriter | None, reranker: Reranker | None, dynamic_k: Reranker | None
) -> Ranker:
    """The retriever with the stages before and after it; the retriever itself if there are none."""
    expect_method(retriever, "rank", "retriever")
    if query is None and reranker is None and dynamic_k is None:
        return retriever
    return PipelineRetriever(retriever, query, reranker, dynamic_k=dynamic_k)


def search_of(items: Dataset) -> Search:
    """What is searched, and for what."""
    queries = tuple(query.text for query in items.queries)
    ids = tuple(query.query_id for query in items.queries)
    names = partial(
        _names,
        ids,
        passages=items.passages,
        units=items.units,
        of_passage=items.passage_units,
        found=items.found_units,
        several_units=len(items.further_units) > 0,
    )
    return Search(items.texts, queries, names, items.digest_of_all, unranked=unranked_passages(items))


def unranked_passages(items: Dataset) -> Indices:
    """The passages that are left out of the rankings of queries, as rows of query and passage, shape [pairs, 2]."""
    pairs = items.left_out.documents
    rows = {query.query_id: row for row, query in enumerate(items.queries)} if pairs else {}
    passages: dict[str, list[int]] = {source: [] for _, source in pairs}
    for place, passage in enumerate(items.passages if pairs else ()):
        if passage.source in passages:
            passages[passage.source].append(place)
    found = [(rows[name], place) for name, source in pairs if name in rows for place in passages[source]]
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def _names(
    queries: tuple[str, ...],
    *,
    passages: Sequence[Passage],
    units: Sequence[str],
    of_passage: Indices,
    found: Indices,
    several_units: bool,
) -> Names:
    """What a dataset calls its queries and passages. It is handed the corpus alone, as it goes to every component."""
    return Names(
        queries=queries,
        passages=tuple(passage.chunk_id for passage in passages),
        units=tuple(units[unit] for unit in of_passage),
        documents=tuple(passage.source for passage in passages),
        without_passage=frozenset(units) - {units[unit] for unit in found},
        several_units=several_units,
    )
