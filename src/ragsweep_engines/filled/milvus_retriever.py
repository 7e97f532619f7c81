"""A collection of Milvus that somebody else has filled, in a folder of milvus-lite or on a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Text
from ragsweep.core.terminal import some_of
from ragsweep_engines.filled.collection_retriever import CollectionRetriever
from ragsweep_engines.filled.filled_retriever import SAMPLED_ROWS, Row, Table, Vector, the_only
from ragsweep_engines.folder_copies import copy_of
from ragsweep_engines.milvus_access import SERVER, SUFFIX, client_of, client_of_server, explained, release
from ragsweep_engines.packages import expect_package
from ragsweep_engines.server_address import ServerAddress

ASKING = "retriever=milvus"
COLLECTIONS = "collections"  # a folder within one of milvus-lite
FLOATS = (101, 102, 103)  # types of fields: vectors of 32 and 16 bits
OTHER_VECTORS = (100, 104, 105, 106)  # binary, sparse, of int8, and lists of vectors
FURTHER = "$meta"  # fields that the schema does not name


@dataclass(frozen=True, kw_only=True)
class MilvusRetriever(CollectionRetriever):
    """A collection of Milvus, searched by the distance of its index.

    Attributes:
        collection: Its name.
        path: What milvus-lite keeps (`NAME.db`), of which a copy is opened, as it writes into what it opens; None takes
            the server of MILVUS_URL.
        database: On the server; None takes the usual one.
        vector: The field with the vectors; None takes the only one.
        parameters: Of the search, such as `ef` or `nprobe`.
    """

    server: ClassVar[ServerAddress] = SERVER

    vector: Text | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_package("pymilvus", ASKING, "milvus")
        if self.path is not None:
            expect_package("milvus_lite", ASKING, "milvus")

    def _expect(self, folder: Path) -> None:
        if folder.is_file():
            raise ConfigError(f"retriever.path: {folder} is a file, as milvus-lite 2 wrote; expected a folder of 3")
        if not (folder / COLLECTIONS).is_dir():
            raise ConfigError(f"retriever.path: {folder} has no {COLLECTIONS}, so it is not of milvus-lite")

    @property
    def _name(self) -> str:
        return f"milvus {self.collection}"

    @property
    def _own(self) -> Sequence[object]:
        return [self.collection, self.database, self.vector, dict(self.parameters)]

    def _open(self, opened: ExitStack) -> Table:
        with explained(ASKING, self._folder):
            client = self._client(opened)
            if not client.has_collection(self.collection):
                there = some_of(sorted(client.list_collections())) or "none"
                raise ConfigError(f"retriever.collection: there is no {self.collection!r} (there is {there})")
            layout = client.describe_collection(self.collection)
            types = {each["name"]: int(each["type"]) for each in layout["fields"]}
            vectors = [name for name, type_ in types.items() if type_ in FLOATS]
            vector = the_only(vectors, self.vector, "vector", f"collection {self.collection!r}")
            dimensions = {each["name"]: each["params"].get("dim") for each in layout["fields"]}[vector]
            fields = [name for name, type_ in types.items() if type_ not in (*FLOATS, *OTHER_VECTORS)]
            fields += [FURTHER] if layout["enable_dynamic_field"] else []
            if self._folder is not None:
                client.load_collection(self.collection)  # into the memory of this process
            elif "NotLoad" in str(client.get_load_state(self.collection)["state"]):
                raise ConfigError(f"collection {self.collection!r} is not loaded on the server, and is not loaded here")
            indexes = [client.describe_index(self.collection, each) for each in client.list_indexes(self.collection)]
            kind = next((each["metric_type"] for each in indexes if each["field_name"] == vector), "COSINE")
            sample = client.query(self.collection, filter="", limit=SAMPLED_ROWS, output_fields=fields)

        def search(query: str, of_query: Vector) -> Sequence[Row]:
            with explained(ASKING, self._folder):
                [hits] = client.search(
                    self.collection,
                    data=[[*of_query]],
                    anns_field=vector,
                    limit=self.depth,
                    output_fields=fields,
                    search_params={"params": dict(self.parameters)},
                )
            return [_row(hit, kind) for hit in hits]

        return Table(f"collection {self.collection!r}", sample, int(dimensions), search)

    def _client(self, opened: ExitStack) -> Any:
        if self._folder is None:
            return client_of_server(self.database)
        copy = Path(opened.enter_context(copy_of(self._folder, self.fingerprint, "milvus", SUFFIX)))
        client = client_of(copy)
        opened.callback(release, client, copy)
        return client


def _row(hit: Mapping[str, Any], kind: str) -> Row:
    """A hit, whose key has the name of its field; a distance of Milvus is a similarity, but for L2."""
    key = {name: value for name, value in hit.items() if name not in ("distance", "entity")}
    return {**key, **hit["entity"], "score": -hit["distance"] if kind == "L2" else hit["distance"]}
