"""Chroma: a database of vectors, in this process."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.core.limits import Between
from ragsweep.models.encoders.encoder import Embeddings
from ragsweep.retrieval.indexes.engine import Corpus
from ragsweep.retrieval.indexes.index import Nearest
from ragsweep_engines.chroma_access import client_of, explained
from ragsweep_engines.folder_index import FolderIndex
from ragsweep_engines.manifest import DamagedError, check_manifest, sampled
from ragsweep_engines.packages import expect_package

ASKING = "index=chroma"
COLLECTION = "passages"
GRAPH, FLOAT_BYTES = "data_level0.bin", 4  # what Chroma calls the file of all vectors, and what a number takes in it
WRITTEN_AT_ONCE = 4096  # passages that are written at once; a database says how many it takes, and that is more


@dataclass(frozen=True)
class ChromaIndex(FolderIndex):
    """Keeps passages in a collection of Chroma, one folder a collection, and searches its graph.

    Chroma compares no query with every passage, and keeps `ef_search` in the collection: another value is another one.

    Attributes:
        store: Has the folder of the collections, `engines/chroma`, unless `path` names another.
        path: Another folder for the collections.
        m: Neighbours of a passage in the graph; twice as many on its lowest layer.
        ef_construction: Candidates held while a passage is inserted.
        ef_search: Candidates held while a query is answered.
    """

    name: ClassVar[str] = "chroma"
    libraries: ClassVar[tuple[str, ...]] = ("chromadb",)
    without_effect: ClassVar[tuple[str, ...]] = ("path",)
    at_least: ClassVar[Mapping[str, str]] = {"ef_search": "k"}

    m: Annotated[int, Between(2, 512)] = 16
    ef_construction: Annotated[int, Between(1, 1_000_000)] = 100
    ef_search: Annotated[int, Between(1, 1_000_000)] = 128

    def __post_init__(self) -> None:
        expect_package("chromadb", ASKING, "chroma")

    @property
    def _built_with(self) -> dict[str, Any]:
        return {"max_neighbors": self.m, "ef_construction": self.ef_construction, "ef_search": self.ef_search}

    def _build(self, place: Path, embeddings: Embeddings) -> None:
        with explained(ASKING, place), _opened(place) as client:
            # Passages that Chroma has not written with the graph would be inserted anew, by chance, at each opening.
            configuration = {"hnsw": {"space": "ip", "sync_threshold": 1, **self._built_with}}
            collection = client.create_collection(COLLECTION, configuration=configuration, embedding_function=None)
            for start in range(0, len(embeddings), WRITTEN_AT_ONCE):
                block = np.ascontiguousarray(embeddings[start : start + WRITTEN_AT_ONCE])
                collection.add([str(start + row) for row in range(len(block))], block)
            self._found(collection, embeddings[:1], 1)  # writes the graph

    def _check(self, place: Path, noted: Mapping[str, Any]) -> None:
        for graph in place.rglob(GRAPH):  # Chroma can crash the process when it reads a shorter one
            if graph.stat().st_size < FLOAT_BYTES * noted["passages"]:
                raise DamagedError(f"has lost a part of {GRAPH}")
        with explained(ASKING, place), _opened(place) as client:
            collection = client.get_collection(COLLECTION, embedding_function=None)
            rows = [str(row) for row in sampled(noted["passages"])]
            found = collection.get(ids=rows, include=["embeddings"])
            vectors = dict(zip(map(int, found["ids"]), found["embeddings"], strict=True))
            check_manifest(noted, collection.count(), vectors)
            self._found(collection, np.stack([*vectors.values()]), 1)  # reads the graph

    def _search(self, corpus: Corpus, place: Path) -> Nearest:
        with explained(ASKING, place):
            client = client_of(place)
            collection = client.get_collection(COLLECTION, embedding_function=None)

        def ask(queries: Embeddings, wanted: int) -> Indices:
            with explained(ASKING, place):
                return self._found(collection, queries, wanted)

        nearest = self._ranked(corpus, place, ask, self.ef_search)
        weakref.finalize(nearest, client.close)
        return nearest

    def _found(self, collection: Any, queries: Embeddings, wanted: int) -> Indices:
        answer = collection.query(query_embeddings=np.ascontiguousarray(queries), n_results=wanted, include=[])
        passages = np.full((len(queries), wanted), NOTHING)
        for row, ids in zip(passages, answer["ids"], strict=True):
            row[: len(ids)] = [*map(int, ids)]
        return passages


@contextmanager
def _opened(place: Path) -> Iterator[Any]:
    """A client of a folder for the block."""
    client = client_of(place)
    try:
        yield client
    finally:
        client.close()
