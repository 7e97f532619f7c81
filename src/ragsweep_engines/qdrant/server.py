"""Collections on a Qdrant server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ragsweep_engines.qdrant.qdrant_access import connect, explained, upload
from ragsweep_engines.qdrant.qdrant_collection import SEARCHED_AT_ONCE, Hit, Layout, Query, SearchParams


class ServerCollection:
    """A collection on the server of the environment."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._client = connect()
        self._what = f"collection {name!r}"

    def exists(self) -> bool:
        """Whether the server has it."""
        with explained(self._what):
            return bool(self._client.collection_exists(self._name))

    def layout(self) -> Layout:
        """What it has."""
        with explained(self._what):
            info = self._client.get_collection(self._name)
        params = info.config.params
        vectors = params.vectors if isinstance(params.vectors, dict) else {"": params.vectors} if params.vectors else {}
        dense = {name: each.size for name, each in vectors.items()}
        return Layout(dense, frozenset(params.sparse_vectors or {}), info.points_count or 0, info.config.metadata or {})

    def search(self, queries: Sequence[Query], manner: SearchParams, limit: int) -> list[list[Hit]]:
        """At most `limit` hits of every query, best first."""
        found: list[list[Hit]] = []
        with explained(self._what):
            for start in range(0, len(queries), SEARCHED_AT_ONCE):
                requests = [_request(query, manner, limit) for query in queries[start : start + SEARCHED_AT_ONCE]]
                answers = self._client.query_batch_points(self._name, requests)
                found += [[Hit(hit.id, hit.score, hit.payload or {}) for hit in answer.points] for answer in answers]
        return found

    def others(self) -> list[str]:
        """The names of all collections that the server shows."""
        with explained("its list of collections"):
            return sorted(each.name for each in self._client.get_collections().collections)

    def restore(self, snapshot: Path) -> None:
        """Upload a snapshot, of which the server makes the collection."""
        with explained(f"the snapshot of {self._what}"), snapshot.open("rb") as file:
            upload(f"/collections/{quote(self._name, safe='')}/snapshots/upload", file)


def _request(query: Query, manner: SearchParams, limit: int) -> Any:
    from qdrant_client import models

    asked: list[dict[str, Any]] = []
    if query.dense is not None:
        asked.append({"query": query.dense, "using": manner.vector or None})
    if query.sparse is not None:
        positions, weights = query.sparse
        sparse = models.SparseVector(indices=positions, values=weights)
        asked.append({"query": sparse, "using": manner.sparse_vector})
    fields: list[Any] = [
        models.FieldCondition(
            key=name,
            match=models.MatchAny(any=list(values)) if len(values) > 1 else models.MatchValue(value=values[0]),
        )
        for name, values in (manner.filter or {}).items()
    ]
    conditions = models.Filter(must=fields) if fields else None
    params = models.SearchParams(hnsw_ef=manner.ef, exact=manner.exact)
    rest: dict[str, Any] = {
        "limit": limit,
        "filter": conditions,
        "params": params,
        "score_threshold": manner.score_threshold,
        "with_payload": manner.with_payload,
    }
    if manner.fusion is None:
        return models.QueryRequest(**asked[0], **rest)
    first = [models.Prefetch(limit=manner.candidates, filter=conditions, params=params, **each) for each in asked]
    fusion = models.FusionQuery(fusion=models.Fusion(manner.fusion))
    return models.QueryRequest(query=fusion, prefetch=first, **rest)
