"""Milvus: a database of vectors; milvus-lite runs it in this process."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Annotated, Any, ClassVar

import numpy as np
from filelock import FileLock

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.core.limits import Between
from ragsweep.models.encoders.encoder import Embeddings
from ragsweep.retrieval.indexes.engine import Corpus
from ragsweep.retrieval.indexes.index import Nearest
from ragsweep_engines.folder_index import FolderIndex
from ragsweep_engines.manifest import check_manifest, sampled
from ragsweep_engines.milvus_access import explained
from ragsweep_engines.packages import expect_package

ASKING = "index=milvus"
COLLECTION, ROW, EMBEDDING = "passages", "row", "embedding"
DATA, LOCK_FILE = "data", "open.lock"  # within the folder of a collection
WRITTEN_AT_ONCE = 4096  # passages that are written at once

_databases: dict[Path, tuple[Any, FileLock]] = {}  # those that are open
_users: Counter[Path] = Counter()
_changing = RLock()  # a collection that nobody searches any more may be closed while another one is opened


@dataclass(frozen=True)
class MilvusIndex(FolderIndex):
    """Keeps passages in a collection of milvus-lite, one folder a collection, and searches that.

    One process at a time can have a collection open; others wait for it.

    Attributes:
        store: Has the folder of the collections, `engines/milvus`, unless `path` names another.
        path: Another folder for the collections.
        exact: Compares every query with every passage. Everything below is then without effect.
        m: Neighbours of a passage in the graph; twice as many on its lowest layer.
        ef_construction: Candidates held while a passage is inserted.
        ef_search: Candidates held while a query is answered; also the most passages that are retrieved.
    """

    name: ClassVar[str] = "milvus"
    libraries: ClassVar[tuple[str, ...]] = ("milvus-lite",)

    exact: bool = False
    m: Annotated[int, Between(2, 512)] = 16
    ef_construction: Annotated[int, Between(1, 1_000_000)] = 100
    ef_search: Annotated[int, Between(1, 1_000_000)] = 128

    def __post_init__(self) -> None:
        expect_package("milvus_lite", ASKING, "milvus")

    @property
    def without_effect(self) -> tuple[str, ...]:
        """The place of the collections, and the settings of the graph if there is none."""
        return ("path", *(("m", "ef_construction", "ef_search") if self.exact else ()))

    @property
    def at_least(self) -> Mapping[str, str]:
        """Settings that must not be smaller than another one."""
        return {} if self.exact else {"ef_search": "k"}

    @property
    def _built_with(self) -> dict[str, Any]:
        if self.exact:
            return {"index_type": "FLAT"}
        return {"index_type": "HNSW", "params": {"M": self.m, "efConstruction": self.ef_construction}}

    def _build(self, place: Path, embeddings: Embeddings) -> None:
        from milvus_lite import CollectionSchema, DataType, FieldSchema

        fields = [
            FieldSchema(name=ROW, dtype=DataType.INT64, is_primary=True),
            FieldSchema(name=EMBEDDING, dtype=DataType.FLOAT_VECTOR, dim=embeddings.shape[1]),
        ]
        place.mkdir()
        with explained(ASKING, place), _opened(place) as database:
            collection = database.create_collection(COLLECTION, CollectionSchema(fields=fields))
            for start in range(0, len(embeddings), WRITTEN_AT_ONCE):
                block = enumerate(embeddings[start : start + WRITTEN_AT_ONCE].tolist(), start)
                collection.insert([{ROW: row, EMBEDDING: vector} for row, vector in block])
            collection.flush()
            collection.create_index(EMBEDDING, {"metric_type": "IP", **self._built_with})
            collection.load()  # builds the index

    def _check(self, place: Path, noted: Mapping[str, Any]) -> None:
        with explained(ASKING, place), _opened(place) as database:
            collection = database.get_collection(COLLECTION)
            collection.load()
            found = collection.get(sampled(noted["passages"]), output_fields=[ROW, EMBEDDING])
            vectors = {each[ROW]: each[EMBEDDING] for each in found}
            check_manifest(noted, collection.num_entities, vectors)
            self._found(collection, np.array([*vectors.values()], np.float32), 1)  # reads the index

    def _search(self, corpus: Corpus, place: Path) -> Nearest:
        holding = ExitStack()
        with explained(ASKING, place):
            collection = holding.enter_context(_opened(place)).get_collection(COLLECTION)
            collection.load()

        def ask(queries: Embeddings, wanted: int) -> Indices:
            with explained(ASKING, place):
                return self._found(collection, queries, wanted)

        nearest = self._ranked(corpus, place, ask, None if self.exact else self.ef_search)
        weakref.finalize(nearest, holding.close)
        return nearest

    def _found(self, collection: Any, queries: Embeddings, wanted: int) -> Indices:
        passages = np.full((len(queries), wanted), NOTHING)
        params = {} if self.exact else {"ef": max(wanted, self.ef_search)}
        answer = collection.search(queries.tolist(), wanted, output_fields=[], search_params=params)
        for row, hits in zip(passages, answer, strict=True):
            row[: len(hits)] = [hit["id"] for hit in hits]
        return passages


@contextmanager
def _opened(place: Path) -> Iterator[Any]:
    """A database of this process, which is open as long as somebody uses it."""
    import milvus_lite

    with _changing:
        _users[place] += 1
        try:
            if place not in _databases:
                held = FileLock(place / LOCK_FILE)
                held.acquire()  # another process may have it open
                try:
                    _databases[place] = (milvus_lite.MilvusLite(str(place / DATA)), held)
                except BaseException:
                    held.release()
                    raise
        except BaseException:
            _users[place] -= 1
            raise
        database, held = _databases[place]
    try:
        yield database
    finally:
        with _changing:
            _users[place] -= 1
            if not _users[place]:
                del _databases[place]
                try:
                    database.close()
                finally:
                    held.release()
