"""A table of PostgreSQL that somebody else has filled: vectors of pgvector, full text, or both."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np

from ragsweep.core.arrays import NOTHING
from ragsweep.core.digest import digest
from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between, OwnData, Text
from ragsweep.retrieval import Fusion, Ranking, ReciprocalRankFusion
from ragsweep.store.identity import identity
from ragsweep_engines.filled.filled_retriever import (
    SAMPLED_ROWS,
    Distance,
    FilledRetriever,
    Row,
    Table,
    Vector,
    score,
    the_only,
)
from ragsweep_engines.filled.postgres_reader import ASKING, PostgresReader, identifier
from ragsweep_engines.packages import expect_package
from ragsweep_engines.postgres_access import place

VECTORS = ("vector", "halfvec")  # types of pgvector whose distances are the same
NOT_SHOWN = (*VECTORS, "sparsevec", "bit", "tsvector", "bytea")  # types of columns that say nothing of a passage
Search = Callable[[str, Vector, int], list[Row]]  # of a query, its vector and the number of rows
OPERATORS: Mapping[Distance, str] = {"cosine": "<=>", "l2": "<->", "ip": "<#>"}


@dataclass(frozen=True, kw_only=True)
class PostgresRetriever(FilledRetriever):
    """A table of the database of PGVECTOR_URL, each row of it a passage, searched in transactions that may only read.

    Attributes:
        table: Its name, with a schema and a dot before it where it is not on the search path.
        search: What is searched: the vectors, the words of the text, or both, whose rankings are fused.
        vector: The column with the vectors; None takes the only one.
        distance: By which vectors are compared; None takes that of the column's index, or else cosine.
        exact: Compares every row, without an index.
        ef_search: Candidates held while a graph is searched; None leaves it to the server, which takes 40.
        probes: Lists that are searched of an index in lists; None leaves it to the server, which takes 1.
        words: Whether a text must have any word of the query, or all of them.
        language: Of the words: a text search configuration of the server.
        tsvector: The column that has the words of the text; None computes them of the column that `text` names.
        fusion: Makes one ranking of two.
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
    fusion: Fusion = field(default_factory=ReciprocalRankFusion)
    candidates: Annotated[int, Between(1, 10_000)] = 100
    filter: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_package("psycopg", ASKING, "pgvector")
        if self._searches_words and not (self.tsvector or self.text):
            raise ConfigError(
                f"retriever.search={self.search}: needs the column of the texts, or of their words; set retriever.text "
                "or retriever.tsvector"
            )

    @property
    def without_effect(self) -> tuple[str, ...]:  # type: ignore[override]  # depends on what is searched
        """Settings of a search that is not made."""
        of_vectors = ("encoder", "vector", "distance", "exact", "ef_search", "probes")
        of_words = ("words", "language", "tsvector")
        return (
            *FilledRetriever.without_effect,
            *(() if self._searches_vectors else of_vectors),
            *(("ef_search", "probes") if self.exact and self._searches_vectors else ()),
            *(() if self._searches_words else of_words),
            *(() if self.search == "both" else ("fusion", "candidates")),
        )

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the address, without passwords."""
        return digest(place(ASKING))

    @property
    def _searches_vectors(self) -> bool:
        return self.search != "text"

    @property
    def _searches_words(self) -> bool:
        return self.search != "vector"

    @property
    def _name(self) -> str:
        return f"postgres {self.table}"

    @property
    def _own(self) -> Sequence[object]:
        ignored = self.without_effect
        names = "table search vector distance exact ef_search probes words language tsvector candidates".split()
        fusion = identity(self.fusion) if self.search == "both" else None
        return [[getattr(self, name) for name in names if name not in ignored], fusion, dict(self.filter)]

    def _open(self, opened: ExitStack) -> Table:
        from psycopg import sql

        settings = {
            "statement_timeout": f"{1000 * self.timeout_s:.0f}ms",
            "enable_indexscan": "off" if self.exact else None,
            "hnsw.ef_search": self.ef_search,
            "ivfflat.probes": self.probes,
        }
        reader = PostgresReader(self.table, {name: str(value) for name, value in settings.items() if value is not None})
        shown = [name for name, column in reader.columns.items() if column.type not in NOT_SHOWN]
        fields = sql.SQL(", ").join(map(identifier, shown))
        row = sql.SQL("(SELECT to_jsonb(shown_fields.*) FROM (SELECT {}) shown_fields)").format(fields)
        where, values = self._where(reader)
        a_few = sql.SQL("SELECT {} FROM {} WHERE {} LIMIT %(count)s").format(row, reader.quoted, where)
        sample = [each for (each,) in reader.rows(a_few, {**values, "count": SAMPLED_ROWS})]
        searches: list[Search] = []
        dimensions = None
        if self._searches_vectors:
            dimensions = self._dimensions(reader, where, values)
            searches.append(self._nearest(reader, row, where, values))
        if self._searches_words:
            searches.append(self._with_words(reader, row, where, values))
        name = f"table {self.table!r}" + (" with this filter" if self.filter else "")

        def search(query: str, vector: Vector) -> Sequence[Row]:
            if len(searches) == 1:
                return searches[0](query, vector, self.depth)
            return fused([each(query, vector, self.candidates) for each in searches], self.fusion)[: self.depth]

        return Table(name, sample, dimensions, search)

    def _column(self, reader: PostgresReader) -> str:
        """The column of the vectors."""
        there = [name for name, column in reader.columns.items() if column.type in VECTORS]
        return the_only(there, self.vector, "vector", f"table {self.table!r}")

    def _where(self, reader: PostgresReader) -> tuple[Any, dict[str, Any]]:
        """The condition of the filter, and the values in it."""
        from psycopg import sql

        conditions, values = [sql.SQL("true")], {}
        for number, (path, value) in enumerate(_paths(self.filter)):
            name, *within = path.split(".")
            self._expect(reader, name, f"filter.{path}")
            each = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
            values[f"path{number}"] = within
            values[f"values{number}"] = [one if isinstance(one, str) else json.dumps(one) for one in each]
            found = sql.SQL("{}::jsonb #>> {}::text[]" if within else "{}::text").format(
                identifier(name), sql.Placeholder(f"path{number}")
            )
            conditions.append(sql.SQL("({}) = ANY({})").format(found, sql.Placeholder(f"values{number}")))
        return sql.SQL(" AND ").join(conditions), values

    def _expect(self, reader: PostgresReader, name: str, setting: str) -> None:
        if name not in reader.columns:
            there = ", ".join(reader.columns)
            raise ConfigError(f"retriever.{setting}: table {self.table!r} has no column {name!r} (there is {there})")

    def _dimensions(self, reader: PostgresReader, where: Any, values: Mapping[str, Any]) -> int | None:
        """The dimensions of the vectors; they need not be those of the column, and with a filter not of all rows."""
        from psycopg import sql

        name = self._column(reader)
        if (modifier := reader.columns[name].modifier) > 0:
            return modifier
        of_one = sql.SQL("SELECT {}.vector_dims({vector}) FROM {} WHERE {} AND {vector} IS NOT NULL LIMIT 1").format(
            identifier(reader.columns[name].schema), reader.quoted, where, vector=identifier(name)
        )
        found = reader.rows(of_one, values)
        return int(found[0][0]) if found else None

    def _nearest(self, reader: PostgresReader, row: Any, where: Any, values: Mapping[str, Any]) -> Search:
        """Search the vectors."""
        from psycopg import sql

        name = self._column(reader)
        column = reader.columns[name]
        indexed = {each for each in OPERATORS for made_for in column.operators if f"_{each}_" in made_for}
        kind = self.distance or (indexed.pop() if len(indexed) == 1 else "cosine")
        distance = sql.SQL("{} OPERATOR({schema}.{}) %(vector)s::{schema}.{}").format(
            identifier(name),
            sql.SQL(OPERATORS[kind]),
            identifier(column.type),
            schema=identifier(column.schema),
        )
        # No index orders rows by a second key: all that are as far as the last are fetched. Zeros have no cosine.
        statement = sql.SQL(
            "SELECT * FROM (SELECT {row} AS found, {distance} AS distance FROM {table} WHERE {where} "
            "AND {vector} IS NOT NULL ORDER BY {distance} FETCH FIRST (%(count)s) ROWS WITH TIES) nearest "
            "WHERE distance <> 'NaN' ORDER BY distance, found LIMIT %(count)s"
        ).format(row=row, distance=distance, table=reader.quoted, where=where, vector=identifier(name))
        zero = 1 if kind == "ip" else 0  # its operator is the inner product with a minus before it

        def nearest(query: str, vector: Vector, count: int) -> list[Row]:
            found = reader.rows(statement, {**values, "vector": str([*vector]), "count": count})
            return [{**fields, "score": score(zero + far, kind)} for fields, far in found]

        return nearest

    def _with_words(self, reader: PostgresReader, row: Any, where: Any, values: Mapping[str, Any]) -> Search:
        """Search the words."""
        from psycopg import sql

        known = [name for (name,) in reader.rows(sql.SQL("SELECT cfgname FROM pg_ts_config ORDER BY 1"), {})]
        if self.language not in known:
            raise ConfigError(f"retriever.language: the server has no {self.language!r} (there is {', '.join(known)})")
        name = self.tsvector or self.text or ""
        if self.tsvector:
            there = [each for each, column in reader.columns.items() if column.type == "tsvector"]
            the_only(there, name, "tsvector", f"table {self.table!r}")
        else:
            self._expect(reader, name, "text")
        words = sql.SQL("{}" if self.tsvector else "to_tsvector(%(language)s::regconfig, {}::text)").format(
            identifier(name)
        )
        query = "plainto_tsquery(%(language)s::regconfig, %(query)s)"
        if self.words == "any":
            query = f"replace({query}::text, ' & ', ' | ')::tsquery"
        statement = sql.SQL(
            "SELECT {row}, ts_rank({words}, {query}) FROM {table} WHERE {where} AND {words} @@ {query} "
            "ORDER BY 2 DESC, 1 LIMIT %(count)s"
        ).format(row=row, words=words, table=reader.quoted, query=sql.SQL(query), where=where)

        def with_words(query: str, vector: Vector, count: int) -> list[Row]:
            found = reader.rows(statement, {**values, "language": self.language, "query": query, "count": count})
            return [{**fields, "score": rank} for fields, rank in found]

        return with_words


def _paths(filter_: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a filter by their whole names: Hydra makes mappings within one another of a name with dots."""
    for name, value in filter_.items():
        if isinstance(value, Mapping):
            yield from _paths(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def fused(found: Sequence[Sequence[Row]], fusion: Fusion) -> list[Row]:
    """One ranking of rows that were found in several ways; a row is the same if all of its fields are."""
    numbers: dict[tuple[str, int], int] = {}
    rows: list[Row] = []
    rankings = []
    for each in found:
        times: Counter[str] = Counter()
        ranking = Ranking(np.full((1, max(1, len(each))), NOTHING), np.full((1, max(1, len(each))), -np.inf))
        for rank, row in enumerate(each):
            text = json.dumps({**row, "score": None}, sort_keys=True)
            times[text] += 1
            number = numbers.setdefault((text, times[text]), len(rows))
            if number == len(rows):
                rows.append(row)
            ranking.passages[0, rank], ranking.scores[0, rank] = number, row["score"]
        rankings.append(ranking)
    one = fusion.fuse(rankings)
    pairs = zip(one.passages[0].tolist(), one.scores[0].tolist(), strict=True)
    return [{**rows[number], "score": points} for number, points in pairs if number != NOTHING]
