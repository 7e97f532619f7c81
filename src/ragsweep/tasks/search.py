"""What a retriever searches in a dataset."""

from __future__ import annotations

from functools import partial

from ragsweep.datasets import Dataset
from ragsweep.retrieval import Names, Search


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
    )
