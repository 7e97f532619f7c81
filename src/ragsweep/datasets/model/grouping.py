"""Which questions of a dataset are of one group: paraphrases, or questions about one page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ragsweep.core.errors import DatasetError
from ragsweep.core.terminal import say_once
from ragsweep.datasets.model.collection import Collection, Query
from ragsweep.datasets.readers.fields import listed
from ragsweep.text.near_copies import near_copies

SETTING = "dataset.group"
AUTO = "auto"  # near copies, as the audit finds them
GENERATED_FROM = "generated_from"  # the field of generated questions that groups them by default


def grouped(collection: Collection, field: str | None) -> Collection:
    """The collection, whose questions know their group if it has several.

    Args:
        collection: The dataset.
        field: The field of the questions that names their group, or `AUTO`. None takes the groups of the table, or
            those of generated questions. Questions without it are alone.

    Raises:
        DatasetError: No question has the field.
    """
    names = [query.group for query in collection.queries]  # of the table itself
    if field or not any(names):
        names = (
            _copied(collection.queries)
            if field == AUTO
            else [_fields(collection, row).get(field or GENERATED_FROM) for row in range(len(names))]
        )
    times = Counter(filter(None, names))
    if field and not times:
        fields = dict.fromkeys(name for row in range(len(names)) for name in _fields(collection, row))
        problem = f"no question of {collection.name} has {field!r}"
        raise DatasetError(f"{SETTING}: {problem}; found {listed(fields)}, or {AUTO}")
    several = [name if name and times[name] > 1 else None for name in names]
    if field and not any(several):
        say_once(f"{SETTING}: {field} puts no two questions of {collection.name} into one group")
    queries = tuple(replace(query, group=name) for query, name in zip(collection.queries, several, strict=True))
    return replace(collection, queries=queries) if queries != collection.queries else collection


def _fields(collection: Collection, row: int) -> dict[str, str]:
    """All fields of a question, and of its case, that could name a group."""
    query = collection.queries[row]
    fields = {"query_id": query.query_id, "query_type": query.query_type, "group": query.group, **dict(query.fields)}
    if collection.cases:
        case = collection.cases[row]
        fields |= {"specialty": case.specialty, "difficulty": case.difficulty, "condition": case.condition}
    return {name: value for name, value in fields.items() if value}


def _copied(queries: Sequence[Query]) -> list[str | None]:
    """The id of the first of the copies to which a question belongs, over any number of steps."""
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    pairs = np.array(near_copies([query.text for query in queries]), dtype=np.int64).reshape(-1, 2)
    graph = coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(len(queries), len(queries)))
    names: dict[int, str] = {}
    components = connected_components(graph, directed=False)[1].tolist()
    return [names.setdefault(number, query.query_id) for number, query in zip(components, queries, strict=True)]
