"""pgvector: PostgreSQL with its extension for vectors, on the user's own server."""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from ragsweep.core.arrays import NOTHING
from ragsweep.core.digest import digest
from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.core.limits import Between
from ragsweep.core.progress import progress
from ragsweep.models.encoders.encoder import Embeddings
from ragsweep.retrieval.indexes.exact import canonical_scores, longest_of
from ragsweep.retrieval.indexes.index import Index, Keep, Nearest
from ragsweep.retrieval.ranking import Ranking, ranked
from ragsweep_engines.databases import check_package
from ragsweep_engines.postgres_access import Connection, connect, our_errors

REASONS = {
    "42501": "the user may not create the schema ragsweep or the extension vector in this database",
    "0A000": "it does not have the extension vector: install pgvector on it",
    "58P01": "it does not have the extension vector: install pgvector on it",
}
ASKING, SCHEMA = "index=pgvector", "ragsweep"
MOST_DIMENSIONS = 2000  # of a graph of pgvector's
# All that may be among the best: products that are nearer to the last of them than their roundings, too.
EXACTLY = """
    SELECT row FROM {table} WHERE embedding <#> %(query)s::vector <= %(slack)s + (SELECT max(far) FROM (
        SELECT embedding <#> %(query)s::vector AS far FROM {table} ORDER BY far LIMIT {most}) best)
"""
BY_GRAPH = "SELECT row FROM {table} ORDER BY embedding <#> %(query)s::vector LIMIT {most}"


@dataclass(frozen=True)
class PgvectorIndex(Index):
    """Keeps passages in a table of PostgreSQL, in the schema `ragsweep`, and searches that.

    The address of the database is in the variable PGVECTOR_URL, with user and password. No run records it. A table has
    the name of what is in it and is written in one transaction, so it is complete or absent. The server builds the
    graph in several threads, so one that is built again may find other passages.

    Attributes:
        exact: Compares every query with every passage. Everything below is then without effect.
        m: Neighbours of a passage in the graph; twice as many on its lowest layer.
        ef_construction: Candidates held while a passage is inserted.
        ef_search: Candidates held while a query is answered; also the most passages that are retrieved.
    """

    exact: bool = False
    m: Annotated[int, Between(2, 100)] = 16
    ef_construction: Annotated[int, Between(4, 1000)] = 64
    ef_search: Annotated[int, Between(1, 1000)] = 128

    def __post_init__(self) -> None:
        check_package("psycopg", "index=pgvector", "pgvector")
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

    def open(self, passages: Embeddings, keep: Keep) -> Nearest:
        """Search the table of these embeddings, which is built if it is absent; nothing of it is kept elsewhere."""
        dimensions = passages.shape[1]
        if not self.exact and dimensions > MOST_DIMENSIONS:
            raise ConfigError(
                f"index=pgvector: its graphs have at most {MOST_DIMENSIONS} dimensions and the encoder has "
                f"{dimensions}; set index.exact=true"
            )
        content = hashlib.sha256(np.ascontiguousarray(passages).data).hexdigest()
        graph = None if self.exact else [self.m, self.ef_construction]
        table = f"{SCHEMA}.corpus_{digest([content, dimensions, graph])[:32]}"
        with _connected() as connection:
            with connection.transaction():
                _prepare(connection)
            with connection.transaction():  # a killed process leaves nothing
                _lock(connection, table)
                if connection.execute("SELECT to_regclass(%s)", [table]).fetchone() == (None,):
                    self._build(connection, table, passages)
        return self._search(table, passages)

    def _build(self, connection: Connection, table: str, passages: Embeddings) -> None:
        dimensions = passages.shape[1]
        connection.execute(f"CREATE TABLE {table} (row integer NOT NULL, embedding vector({dimensions}) NOT NULL)")
        with progress(f"building a table of {len(passages):,} passages"):
            with connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
                for row, embedding in enumerate(passages):
                    copy.write_row((row, str(embedding.tolist())))
            if not self.exact:
                graph = f"WITH (m = {self.m}, ef_construction = {self.ef_construction})"
                connection.execute(f"CREATE INDEX ON {table} USING hnsw (embedding vector_ip_ops) {graph}")

    def _search(self, table: str, passages: Embeddings) -> Nearest:
        with our_errors(ASKING, REASONS):
            connection = connect(ASKING)
            connection.execute(f"SET {'enable_indexscan' if self.exact else 'enable_seqscan'} = off")
            if not self.exact:
                connection.execute(f"SET hnsw.ef_search = {self.ef_search}")
            [size] = connection.execute(f"SELECT pg_total_relation_size('{table}')").fetchone()
            held = connection.execute(f"SELECT count(*), min(row), max(row) FROM {table}").fetchone()
        if held != (len(passages), 0, len(passages) - 1):
            raise RetrieverError(f"index=pgvector: somebody has changed the table {table}; drop it to build it again")
        rounding = 2 * np.finfo(np.float32).eps * passages.shape[1] * longest_of(passages)  # as in `ExactSearch`

        def nearest(queries: Embeddings, depth: int) -> Ranking:
            most = depth if self.exact else self.ef_search
            statement = (EXACTLY if self.exact else BY_GRAPH).format(table=table, most=most)
            rows = []
            for query in queries:
                asked = {"query": str(query.tolist()), "slack": float(rounding * np.linalg.norm(query))}
                with our_errors(ASKING, REASONS):
                    rows.append([row for (row,) in connection.execute(statement, asked, prepare=True).fetchall()])
            passage_rows = np.full((len(queries), max(map(len, rows))), NOTHING)
            for passages_of_query, hits in zip(passage_rows, rows, strict=True):
                passages_of_query[: len(hits)] = hits
            ranking = ranked(passage_rows, canonical_scores(queries, passages, passage_rows), depth)
            return replace(ranking, index_bytes=np.array([size]))

        weakref.finalize(nearest, connection.close)
        return nearest


@contextmanager
def _connected() -> Iterator[Connection]:
    """A connection for the block, whose errors are ours."""
    with our_errors(ASKING, REASONS), connect(ASKING) as connection:
        yield connection


def _prepare(connection: Connection) -> None:
    """Create the extension and the schema if they are absent, one process at a time until the transaction ends."""
    _lock(connection, SCHEMA)
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    if connection.execute("SELECT to_regnamespace(%s)", [SCHEMA]).fetchone() == (None,):
        connection.execute(f"CREATE SCHEMA {SCHEMA}")


def _lock(connection: Connection, name: str) -> None:
    """Wait for other processes that use this name, until the transaction ends."""
    connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [name])
