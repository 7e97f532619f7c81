"""A table of PostgreSQL that somebody else has filled: vectors of pgvector, full text, or both."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from queue import Empty, SimpleQueue
from typing import Annotated, Any, Literal, NamedTuple

from ragsweep.core.digest import digest
from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between, OwnData, Text
from ragsweep_engines.databases import SAMPLED_ROWS, DatabaseRetriever, Row, Table, Vector, check_package, flat
from ragsweep_engines.postgres_access import URL, Connection, address_parts, connect, our_errors

Distance = Literal["cosine", "l2", "ip"]
Search = Callable[[str, Vector, int], list[Row]]  # of a query, its vector and the number of rows

ASKING = "retriever=postgres"
VECTORS = ("vector", "halfvec")  # types of pgvector whose distances are the same
NOT_SHOWN = (*VECTORS, "sparsevec", "bit", "tsvector", "bytea")  # types of columns that say nothing of a passage
OPERATORS: Mapping[Distance, str] = {"cosine": "<=>", "l2": "<->", "ip": "<#>"}  # the last one with a minus before it
RRF_CONSTANT = 60
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
# No index orders rows by a second key: all that are as far as the last are fetched. Zeros have no cosine.
NEAREST = """
    SELECT * FROM (SELECT {row} AS found, {distance} AS distance FROM {table} WHERE {where} AND {vector} IS NOT NULL
                   ORDER BY {distance} FETCH FIRST (%(count)s) ROWS WITH TIES) nearest
    WHERE distance <> 'NaN' ORDER BY distance, found LIMIT %(count)s
"""
WITH_WORDS = """
    SELECT {row}, ts_rank({words}, {query}) FROM {table} WHERE {where} AND {words} @@ {query}
    ORDER BY 2 DESC, 1 LIMIT %(count)s
"""


class Column(NamedTuple):
    """A column: schema and name of its type, its modifier (dimensions, or -1), and what its indexes are made for."""

    schema: str
    type: str
    modifier: int
    operators: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class PostgresRetriever(DatabaseRetriever):
    """A table of the database of PGVECTOR_URL, each row of it a passage, searched in transactions that may only read.

    Attributes:
        table: Its name, with a schema and a dot before it where it is not on the search path.
        search: What is searched: the vectors, the words of the text, or both, fused by their ranks.
        vector: The column with the vectors; None takes the only one.
        distance: By which vectors are compared; None takes that of the column's index, or else cosine.
        exact: Compares every row, without an index.
        ef_search: Candidates held while a graph is searched; None leaves it to the server, which takes 40.
        probes: Lists that are searched of an index in lists; None leaves it to the server, which takes 1.
        words: Whether a text must have any word of the query, or all of them.
        language: Of the words: a text search configuration of the server.
        tsvector: The column that has the words of the text; None computes them of the column that `text` names.
        candidates: Rows of each ranking that are fused.
        filter: Values that a column, or a field within one of JSON, may have, by its name (`metadata.language`).
    """

    table: OwnData
    search: Literal["vector", "text", "both"] = "vector"
    vector: Text | None = None
    distance: Distance | None = None
    exact: bool = False
    ef_search: Annotated[int, Between(1, 1000)] | None = None
    probes: Annotated[int, Between(1, 32768)] | None = None
    words: Literal["any", "all"] = "any"
    language: Text = "english"
    tsvector: Text | None = None
    candidates: Annotated[int, Between(1, 10_000)] = 100
    filter: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_package("psycopg", ASKING, "pgvector")
        if self.search != "vector" and not (self.tsvector or self.text):
            raise ConfigError(
                f"retriever.search={self.search}: needs the column of the texts, or of their words; set retriever.text "
                "or retriever.tsvector"
            )

    @property
    def without_effect(self) -> tuple[str, ...]:  # type: ignore[override]  # depends on what is searched
        """Settings of a search that is not made."""
        unused = {
            "vector": ("words", "language", "tsvector", "candidates"),
            "text": ("encoder", "vector", "distance", "exact", "ef_search", "probes", "candidates"),
            "both": (),
        }[self.search]
        return (*DatabaseRetriever.without_effect, *unused, *(("ef_search", "probes") if self.exact else ()))

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the address, without passwords."""
        return digest(address_parts(ASKING))

    @property
    def _name(self) -> str:
        return f"postgres {self.table}"

    @property
    def _searches_vectors(self) -> bool:
        return self.search != "text"

    def _open(self, opened: ExitStack) -> Table:
        reader = _Reader(self, opened)
        sample = reader.rows("SELECT {row} FROM {table} WHERE {where} LIMIT %(count)s", {"count": SAMPLED_ROWS})
        searches = [reader.nearest()] if self.search != "text" else []
        searches += [reader.with_words()] if self.search != "vector" else []
        dimensions = reader.dimensions() if self._searches_vectors else None

        def search(query: str, vector: Vector) -> Sequence[Row]:
            if len(searches) == 1:
                return searches[0](query, vector, self.depth)
            return fused([one(query, vector, self.candidates) for one in searches])[: self.depth]

        return Table(reader.name, [row for (row,) in sample], dimensions, search)


