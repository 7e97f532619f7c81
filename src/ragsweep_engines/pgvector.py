"""pgvector: PostgreSQL with its extension for vectors, on the user's own server."""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import NOTHING, Indices
from ragsweep.core.digest import digest
from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.core.limits import Between
from ragsweep.core.parsing import MalformedError, from_json
from ragsweep.core.progress import progress
from ragsweep.models.encoders.encoder import Embeddings
from ragsweep.retrieval.indexes.engine import Corpus, ranked_by_engine
from ragsweep.retrieval.indexes.index import Nearest
from ragsweep.retrieval.ranking import Ranking
from ragsweep_engines.manifest import (
    DamagedError,
    check_manifest,
    expect_noted,
    manifest,
    sampled,
    say_damaged,
)
from ragsweep_engines.packages import expect_package
from ragsweep_engines.postgres_access import Connection, connect, told

REASONS = {
    "42501": "the user may not create the schema ragsweep or the extension vector in this database",
    "0A000": "it does not have the extension vector: install pgvector on it",
    "58P01": "it does not have the extension vector: install pgvector on it",
}
SCHEMA = "ragsweep"
LABEL = "ragsweep corpus"  # begins the comment on a table, which says what is in it
ROWS_AT_ONCE = 4096  # passages that are sent at once
MOST_DIMENSIONS = 2000  # of a graph of pgvector's


@dataclass(frozen=True)
class PgvectorIndex:
    """Keeps passages in a table of PostgreSQL, in the schema `ragsweep`, and searches that.

    The address of the database is in the variable PGVECTOR_URL, with user and password. No run records it. The server
    builds the graph in several threads, so one that is built again may find other passages.

    Attributes:
        exact: Compares every query with every passage. Everything below is then without effect.
        m: Neighbours of a passage in the graph; twice as many on its lowest layer.
        ef_construction: Candidates held while a passage is inserted.
        ef_search: Candidates held while a query is answered; also the most passages that are retrieved.
    """

    name: ClassVar[str] = "pgvector"

    exact: bool = False
    m: Annotated[int, Between(2, 100)] = 16
    ef_construction: Annotated[int, Between(4, 1000)] = 64
    ef_search: Annotated[int, Between(1, 1000)] = 128

    def __post_init__(self) -> None:
        expect_package("psycopg", "index=pgvector", "pgvector")
        if not self.exact and self.ef_construction < 2 * self.m:
            raise ConfigError(
                f"index.ef_construction: found {self.ef_construction}, expected at least twice index.m ({self.m})"
            )

    @property
    def without_effect(self) -> tuple[str, ...]:
        """The settings of the graph, if there is none."""
        return ("m", "ef_construction", "ef_search") if self.exact else ()

    @property
    def at_least(self) -> Mapping[str, str]:
        """Settings that must not be smaller than another one."""
        return {} if self.exact else {"ef_search": "k"}

    def check(self) -> None:
        """Raise if the server cannot be used. Whatever is created to find that out is rolled back."""
        with _connected() as connection, connection.transaction(force_rollback=True):
            _prepare(connection)
            connection.execute(f"CREATE TABLE {SCHEMA}.check_of_rights (embedding vector(1))")

    def open_corpus(self, corpus: Corpus) -> Nearest:
        """Open the table of a corpus, building it if it is absent, and again if it is damaged."""
        dimensions = corpus.embeddings.shape[1]
        if not self.exact and dimensions > MOST_DIMENSIONS:
            raise ConfigError(
                f"index=pgvector: its graphs have at most {MOST_DIMENSIONS} dimensions and the encoder has "
                f"{dimensions}; set index.exact=true"
            )
        label = f"{LABEL} {corpus.digest} {'exact' if self.exact else f'hnsw {self.m} {self.ef_construction}'}"
        table = f"{SCHEMA}.corpus_{digest(label)[:32]}"
        with _connected() as connection:
            with connection.transaction():
                _prepare(connection)
            with connection.transaction():  # a killed process leaves nothing
                _lock(connection, table)
                if _exists(connection, table):
                    try:
                        self._check(connection, table, label)
                    except DamagedError as error:
                        say_damaged(self.name, table, error)
                        connection.execute(f"DROP TABLE {table}")
                if not _exists(connection, table):
                    self._build(connection, table, label, corpus.embeddings)
        return self._search(table, corpus)

    def delete(self, corpus_digest: str) -> None:
        """Drop the tables of a corpus, whatever their settings."""
        with _connected() as connection, connection.transaction():
            own = connection.execute(
                "SELECT format('%%I.%%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = %s AND "
                "starts_with(obj_description(format('%%I.%%I', schemaname, tablename)::regclass, 'pg_class'), %s)",
                [SCHEMA, f"{LABEL} {corpus_digest} "],
            ).fetchall()
            for (table,) in own:
                connection.execute(f"DROP TABLE {table}")

    def _build(self, connection: Connection, table: str, label: str, embeddings: Embeddings) -> None:
        from psycopg import sql

        dimensions = embeddings.shape[1]
        connection.execute(f"CREATE TABLE {table} (row integer NOT NULL, embedding vector({dimensions}) NOT NULL)")
        with progress(f"building a table of {len(embeddings):,} passages"):
            with connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN (FORMAT BINARY)") as copy:
                copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
                for start in range(0, len(embeddings), ROWS_AT_ONCE):
                    copy.write(_rows(start, embeddings[start : start + ROWS_AT_ONCE]).tobytes())
                copy.write(b"\xff\xff")
            if not self.exact:
                graph = f"WITH (m = {self.m}, ef_construction = {self.ef_construction})"
                connection.execute(f"CREATE INDEX ON {table} USING hnsw (embedding vector_ip_ops) {graph}")
        comment = f"{label} {json.dumps(manifest(embeddings))}"
        connection.execute(f"COMMENT ON TABLE {table} IS {sql.Literal(comment).as_string(connection)}")

    def _check(self, connection: Connection, table: str, label: str) -> None:
        """Raise `DamagedError` if a table does not have what was noted when it was built.

        Raises:
            RetrieverError: It is not ours.
        """
        comment = _label(connection, table) or ""
        if not comment.startswith(LABEL):
            raise RetrieverError(
                f"index=pgvector: the table {table} was not made by ragsweep (it lacks our comment); drop or rename it"
            )
        if not comment.startswith(f"{label} "):
            raise DamagedError("is said to have another corpus")
        noted = _noted(comment.removeprefix(f"{label} "))
        expect_noted(noted, {})
        indexes = connection.execute(
            "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = %s::regclass AND indisvalid", [table]
        ).fetchall()
        if not self.exact and not any("USING hnsw" in definition for (definition,) in indexes):
            raise DamagedError("has lost its graph")
        [passages] = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        rows = connection.execute(
            f"SELECT row, embedding::text FROM {table} WHERE row = ANY(%s)", [sampled(noted["passages"])]
        ).fetchall()
        check_manifest(noted, passages, {row: from_json(vector) for row, vector in rows})

    def _search(self, table: str, corpus: Corpus) -> Nearest:
        with _told():
            connection = connect("index=pgvector")
            connection.execute(f"SET {'enable_indexscan' if self.exact else 'enable_seqscan'} = off")
            if not self.exact:
                connection.execute(f"SET hnsw.ef_search = {self.ef_search}")
            [size] = connection.execute(f"SELECT pg_total_relation_size('{table}')").fetchone()

        def ask(queries: Embeddings, wanted: int) -> Indices:
            passages = np.full((len(queries), wanted), NOTHING)
            statement = f"SELECT row FROM {table} ORDER BY embedding <#> %s::vector LIMIT {wanted}"
            for query, found in zip(queries.tolist(), passages, strict=True):
                rows = connection.execute(statement, [str(query)], prepare=True).fetchall()
                found[: len(rows)] = [row for (row,) in rows]
            return passages

        def nearest(queries: Embeddings, depth: int) -> Ranking:
            with _told():
                most = depth if self.exact else min(depth, self.ef_search)
                ranking = ranked_by_engine(ask, corpus.embeddings, queries, most, corpus.longest)
            return replace(ranking, index_bytes=np.array([size]))

        weakref.finalize(nearest, connection.close)
        return nearest


