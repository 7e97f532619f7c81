"""What a retriever searches in a dataset, and the stages around it."""

from __future__ import annotations

from functools import partial

from ragsweep.datasets import Dataset
from ragsweep.retrieval import Names, PipelineRetriever, Ranker, Reranker, Rewriter, Search
from ragsweep.retrieval.checks import expect_method

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
    return Search(items.texts, queries, partial(names_of, items), items.digest_of_all)


def names_of(items: Dataset) -> Names:
    """What the dataset calls its queries and passages."""
    return Names(
        queries=tuple(query.query_id for query in items.queries),
        passages=tuple(passage.chunk_id for passage in items.passages),
        units=tuple(items.units[unit] for unit in items.passage_units),
        documents=tuple(passage.source for passage in items.passages),
        without_passage=frozenset(items.units) - {items.units[unit] for unit in items.found_units},
        several_units=len(items.further_units) > 0,
        query_types=tuple(query.query_type for query in items.queries),
    )
