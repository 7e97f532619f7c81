"""LanceDB: an embedded database of vectors, in files of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.core.errors import ConfigError, RetrieverError, first_line
from ragsweep.core.limits import Between
from ragsweep.models.encoders.encoder import Embeddings
from ragsweep.retrieval.indexes.engine import Corpus
from ragsweep.retrieval.indexes.index import CODES, Nearest
from ragsweep_engines.folder_index import FolderIndex
from ragsweep_engines.manifest import SAMPLED, DamagedError, check_manifest, may_be_damage, sampled
from ragsweep_engines.packages import expect_package

TABLE = "passages"
WRITTEN_AT_ONCE = 8192  # passages that are written at once
SEARCHED_AT_ONCE = 64  # searched at once
ENGINE_ERRORS = (OSError, RuntimeError, ValueError)  # LanceDB raises all of them


@dataclass(frozen=True)
class LanceDbIndex(FolderIndex):
    """Keeps passages in a table of LanceDB, one folder a collection, and searches that.

    Several threads build an approximate index, so one that is built again may find other passages.

    Attributes:
        store: Has the folder of the collections, `engines/lancedb`, unless `path` names another.
        path: Another folder for the collections.
        exact: Compares every query with every passage. Everything below is then without effect.
        kind: `hnsw` holds a graph of passages with a byte for each dimension; `ivf_pq` has lists of short codes.
        lists: Parts of the index, each with a centroid; None leaves the number to LanceDB, which takes one for every
            8,192 passages of `ivf_pq`, and for every million of `hnsw`.
        probes: Parts that are searched for a query.
        m: Neighbours of a passage in the graph.
        ef_construction: Candidates held while a passage is inserted into the graph.
        ef_search: Candidates held while the graph is searched; also the most passages that are retrieved.
        subquantizers: Bytes of a passage's code; None takes one for every 16 dimensions.
        refine: How many passages of `ivf_pq` are compared by their embeddings, as a multiple of those asked for.
    """

    name: ClassVar[str] = "lancedb"
    libraries: ClassVar[tuple[str, ...]] = ("lancedb",)

    exact: bool = False
    kind: Literal["hnsw", "ivf_pq"] = "hnsw"
    lists: Annotated[int, Between(1, 1_000_000)] | None = None
    probes: Annotated[int, Between(1, 1_000_000)] = 20
    m: Annotated[int, Between(4, 512)] = 20
    ef_construction: Annotated[int, Between(1, 1_000_000)] = 300
    ef_search: Annotated[int, Between(1, 1_000_000)] = 128
    subquantizers: Annotated[int, Between(1)] | None = None
    refine: Annotated[int, Between(1, 1000)] = 4

    def __post_init__(self) -> None:
        expect_package("lancedb", "index=lancedb", "lancedb")
        if self._has_graph and self.ef_construction < self.m:
            raise ConfigError(
                f"index.ef_construction: found {self.ef_construction}, expected at least index.m ({self.m})"
            )

    @property
    def without_effect(self) -> tuple[str, ...]:
        """The place of the collections, and the settings of another kind of search."""
        graph, codes = ("m", "ef_construction", "ef_search"), ("subquantizers", "refine")
        if self.exact:
            return ("path", "kind", "lists", "probes", *graph, *codes)
        return ("path", *(codes if self.kind == "hnsw" else graph))

    @property
    def at_least(self) -> Mapping[str, str]:
        """Settings that must not be smaller than another one."""
        return {"ef_search": "k"} if self._has_graph else {}

    def open_corpus(self, corpus: Corpus) -> Nearest:
        """Open the collection of a corpus, building it if it is absent, and again if it is damaged."""
        self._check_codes(corpus)
        try:
            return super().open_corpus(corpus)
        except ENGINE_ERRORS as error:
            raise RetrieverError(f"index=lancedb: cannot build in {self._folder} ({first_line(error)})") from error

    @property
    def _has_graph(self) -> bool:
        return not self.exact and self.kind == "hnsw"

    @property
    def _built_with(self) -> dict[str, Any]:
        names = ("kind", "lists", "m", "ef_construction", "subquantizers")
        return {name: getattr(self, name) for name in names if name not in self.without_effect}

    def _check(self, place: Path, noted: Mapping[str, Any]) -> None:
        try:
            table = database_of(place).open_table(TABLE)
            wanted = ", ".join(map(str, sampled(noted["passages"])))
            rows = table.search().where(f"row IN ({wanted})").select(["row", "vector"]).limit(2 * SAMPLED).to_arrow()
            vectors = np.stack(rows["vector"].to_numpy()) if rows.num_rows else np.empty((0, 0), np.float32)
            check_manifest(noted, table.count_rows(), dict(zip(rows["row"].to_pylist(), vectors, strict=True)))
            if bool(table.list_indices()) == self.exact:
                raise DamagedError("has lost its index")
            self._found(table, vectors, 1)  # reads the index
        except ENGINE_ERRORS as error:
            if not may_be_damage(error):
                raise
            raise DamagedError(first_line(error)) from error

    def _build(self, folder: Path, embeddings: Embeddings) -> None:
        database = database_of(folder)  # before LanceDB is imported
        import pyarrow as pa
        from lancedb.index import HnswSq, IvfPq

        vector = pa.list_(pa.float32(), embeddings.shape[1])
        schema = pa.schema([pa.field("row", pa.int64()), pa.field("vector", vector)])

        def blocks() -> Any:
            for start in range(0, len(embeddings), WRITTEN_AT_ONCE):
                block = np.ascontiguousarray(embeddings[start : start + WRITTEN_AT_ONCE])
                vectors = pa.FixedSizeListArray.from_arrays(pa.array(block.ravel()), type=vector)
                rows = pa.array(np.arange(start, start + len(block)))
                yield pa.RecordBatch.from_arrays([rows, vectors], schema=schema)

        table = database.create_table(TABLE, blocks(), schema=schema)
        if self.exact:
            return
        config = (
            HnswSq("dot", num_partitions=self.lists, m=self.m, ef_construction=self.ef_construction)
            if self.kind == "hnsw"
            else IvfPq("dot", num_partitions=self.lists, num_sub_vectors=self.subquantizers)
        )
        table.create_index("vector", config=config)

    def _check_codes(self, corpus: Corpus) -> None:
        count, dimensions = corpus.embeddings.shape
        if self.exact or self.kind == "hnsw":
            return
        if self.subquantizers and dimensions % self.subquantizers:
            raise ConfigError(
                f"index.subquantizers: found {self.subquantizers}, expected a divisor of the encoder's {dimensions} "
                "dimensions"
            )
        if count < CODES:
            raise ConfigError(
                f"index.kind=ivf_pq: needs {CODES} passages to train on and has {count}; set index.exact=true"
            )

    def _search(self, corpus: Corpus, place: Path) -> Nearest:
        table = database_of(place).open_table(TABLE)

        def ask(queries: Embeddings, wanted: int) -> Indices:
            parts = [queries[start : start + SEARCHED_AT_ONCE] for start in range(0, len(queries), SEARCHED_AT_ONCE)]
            try:
                return np.vstack([self._found(table, part, wanted) for part in parts])
            except ENGINE_ERRORS as error:
                raise RetrieverError(f"index=lancedb: cannot search in {place} ({first_line(error)})") from error

        return self._ranked(corpus, place, ask, self.ef_search if self._has_graph else None)

    def _found(self, table: Any, queries: Embeddings, wanted: int) -> Indices:
        search = table.search(np.ascontiguousarray(queries)).distance_type("dot").select(["row", "_distance"])
        if self.exact:
            search = search.bypass_vector_index()
        elif self.kind == "hnsw":
            search = search.nprobes(self.probes).ef(self.ef_search)
        else:
            search = search.nprobes(self.probes).refine_factor(self.refine)
        found = search.limit(min(wanted, self.ef_search) if self._has_graph else wanted).to_arrow()
        rows = found["row"].to_numpy()
        query = found["query_index"].to_numpy() if len(queries) > 1 else np.zeros(len(rows), dtype=np.int64)
        counts = np.bincount(query, minlength=len(queries))
        order = np.argsort(query, kind="stable")
        passages = np.full((len(queries), wanted), NOTHING)
        passages[query[order], np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)] = rows[order]
        return passages


def database_of(folder: Path) -> Any:
    """The database in a folder, which is made if it is absent."""
    os.environ.setdefault("LANCE_LOG", "error")  # it warns of each table that it makes
    if getattr(sys.modules.get("datasets"), "__file__", "") is None:
        del sys.modules["datasets"]  # a folder of this name, which LanceDB would take for Hugging Face's package
    import lancedb

    return lancedb.connect(folder)