@contextmanager
def _connected() -> Iterator[Connection]:
    """A connection for the block, whose errors are ours."""
    with _told(), connect("index=pgvector") as connection:
        yield connection


@contextmanager
def _told() -> Iterator[None]:
    """Tell of an error of the server's in our words."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        raise ConfigError(f"index=pgvector: {told(error, REASONS)}") from None


def _prepare(connection: Connection) -> None:
    """Create the extension and the schema if they are absent, one process at a time until the transaction ends."""
    _lock(connection, SCHEMA)
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    if connection.execute("SELECT to_regnamespace(%s)", [SCHEMA]).fetchone() == (None,):
        connection.execute(f"CREATE SCHEMA {SCHEMA}")


def _lock(connection: Connection, name: str) -> None:
    """Wait for other processes that use this name, until the transaction ends."""
    connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [name])


def _exists(connection: Connection, table: str) -> bool:
    return bool(connection.execute("SELECT to_regclass(%s)", [table]).fetchone() != (None,))


def _noted(text: str) -> dict[str, Any]:
    """What a comment says of a table; empty where it cannot be read."""
    try:
        noted = from_json(text)
    except MalformedError:
        return {}
    return noted if isinstance(noted, dict) else {}


def _label(connection: Connection, table: str) -> str | None:
    """What a table says that it holds; None where there is none."""
    [label] = connection.execute("SELECT obj_description(to_regclass(%s), 'pg_class')", [table]).fetchone()
    return None if label is None else str(label)


def _rows(start: int, embeddings: Embeddings) -> npt.NDArray[Any]:
    """Rows of PostgreSQL's binary copy format, with vectors as pgvector receives them: dimensions, 0, numbers."""
    dimensions = embeddings.shape[1]
    kinds = [("fields", ">i2"), ("row_bytes", ">i4"), ("row", ">i4"), ("vector_bytes", ">i4"), ("dimensions", ">i2")]
    rows = np.zeros(len(embeddings), np.dtype([*kinds, ("unused", ">i2"), ("embedding", ">f4", dimensions)]))
    rows["fields"], rows["row_bytes"], rows["vector_bytes"], rows["dimensions"] = 2, 4, 4 + 4 * dimensions, dimensions
    rows["row"] = np.arange(start, start + len(embeddings))
    rows["embedding"] = embeddings
    return rows
