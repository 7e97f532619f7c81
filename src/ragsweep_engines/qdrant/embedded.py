"""Collections in this process: shards of Qdrant's own engine, which the package qdrant-edge-py has."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ragsweep.core.errors import ConfigError, RetrieverError, first_line
from ragsweep.core.parsing import from_json, read_text
from ragsweep.core.terminal import one_line
from ragsweep_engines.qdrant.qdrant_collection import SEARCHED_AT_ONCE, Hit, Layout, Query, SearchParams

LOCK, PARTIAL = ".lock", ".partial"
LARGEST_JSON_MB = 1  # of a JSON file
RRF_K = 2  # what a server of Qdrant takes


class EdgeCollection:
    """A shard in a folder that nobody else knows: the engine writes into its files when it loads them."""

    def __init__(self, shard: Path) -> None:
        import qdrant_edge

        with _explained(shard):
            self._shard: Any = qdrant_edge.EdgeShard.load(str(shard))
        self._path = shard
        weakref.finalize(self, self._shard.close)

    def layout(self) -> Layout:
        """What it has."""
        config = from_json(read_text(self._path / "edge_config.json", LARGEST_JSON_MB))
        dense = {name: params["size"] for name, params in (config.get("vectors") or {}).items()}
        return Layout(dense, frozenset(config.get("sparse_vectors") or {}), self._shard.info().points_count, {})

    def search(self, queries: Sequence[Query], manner: SearchParams, limit: int) -> list[list[Hit]]:
        """At most `limit` hits of every query, best first."""
        import qdrant_edge as edge

        found: list[list[Hit]] = []
        with _explained(self._path):
            for start in range(0, len(queries), SEARCHED_AT_ONCE):
                requests = [_request(query, manner, limit) for query in queries[start : start + SEARCHED_AT_ONCE]]
                answers = self._shard.query_batch(edge.QueryBatchRequest(requests))
                found += [[Hit(hit.id, hit.score, hit.payload or {}) for hit in hits] for hits in answers]
        return found


def bm25_queries(texts: Sequence[str], language: str) -> list[tuple[list[int], list[float]]]:
    """Sparse vectors of queries as Qdrant's BM25 makes them."""
    import qdrant_edge as edge

    try:
        bm25 = edge.Bm25(edge.Bm25Config(language=language))
    except ValueError as error:
        raise ConfigError(f"retriever.language: {one_line(str(error))}") from error
    vectors = map(bm25.embed_query, texts)
    return [(list(vector.indices), list(vector.values)) for vector in vectors]


def _request(query: Query, manner: SearchParams, limit: int) -> Any:
    import qdrant_edge as edge

    asked = []
    if query.dense is not None:
        asked.append(edge.Query.Nearest(query.dense, using=manner.vector or None))
    if query.sparse is not None:
        asked.append(edge.Query.Nearest(edge.SparseVector(*query.sparse), using=manner.sparse_vector))
    fields: list[Any] = [
        edge.FieldCondition(name, match=edge.MatchAny(list(values)) if len(values) > 1 else edge.MatchValue(values[0]))
        for name, values in (manner.filter or {}).items()
    ]
    conditions = edge.Filter(must=fields) if fields else None
    params = edge.SearchParams(hnsw_ef=manner.ef, exact=manner.exact)
    rest: dict[str, Any] = {
        "limit": limit,
        "filter": conditions,
        "params": params,
        "score_threshold": manner.score_threshold,
        "with_payload": manner.with_payload,
    }
    if manner.fusion is None:
        return edge.QueryRequest(query=asked[0], **rest)
    first = [edge.Prefetch(manner.candidates, query=each, filter=conditions, params=params) for each in asked]
    fusion: Any = edge.Fusion.Rrf(k=RRF_K) if manner.fusion == "rrf" else edge.Fusion.Dbsf()
    return edge.QueryRequest(query=fusion, prefetches=first, **rest)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn an error of the engine, which raises plain exceptions, into one of ours."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, RetrieverError):
        raise
    except BaseException as error:  # a panic of the engine is not an Exception
        raise RetrieverError(f"Qdrant: {path}: {first_line(error).removeprefix('Service runtime error: ')}") from error
