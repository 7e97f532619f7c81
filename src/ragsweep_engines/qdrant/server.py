"""Collections on a Qdrant server."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from ragsweep.core.errors import RetrieverError
from ragsweep.core.progress import progress
from ragsweep.retrieval.indexes.engine import Corpus
from ragsweep_engines.manifest import (
    DamagedError,
    check_manifest,
    expect_noted,
    manifest,
    sampled,
    say_damaged,
)
from ragsweep_engines.qdrant.qdrant_access import connect, explained, host, upload
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

OURS = "ragsweep"  # in the metadata of a collection that we have made
COMPLETE = "complete"
CONFLICT = 409
LEAST_KB = 10  # the server builds no graph below this
INDEXING_S = 3600  # the longest wait for a graph
POLL_S = 0.2


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

    def build(self, corpus: Corpus, graph: Graph, *, with_text: bool) -> None:
        """Build a collection of ours, finish one that a killed process has begun, or take one that is complete.

        The points of a damaged one are written again. It is not deleted, because other workers may be writing into it.

        Raises:
            RetrieverError: The collection is not ours, holds another corpus, or has more than what we have written.
        """
        if not self.exists():
            self._create(corpus, graph)
        notes = self._checked(corpus)
        if notes.get(COMPLETE) is True:
            try:
                return self._check_manifest(notes)
            except DamagedError as error:
                say_damaged("qdrant", f"{self._what} on {host()}", error)
        count = len(corpus.texts)
        with explained(self._what), progress(f"storing {count:,} passages in Qdrant", count) as shown:
            from qdrant_client import models

            for ids, vectors, payloads in batches(corpus, with_text=with_text):
                batch = models.Batch(ids=list(ids), vectors=vectors, payloads=payloads)
                self._client.upsert(self._name, batch)  # a point that is there is written again
                shown.done = ids.stop
            self._client.create_payload_index(self._name, SOURCE, models.PayloadSchemaType.KEYWORD)
            self._wait()
            notes = {**notes, **manifest(corpus.embeddings), COMPLETE: True}
            self._client.update_collection(self._name, metadata={OURS: notes})
        try:
            self._check_manifest(notes)
        except DamagedError as error:
            raise RetrieverError(
                f"QDRANT_URL: {host()}: {self._what} was changed ({error}); delete it to build it again"
            ) from None

    def delete(self, digest: str) -> None:
        """Delete it if it is ours and holds this corpus."""
        if self.exists() and _notes(self.layout()).get("corpus") == digest:
            with explained(self._what):
                self._client.delete_collection(self._name)

    def _create(self, corpus: Corpus, graph: Graph) -> None:
        from qdrant_client import models
        from qdrant_client.http.exceptions import UnexpectedResponse

        quantization: Any = None
        if graph.quantize == "int8":
            int8 = models.ScalarQuantizationConfig(type=models.ScalarType.INT8)
            quantization = models.ScalarQuantization(scalar=int8)
        elif graph.quantize == "binary":
            quantization = models.BinaryQuantization(binary=models.BinaryQuantizationConfig())
        with explained(self._what):
            try:
                self._client.create_collection(
                    self._name,
                    models.VectorParams(size=corpus.embeddings.shape[1], distance=models.Distance.DOT),
                    hnsw_config=models.HnswConfigDiff(
                        m=graph.m, ef_construct=graph.ef_construct, full_scan_threshold=LEAST_KB
                    ),
                    optimizers_config=models.OptimizersConfigDiff(indexing_threshold=1, default_segment_number=1),
                    quantization_config=quantization,
                    metadata={OURS: {"corpus": corpus.digest, COMPLETE: False}},
                )
            except UnexpectedResponse as error:
                if error.status_code != CONFLICT:  # else another worker was first
                    raise

    def _checked(self, corpus: Corpus) -> dict[str, Any]:
        layout = self.layout()
        notes, size = _notes(layout), corpus.embeddings.shape[1]
        where = f"QDRANT_URL: {host()}: {self._what}"
        if not notes:
            raise RetrieverError(
                f"{where} was not made by ragsweep, or the server keeps no metadata (it does from Qdrant 1.16 on); "
                "delete or rename it"
            )
        if notes.get("corpus") != corpus.digest:
            raise RetrieverError(f"{where} holds another corpus ({notes.get('corpus')!r}); delete it to build it again")
        if dict(layout.dense) != {"": size}:
            found = f"has vectors of other dimensions ({dict(layout.dense)}, expected {size})"
            raise RetrieverError(f"{where} {found}; delete it to build it again")
        return notes

    def _check_manifest(self, notes: Mapping[str, Any]) -> None:
        """Raise `DamagedError` if the collection does not have what we have written."""
        expect_noted(notes, {})
        with explained(self._what):
            points = self._client.count(self._name, exact=True).count
            sample = self._client.retrieve(
                self._name, sampled(notes["passages"]), with_payload=False, with_vectors=True
            )
        check_manifest(notes, points, {int(point.id): cast(list[float], point.vector) for point in sample})

    def _wait(self) -> None:
        """Wait until the server has built the graph."""
        end = time.monotonic() + INDEXING_S
        while (status := self._client.get_collection(self._name).status) != "green":
            if status == "red" or time.monotonic() > end:
                raise RetrieverError(
                    f"QDRANT_URL: {host()}: {self._what} is not indexed (its status is {status.value})"
                )
            time.sleep(POLL_S)


def _notes(layout: Layout) -> dict[str, Any]:
    notes = layout.notes.get(OURS)
    return notes if isinstance(notes, dict) else {}


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
