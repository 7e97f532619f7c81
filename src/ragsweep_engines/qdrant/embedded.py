"""Collections in this process: shards of Qdrant's own engine, which the package qdrant-edge-py has."""

from __future__ import annotations

import json
import shutil
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock

from ragsweep.core.errors import ConfigError, RetrieverError, first_line
from ragsweep.core.parsing import from_json, read_text
from ragsweep.core.progress import progress
from ragsweep.core.terminal import one_line
from ragsweep.retrieval.indexes.engine import Corpus
from ragsweep_engines.manifest import (
    DamagedError,
    check_manifest,
    expect_noted,
    expect_room,
    manifest,
    sampled,
    say_damaged,
)
from ragsweep_engines.qdrant.qdrant_collection import (
    SEARCHED_AT_ONCE,
    SOURCE,
    Graph,
    Hit,
    Layout,
    Query,
    SearchParams,
    batches,
)

SHARD, NOTES = "shard", "ragsweep.json"  # within the folder of a collection of ours
LOCK, PARTIAL = ".lock", ".partial"
LARGEST_JSON_MB = 1  # of a JSON file
LEAST_KB = 10  # the engine builds no graph below this
RRF_K = 2  # what a server of Qdrant takes

_open: weakref.WeakValueDictionary[Path, EdgeCollection] = weakref.WeakValueDictionary()


class EdgeCollection:
    """A shard that is open. One process at a time can have it: the engine writes into its files when it loads them.

    Args:
        shard: Its folder.
        lock: Is held as long as this object exists; None if nobody else knows the folder.
    """

    def __init__(self, shard: Path, lock: FileLock | None) -> None:
        import qdrant_edge

        if lock:
            lock.acquire()
        try:
            with _explained(shard):
                self._shard: Any = qdrant_edge.EdgeShard.load(str(shard))
        except BaseException:
            if lock:
                lock.release()
            raise
        self._path = shard
        self.close = weakref.finalize(self, _close, self._shard, lock)

    def layout(self) -> Layout:
        """What it has."""
        config = from_json(read_text(self._path / "edge_config.json", LARGEST_JSON_MB))
        dense = {name: params["size"] for name, params in (config.get("vectors") or {}).items()}
        return Layout(dense, frozenset(config.get("sparse_vectors") or {}), self._shard.info().points_count, {})

    def vectors(self, points: Sequence[int]) -> dict[int, Any]:
        """The dense vectors of those of the points that it has; a vector that cannot be read is empty."""
        with _explained(self._path):
            found = self._shard.retrieve(list(points), with_payload=False, with_vector=True)
        return {point.id: list(point.vector) for point in found}

    def indexed(self) -> int:
        """How many of its vectors are in the graph."""
        with _explained(self._path):
            return int(self._shard.info().indexed_vectors_count)

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


def opened(folder: Path, corpus: Corpus, graph: Graph, *, with_text: bool, in_store: bool) -> EdgeCollection:
    """The collection of a corpus, which this process opens once. It is built if it is absent, and again if damaged.

    It is built beside its place and then renamed, so what a killed process has left is not taken for complete.

    Args:
        folder: Its folder.
        corpus: What it holds.
        graph: How it is indexed.
        with_text: Whether it stores the texts.
        in_store: Whether the folder is in our store, where nobody else keeps anything.

    Raises:
        RetrieverError: The folder has something else, or the disk has no room.
    """
    if folder in _open:
        return _open[folder]
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder.with_suffix(LOCK))
    with lock:  # which the collection goes on holding
        if folder.exists():
            expect_room("qdrant", folder)
            try:
                collection = _checked(folder, corpus, lock, in_store=in_store)
            except DamagedError as error:
                say_damaged("qdrant", folder, error)
                shutil.rmtree(folder)
        if not folder.exists():
            _build(folder, corpus, graph, with_text=with_text)
            collection = _checked(folder, corpus, lock, in_store=in_store)
        _open[folder] = collection
        return collection


def _build(folder: Path, corpus: Corpus, graph: Graph, *, with_text: bool) -> None:
    expect_room("qdrant", folder.parent, corpus.embeddings)
    partial = folder.with_suffix(PARTIAL)
    shutil.rmtree(partial, ignore_errors=True)
    (partial / SHARD).mkdir(parents=True)
    indexed = _fill(partial / SHARD, corpus, graph, with_text=with_text)
    notes = {**_expected(corpus), **manifest(corpus.embeddings), "indexed": indexed}
    (partial / NOTES).write_text(json.dumps(notes), encoding="utf-8")
    partial.rename(folder)


