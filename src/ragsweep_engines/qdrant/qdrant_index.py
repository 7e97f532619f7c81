"""Qdrant as an index: it stores the passages of a corpus, and searches them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.core.digest import digest
from ragsweep.core.limits import Between, Text
from ragsweep.models.encoders.encoder import Embeddings
from ragsweep.retrieval.indexes.engine import Corpus, ranked_by_engine
from ragsweep.retrieval.indexes.index import Nearest
from ragsweep.retrieval.ranking import Ranking
from ragsweep.store.stage_store import NO_STORE, Store
from ragsweep_engines.qdrant import embedded
from ragsweep_engines.qdrant import qdrant_access as access
from ragsweep_engines.qdrant.qdrant_collection import Collection, Graph, Quantize, Query, SearchParams, expect_packages
from ragsweep_engines.qdrant.server import ServerCollection


@dataclass(frozen=True)
class QdrantIndex:
    """Qdrant, within this process or on a server. A corpus becomes a collection of its own, which is built once.

    Qdrant draws the layers of its graph at random. So a graph that is built again may find others, within what
    `index/recall` says; exact search does not depend on it.

    Attributes:
        store: Below its folder are the collections of this process.
        m: Neighbours of a passage in the graph; twice as many on the lowest layer.
        ef_construct: Candidates held while a passage is inserted.
        ef_search: Candidates held while a query is answered.
        quantize: Precision of the vectors that are searched first; the best are compared again in full precision.
        exact: Compares every query with every passage, without a graph.
        keep_text: Whether the texts are stored beside the vectors.
        path: Folder of the collections of this process; None takes one in the store.
        server: Whether to use the server of QDRANT_URL; None uses it if it is set.
    """

    name: ClassVar[str] = "qdrant"

    store: Store = NO_STORE
    m: Annotated[int, Between(2, 512)] = 32
    ef_construct: Annotated[int, Between(4, 1_000_000)] = 200
    ef_search: Annotated[int, Between(1, 1_000_000)] = 128
    quantize: Quantize | None = None
    exact: bool = False
    keep_text: bool = False
    path: Text | None = None
    server: bool | None = None

    def __post_init__(self) -> None:
        expect_packages(["dotenv"], "index=qdrant")
        if self.server is None:  # what is used is what is logged
            object.__setattr__(self, "server", access.has_server())
        expect_packages(["qdrant_client" if self.server else "qdrant_edge"], "index=qdrant")

    @property
    def libraries(self) -> tuple[str, ...]:
        """The package that searches; that of a server only asks."""
        return () if self.server else ("qdrant-edge-py",)

    @property
    def without_effect(self) -> tuple[str, ...]:
        """Settings that have no effect on a ranking."""
        return ("path", "keep_text", *(("m", "ef_construct", "ef_search", "quantize") if self.exact else ()))

    @property
    def at_least(self) -> Mapping[str, str]:
        """Settings that must not be smaller than another one."""
        return {} if self.exact else {"ef_search": "k"}

    def check(self) -> None:
        """Raise an error if the server cannot be used."""
        if self.server:
            ServerCollection(self.name).exists()

    def open_corpus(self, corpus: Corpus) -> Nearest:
        """Make a corpus searchable: build the collection if it is absent, and reuse it if it is there."""
        collection: Collection
        size = np.empty(0, dtype=np.int64)  # what a server has on its disk is not known
        if self.server:
            collection = ServerCollection(self._name(corpus.digest))
            collection.build(corpus, self._graph, with_text=self.keep_text)
        else:
            folder = self._folder(corpus.digest)
            in_store = self.path is None
            collection = embedded.opened(folder, corpus, self._graph, with_text=self.keep_text, in_store=in_store)
            size = np.array([embedded.bytes_on_disk(folder)])
        manner = SearchParams(exact=self.exact, ef=None if self.exact else self.ef_search)

        def ask(queries: Embeddings, wanted: int) -> Indices:
            found = np.full((len(queries), wanted), NOTHING)
            for row, hits in zip(
                found, collection.search([Query(q) for q in queries.tolist()], manner, wanted), strict=True
            ):
                row[: len(hits)] = [hit.point for hit in hits]
            return found

        def nearest(queries: Embeddings, depth: int) -> Ranking:
            ranking = ranked_by_engine(ask, corpus.embeddings, queries, depth, corpus.longest)
            return replace(ranking, index_bytes=size)

        return nearest

    def delete(self, corpus_digest: str) -> None:
        """Delete the collection that these settings have built for this corpus, and nothing else."""
        if self.server:
            ServerCollection(self._name(corpus_digest)).delete(corpus_digest)
        else:
            embedded.delete(self._folder(corpus_digest), corpus_digest)

    @property
    def _graph(self) -> Graph:
        return Graph(0, self.ef_construct, None) if self.exact else Graph(self.m, self.ef_construct, self.quantize)

    def _name(self, corpus_digest: str) -> str:
        """The name of a collection: another corpus, graph or payload is another one."""
        graph = [] if self.exact else [self.m, self.ef_construct, self.quantize]
        return f"ragsweep-{digest([corpus_digest, graph, self.keep_text])[:32]}"

    def _folder(self, corpus_digest: str) -> Path:
        if self.path is not None:
            place = Path(self.path)
        elif self.store.enabled:
            place = Path(self.store.path) / "engines" / self.name
        else:
            place = Path(_temporary().name)
        return place.resolve() / self._name(corpus_digest)


@cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    """A folder that is deleted when this process ends."""
    return tempfile.TemporaryDirectory(prefix="ragsweep-qdrant-")
