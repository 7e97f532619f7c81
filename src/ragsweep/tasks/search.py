"""What a retriever searches in a dataset, and the stages around it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np

from ragsweep.core.errors import ConfigError
from ragsweep.datasets import Dataset, DatasetFormat, Query
from ragsweep.retrieval import Names, PipelineRetriever, Ranker, Reranker, Retriever, Rewriter, Search
from ragsweep.retrieval.kinds import Expander
from ragsweep.retrieval.ranking_checks import checked_ranker
from ragsweep.store.code import kind_of
from ragsweep.store.stage_store import Store


class Retrieval(NamedTuple):
    """What a task retrieves, for a check of a run.

    Attributes:
        dataset: Has read the documents, queries and judgments.
        retriever: Ranks the passages; None if nothing is retrieved.
        ranker: The retriever with the stages around it.
        relevance_level: The lowest grade that counts as relevant.
        store: Keeps what the check finds.
        is_measured: Whether the rankings are what is measured, so that queries without judgments are lost.
    """

    dataset: DatasetFormat
    retriever: Retriever | None
    ranker: Retriever | None
    relevance_level: int
    store: Store
    is_measured: bool


def groups_of(queries: Iterable[Query]) -> dict[str, str]:
    """The ids of some queries, each with the name of its group, or its own id without one."""
    return {query.query_id: query.query_id if query.group is None else query.group for query in queries}


def some_queries(items: Dataset, ids: Collection[str]) -> Dataset:
    """The dataset with the queries of these ids alone."""
    return items.with_queries(np.flatnonzero([query.query_id in ids for query in items.queries]))


FEW_RESAMPLES = 100  # the fewest of a setting
STAGE_SETTINGS = ("ingest", "query", "reranker", "dynamic_k")  # settings of a task, besides its retriever


def in_stages(
    retriever: Retriever, query: Rewriter | Expander | None, reranker: Reranker | None, dynamic_k: Reranker | None
) -> Ranker:
    """The retriever with the stages before and after it; the retriever itself if there are none."""
    ranker = checked_ranker(retriever, "retriever")
    if query is None and reranker is None and dynamic_k is None:
        return ranker
    return PipelineRetriever(ranker, query, reranker, dynamic_k=dynamic_k)


def check_ingest(retriever: Retriever, ingest: object) -> None:
    """Raise `ConfigError` where what is indexed has no effect, as the retriever has rankings of its own."""
    if ingest is not None and retriever.finds_by_name:
        why = "searches nothing here, so what is indexed would have no effect"
        raise ConfigError(f"ingest: {kind_of(retriever)} {why}; expected ingest=plain")


def search_of(items: Dataset, *, as_indexed: bool = True) -> Search:
    """What is searched, and for what. Nothing in it leads to judgments, right answers or types of queries.

    Args:
        items: The dataset.
        as_indexed: False takes the passages' own texts, for checks: what else is indexed may have to be paid for.
    """
    queries = tuple(query.text for query in items.queries)
    units = items.units
    names = Names(
        queries=tuple(query.query_id for query in items.queries),
        passages=tuple(passage.chunk_id for passage in items.passages),
        units=tuple(units[unit] for unit in items.passage_units),
        documents=tuple(passage.source for passage in items.passages),
        without_passage=frozenset(units) - {units[unit] for unit in items.found_units},
        several_units=len(items.further_units) > 0,
    )
    texts, own = (items.indexed_texts, items.texts) if items.indexed and as_indexed else (items.texts, None)
    return Search(texts, queries, names, unranked=items.unranked_passages, own=own)


def components_within(part: object) -> Iterator[Any]:
    """A component and all those in its fields."""
    if isinstance(part, Mapping | list | tuple):
        for inner in part.values() if isinstance(part, Mapping) else part:
            yield from components_within(inner)
    elif not isinstance(part, str):
        yield part
        for field in fields(part) if is_dataclass(part) and not isinstance(part, type) else ():
            yield from components_within(getattr(part, field.name))
