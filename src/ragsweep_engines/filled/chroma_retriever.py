"""A collection of Chroma that somebody else has filled, in a folder or on a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Text
from ragsweep.core.terminal import some_of
from ragsweep_engines.chroma_access import SERVER, client_of, client_of_server, explained
from ragsweep_engines.filled.collection_retriever import CollectionRetriever
from ragsweep_engines.filled.filled_retriever import SAMPLED_ROWS, Distance, Row, Table, Vector, score
from ragsweep_engines.folder_copies import copy_of
from ragsweep_engines.packages import expect_package
from ragsweep_engines.server_address import ServerAddress
from ragsweep_engines.systems.asking import within

FILE = "chroma.sqlite3"
ASKING = "retriever=chroma"
FIELDS = ["documents", "metadatas"]


@dataclass(frozen=True, kw_only=True)
class ChromaRetriever(CollectionRetriever):
    """A collection of Chroma, searched by the distance that it was made with.

    Attributes:
        collection: Its name.
        path: Folder of a database, of which a copy is opened, as Chroma writes into what it opens; None takes the
            server of CHROMA_URL.
        database: On the server; None takes the usual one.
        tenant: On the server; None takes the usual one.
    """

    server: ClassVar[ServerAddress] = SERVER

    tenant: Text | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_package("chromadb", ASKING, "chroma")

    def _expect(self, folder: Path) -> None:
        if not (folder / FILE).is_file():
            raise ConfigError(f"retriever.path: {folder} has no {FILE}, so it is not a folder of Chroma")

    @property
    def _name(self) -> str:
        return f"chroma {self.collection}"

    @property
    def _own(self) -> Sequence[object]:
        return [self.collection, self.tenant, self.database]

    def _open(self, opened: ExitStack) -> Table:
        with explained(ASKING, self._folder):
            if self._folder is None:
                collection, found = within(  # the client of Chroma has no time limit
                    self.timeout_s, lambda: self._sampled(client_of_server(self.tenant, self.database))
                )
            else:
                copy = opened.enter_context(copy_of(self._folder, self.fingerprint, "chroma"))
                client = client_of(Path(copy))
                opened.callback(client.close)
                collection, found = self._sampled(client)
        sample = _rows({name: found[name] for name in ("ids", *FIELDS)})
        dimensions = len(found["embeddings"][0]) if sample else None
        kinds = [collection.configuration_json.get(name) or {} for name in ("hnsw", "spann")]
        kind: Distance = next((each["space"] for each in kinds if each.get("space")), "l2")

        def search(query: str, vector: Vector) -> Sequence[Row]:
            with explained(ASKING, self._folder):
                found = collection.query(
                    query_embeddings=[[*vector]], n_results=self.depth, include=[*FIELDS, "distances"]
                )
            rows = _rows({name: found[name][0] for name in ("ids", *FIELDS)})
            scores = [score(far, kind) for far in found["distances"][0]]
            return [{**row, "score": each} for row, each in zip(rows, scores, strict=True)]

        return Table(f"collection {self.collection!r}", sample, dimensions, search)

    def _sampled(self, client: Any) -> tuple[Any, Mapping[str, Any]]:
        """The collection, and a few of its rows."""
        from chromadb.errors import NotFoundError

        try:
            collection = client.get_collection(self.collection, embedding_function=None)  # queries come as vectors
        except NotFoundError:
            there = some_of(sorted(each.name for each in client.list_collections())) or "none"
            raise ConfigError(f"retriever.collection: there is no {self.collection!r} (there is {there})") from None
        return collection, collection.get(limit=SAMPLED_ROWS, include=[*FIELDS, "embeddings"])


def _rows(found: Mapping[str, Any]) -> list[Row]:
    """What Chroma returns column by column."""
    columns = zip(found["ids"], found["documents"], found["metadatas"], strict=True)
    return [{"id": name, "text": text, "metadata": metadata} for name, text, metadata in columns]