def _checked(folder: Path, corpus: Corpus, lock: FileLock, *, in_store: bool) -> EdgeCollection:
    """A collection that has what was noted of it when it was built.

    Raises:
        DamagedError: It has not; or is not ours, but lies where only ours do.
        RetrieverError: It is not ours, or holds another corpus.
    """
    notes = notes_of(folder) or {}
    if not in_store:
        _expect_ours(folder, notes, corpus)
    expect_noted(notes, _expected(corpus))
    rows = sampled(len(corpus.texts))
    try:
        collection = EdgeCollection(folder / SHARD, lock)
    except RetrieverError as error:
        raise DamagedError(str(error)) from error
    try:
        vectors = collection.vectors(rows)
        check_manifest(notes, collection.layout().points, vectors)
        collection.search([Query(vector) for vector in vectors.values()], SearchParams(), 1)  # reads the graph
        if collection.indexed() != notes.get("indexed"):
            raise DamagedError("has lost its graph")
    except RetrieverError as error:
        collection.close()
        raise DamagedError(str(error)) from error
    return collection


def _expected(corpus: Corpus) -> dict[str, Any]:
    return {"corpus": corpus.digest, "dimensions": corpus.embeddings.shape[1]}


def _expect_ours(folder: Path, notes: Mapping[str, Any], corpus: Corpus) -> None:
    """Raise `RetrieverError` if a folder of the user's has something that is not a collection of this corpus."""
    if not (folder / NOTES).exists():
        raise RetrieverError(f"index.path: {folder} was not written by ragsweep; set another index.path")
    for name, value in _expected(corpus).items():
        if notes.get(name, value) != value:
            found = f"holds another corpus ({name} {notes[name]!r}, expected {value!r})"
            raise RetrieverError(f"index.path: {folder} {found}; delete the folder to build it again")


def notes_of(folder: Path) -> Mapping[str, Any] | None:
    """What we noted about a collection of ours; None if it cannot be read."""
    try:
        notes = from_json(read_text(folder / NOTES, LARGEST_JSON_MB))
    except (OSError, ValueError):
        return None
    return notes if isinstance(notes, dict) else None


def delete(folder: Path, digest: str) -> None:
    """Delete a collection of ours that holds this corpus; one that this process has open is closed."""
    if folder in _open:
        _open[folder].close()
        del _open[folder]
    with FileLock(folder.with_suffix(LOCK)):
        notes = notes_of(folder)
        if notes is not None and notes.get("corpus") == digest:
            shutil.rmtree(folder)


def bm25_queries(texts: Sequence[str], language: str) -> list[tuple[list[int], list[float]]]:
    """Sparse vectors of queries as Qdrant's BM25 makes them."""
    import qdrant_edge as edge

    try:
        bm25 = edge.Bm25(edge.Bm25Config(language=language))
    except ValueError as error:
        raise ConfigError(f"retriever.language: {one_line(str(error))}") from error
    vectors = map(bm25.embed_query, texts)
    return [(list(vector.indices), list(vector.values)) for vector in vectors]


def bytes_on_disk(folder: Path) -> int:
    """What a folder takes: the engine's files have holes, which take nothing."""
    sizes = [path.stat() for path in folder.rglob("*") if path.is_file()]
    return sum(each.st_blocks * 512 if hasattr(each, "st_blocks") else each.st_size for each in sizes)


def _close(shard: Any, lock: FileLock | None) -> None:
    shard.close()
    if lock:
        lock.release()


def _fill(shard: Path, corpus: Corpus, graph: Graph, *, with_text: bool) -> int:
    """Write a shard, and return how many of its vectors are in the graph."""
    import qdrant_edge as edge

    quantization: Any = None
    if graph.quantize is not None:
        int8, binary = edge.ScalarQuantizationConfig(edge.ScalarType.Int8), edge.BinaryQuantizationConfig()
        quantization = int8 if graph.quantize == "int8" else binary
    size = corpus.embeddings.shape[1]
    config = edge.EdgeConfig(
        vectors=edge.EdgeVectorParams(size=size, distance=edge.Distance.Dot),
        hnsw_config=edge.HnswIndexConfig(graph.m, graph.ef_construct, LEAST_KB),
        quantization_config=quantization,
        optimizers=edge.EdgeOptimizersConfig(indexing_threshold=1, default_segment_number=1),
        wal_enabled=False,  # what a killed process has written is deleted anyway
    )
    count = len(corpus.texts)
    with _explained(shard), progress(f"storing {count:,} passages in Qdrant", count) as shown:
        opened_shard = edge.EdgeShard.create(str(shard), config)
        for ids, vectors, payload in batches(corpus, with_text=with_text):
            points = [edge.Point(*point) for point in zip(ids, vectors, payload, strict=True)]
            opened_shard.update(edge.UpdateOperation.upsert_points(points))
            shown.done = ids.stop
        opened_shard.update(edge.UpdateOperation.create_field_index(SOURCE, edge.PayloadSchemaType.Keyword))
        opened_shard.optimize()  # builds the graph
        opened_shard.flush()
        indexed = int(opened_shard.info().indexed_vectors_count)
        opened_shard.close()
    return indexed


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