class _Reader:
    """Reads a table, every statement in a transaction that may only read; queries asked at once have a connection each.

    Settings of the server hold until the end of a transaction: a pool that the user has before the server would hand
    others a connection for which they stay.
    """

    def __init__(self, settings: PostgresRetriever, opened: ExitStack) -> None:
        from psycopg import sql

        self._of, self._idle = settings, SimpleQueue[Connection]()
        opened.callback(_close, self._idle)
        self._server = {
            "statement_timeout": f"{1000 * settings.timeout_s:.0f}ms",
            "enable_indexscan": "off" if settings.exact else None,
            "hnsw.ef_search": settings.ef_search,
            "ivfflat.probes": settings.probes,
        }
        names = settings.table.split(".")
        described = self._read(COLUMNS, {"table": sql.Identifier(*names).as_string(None)})
        if not described:
            tables = ", ".join(repr(name) for (name,) in self._read(TABLES, {})[:20]) or "none"
            raise ConfigError(f"retriever.table: the database of {URL} has no {settings.table!r} (there is {tables})")
        self.columns = {name: Column(*column) for name, *column in described}
        self.name = f"table {settings.table!r}" + (" with this filter" if settings.filter else "")
        shown = [name for name, column in self.columns.items() if column.type not in NOT_SHOWN]
        row = sql.SQL("(SELECT to_jsonb(shown_fields.*) FROM (SELECT {}) shown_fields)")
        where, self._values = self._where()
        columns = sql.SQL(", ").join(map(_identifier, shown))
        self._parts = {"row": row.format(columns), "table": _identifier(*names), "where": where}

    def rows(self, statement: str, values: Mapping[str, Any], **parts: Any) -> list[tuple[Any, ...]]:
        """Run a statement: parts in braces are inserted as identifiers, values are passed separately."""
        from psycopg import sql

        return self._read(sql.SQL(statement).format(**self._parts, **parts), {**self._values, **values})

    def dimensions(self) -> int | None:
        """The dimensions of the vectors; they need not be those of the column, and with a filter not of all rows."""
        name = self._vector()
        if (modifier := self.columns[name].modifier) > 0:
            return modifier
        statement = "SELECT {schema}.vector_dims({vector}) FROM {table} WHERE {where} AND {vector} IS NOT NULL LIMIT 1"
        schema = _identifier(self.columns[name].schema)
        rows = self.rows(statement, {}, schema=schema, vector=_identifier(name))
        return next((int(dimensions) for (dimensions,) in rows), None)

    def nearest(self) -> Search:
        """Search the vectors."""
        from psycopg import sql

        name = self._vector()
        column = self.columns[name]
        indexed = {kind for kind in OPERATORS for made_for in column.operators if f"_{kind}_" in made_for}
        kind = self._of.distance or (indexed.pop() if len(indexed) == 1 else "cosine")
        distance = sql.SQL("{} OPERATOR({schema}.{}) %(vector)s::{schema}.{}").format(
            _identifier(name), sql.SQL(OPERATORS[kind]), _identifier(column.type), schema=_identifier(column.schema)
        )

        def search(query: str, vector: Vector, count: int) -> list[Row]:
            values = {"vector": str([*vector]), "count": count}
            rows = self.rows(NEAREST, values, distance=distance, vector=_identifier(name))
            return [{**fields, "score": 1 - far if kind == "cosine" else -far} for fields, far in rows]

        return search

    def with_words(self) -> Search:
        """Search the words."""
        from psycopg import sql

        settings = self._of
        languages = [name for (name,) in self._read("SELECT cfgname FROM pg_ts_config ORDER BY 1", {})]
        if settings.language not in languages:
            names = ", ".join(languages)
            raise ConfigError(f"retriever.language: the server has no {settings.language!r} (there is {names})")
        name = settings.tsvector or settings.text or ""
        self._check_name(name, "tsvector" if settings.tsvector else "text", ("tsvector",) if settings.tsvector else ())
        to_words = "{}" if settings.tsvector else "to_tsvector(%(language)s::regconfig, {}::text)"
        to_query = "plainto_tsquery(%(language)s::regconfig, %(query)s)"
        if settings.words == "any":
            to_query = f"replace({to_query}::text, ' & ', ' | ')::tsquery"
        parts = {"words": sql.SQL(to_words).format(_identifier(name)), "query": sql.SQL(to_query)}

        def search(query: str, vector: Vector, count: int) -> list[Row]:
            values = {"language": settings.language, "query": query, "count": count}
            return [{**fields, "score": rank} for fields, rank in self.rows(WITH_WORDS, values, **parts)]

        return search

    def _vector(self) -> str:
        """The column of the vectors."""
        vectors = [name for name, column in self.columns.items() if column.type in VECTORS]
        if self._of.vector is None and len(vectors) != 1:
            listed = f"there is {', '.join(vectors)}" if vectors else "there is none"
            raise ConfigError(f"retriever.vector: null, and {self.name} does not have exactly one ({listed})")
        name = self._of.vector or vectors[0]
        self._check_name(name, "vector", VECTORS)
        return name

    def _check_name(self, name: str, setting: str, types: Sequence[str] = ()) -> None:
        columns = [column for column, kind in self.columns.items() if not types or kind.type in types]
        if name not in columns:
            names = ", ".join(columns) or "none"
            raise ConfigError(f"retriever.{setting}: {self.name} has no column {name!r} (there is {names})")

    def _where(self) -> tuple[Any, dict[str, Any]]:
        """The condition of the filter, and the values in it."""
        from psycopg import sql

        conditions, values = [sql.SQL("true")], {}
        for number, (path, value) in enumerate(flat(self._of.filter).items()):
            name, *within = path.split(".")
            self._check_name(name, f"filter.{path}")
            several = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
            values[f"path{number}"] = within
            values[f"values{number}"] = [one if isinstance(one, str) else json.dumps(one) for one in several]
            inner = sql.SQL("{}::jsonb #>> {}::text[]" if within else "{}::text")
            text = inner.format(_identifier(name), sql.Placeholder(f"path{number}"))
            conditions.append(sql.SQL("({}) = ANY({})").format(text, sql.Placeholder(f"values{number}")))
        return sql.SQL(" AND ").join(conditions), values

    def _read(self, statement: Any, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        with self._connection() as connection, connection.transaction():
            for name, value in self._server.items():
                if value is not None:
                    connection.execute("SELECT set_config(%s, %s, true)", [name, str(value)])
            rows: list[tuple[Any, ...]] = connection.execute(statement, values).fetchall()
            return rows

    @contextmanager
    def _connection(self) -> Iterator[Connection]:
        """A connection whose transactions may only read."""
        with our_errors(ASKING, REASONS, may_pass=True):
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


def fused(rankings: Sequence[Sequence[Row]]) -> list[Row]:
    """One ranking of rows by their reciprocal ranks in several; a row is the same if all of its fields are."""
    points: Counter[tuple[str, int]] = Counter()
    rows: dict[tuple[str, int], Row] = {}
    for ranking in rankings:
        times: Counter[str] = Counter()
        for rank, row in enumerate(ranking, start=1):
            text = json.dumps({**row, "score": None}, sort_keys=True)
            times[text] += 1
            points[text, times[text]] += 1 / (RRF_CONSTANT + rank)  # type: ignore[assignment]
            rows.setdefault((text, times[text]), row)
    return [{**rows[key], "score": score} for key, score in points.most_common()]  # equal ones as they came


def _identifier(*names: str) -> Any:
    """A name, or one within another, to be put into a statement that has values."""
    from psycopg import sql

    return sql.Identifier(*(name.replace("%", "%%") for name in names))  # a single one begins the place of a value


def _close(idle: SimpleQueue[Connection]) -> None:
    while not idle.empty():
        idle.get_nowait().close()
