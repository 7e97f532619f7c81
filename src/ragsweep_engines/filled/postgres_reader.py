"""Reads a table of PostgreSQL, every statement in a transaction that may only read."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from ragsweep.core.errors import ConfigError
from ragsweep.core.terminal import some_of
from ragsweep_engines.postgres_access import MAY_PASS, URL, Connection, connect, told
from ragsweep_engines.systems.asking import PassingError

ASKING = "retriever=postgres"
CODES_THAT_PASS = ("08", "40", "53", "57")  # classes of codes: connections, conflicts, resources, interventions
REASONS = {
    "25006": "a view or a function that is read there writes",
    "42501": "the user may not read it",
    "57014": "it does not answer in time (retriever.timeout_s)",
}
COLUMNS = """
    SELECT a.attname, n.nspname, t.typname, a.atttypmod,
        ARRAY(SELECT o.opcname FROM pg_index i JOIN pg_opclass o ON o.oid = ANY(i.indclass)
              WHERE i.indrelid = a.attrelid AND a.attnum = ANY(i.indkey) AND i.indisvalid)
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid JOIN pg_namespace n ON n.oid = t.typnamespace
    WHERE a.attrelid = to_regclass(%(table)s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
TABLES = """
    SELECT CASE WHEN schemaname = current_schema() THEN relname ELSE schemaname || '.' || relname END
    FROM pg_stat_user_tables ORDER BY 1
"""


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        schema: That of its type.
        type: The name of its type.
        modifier: Of the type: the dimensions of a vector, or -1.
        operators: What its indexes are made for, such as `vector_cosine_ops`.
    """

    schema: str
    type: str
    modifier: int
    operators: Sequence[str]


class PostgresReader:
    """Reads a table of the database of PGVECTOR_URL; each query that is asked at the same time has a connection.

    Args:
        table: Its name, with a schema and a dot before it where it is not on the search path.
        settings: Settings of the server for every statement. They hold until the end of its transaction: a pool that
            the user has before the server would hand others a connection for which they stay.
    """

    def __init__(self, table: str, settings: Mapping[str, str]) -> None:
        self.table, self._settings = table, settings
        self._idle: SimpleQueue[Connection] = SimpleQueue()
        weakref.finalize(self, _close, self._idle)

    @cached_property
    def columns(self) -> Mapping[str, Column]:
        """The columns of the table, by name. Raises `ConfigError` if there is no such table."""
        from psycopg import sql

        rows = self.rows(COLUMNS, {"table": sql.Identifier(*self.table.split(".")).as_string(None)})
        if not rows:
            tables = some_of([name for (name,) in self.rows(TABLES, {})]) or "none"
            raise ConfigError(f"retriever.table: the database of {URL} has no {self.table!r} (there is {tables})")
        return {name: Column(*row) for name, *row in rows}

    @property
    def quoted(self) -> Any:
        """The name of the table, to be put into a statement."""
        return identifier(*self.table.split("."))

    def rows(self, statement: Any, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """What a statement finds."""
        with self._connection() as connection, connection.pipeline(), connection.transaction():
            for name, value in self._settings.items():
                connection.execute("SELECT set_config(%s, %s, true)", [name, value])
            found: list[tuple[Any, ...]] = connection.execute(statement, values).fetchall()
            return found

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        """A connection whose transactions may only read."""
        import psycopg

        try:
            try:
                connection = self._idle.get_nowait()
            except Empty:
                connection = connect(ASKING)
                connection.read_only = True
                connection.prepare_threshold = None  # a pool would not know what was prepared
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
            self._idle.put(connection)
        except psycopg.Error as error:
            code = error.sqlstate or ""
            said = f"{ASKING}: {told(error, REASONS)}"
            if code[:2] in CODES_THAT_PASS or said.endswith(MAY_PASS):
                raise PassingError(said) from None
            raise ConfigError(said) from None


def identifier(*names: str) -> Any:
    """A name, or one within another, to be put into a statement that has values."""
    from psycopg import sql

    return sql.Identifier(*(name.replace("%", "%%") for name in names))  # a single one begins the place of a value


def _close(idle: SimpleQueue[Connection]) -> None:
    while not idle.empty():
        idle.get_nowait().close()
