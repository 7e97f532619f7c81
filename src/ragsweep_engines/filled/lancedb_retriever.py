"""A table of LanceDB that somebody else has filled."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

from ragsweep.core.errors import ConfigError, RetrieverError, first_line
from ragsweep.core.limits import Between, Text
from ragsweep.core.terminal import some_of
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
from ragsweep_engines.folder_copies import digest_of, expect_unchanged
from ragsweep_engines.lancedb import ENGINE_ERRORS, database_of
from ragsweep_engines.packages import expect_package

FAR = "_distance"


@dataclass(frozen=True, kw_only=True)
class LanceDbRetriever(FilledRetriever):
    """A table of LanceDB, which writes nothing where nothing is added.

    Attributes:
        table: Its name.
        path: Folder of the database.
        vector: The column with the vectors; None takes the only one.
        distance: By which vectors are compared; None takes that of the column's index, or else l2.
        exact: Compares every row, without an index.
        probes: Parts of an index that are searched; None leaves it to LanceDB, which takes 20.
        ef_search: Candidates held while a graph is searched; None leaves it to LanceDB.
        refine: How many rows are compared by their vectors instead of their codes, as a multiple of `depth`; None
            compares none.
    """

    without_effect: ClassVar[tuple[str, ...]] = (*FilledRetriever.without_effect, "path")  # the fingerprint counts

    table: Text
    path: Text
    vector: Text | None = None
    distance: Distance | None = None
    exact: bool = False
    probes: Annotated[int, Between(1, 1_000_000)] | None = None
    ef_search: Annotated[int, Between(1, 1_000_000)] | None = None
    refine: Annotated[int, Between(1, 1000)] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        expect_package("lancedb", "retriever=lancedb", "lancedb")

    @cached_property
    def fingerprint(self) -> str:
        """Digest of the files of the table."""
        return digest_of(self._folder)

    @property
    def _folder(self) -> Path:
        """The folder of the table: LanceDB makes those that it does not find."""
        folder = Path(self.path) / f"{self.table}.lance"
        if not folder.is_dir():
            there = some_of(sorted(each.stem for each in Path(self.path).glob("*.lance"))) or "none"
            raise ConfigError(f"retriever.table: {self.path} has no table {self.table!r} (there is {there})")
        return folder

    @property
    def _name(self) -> str:
        return f"lancedb {self.table}"

    @property
    def _own(self) -> Sequence[object]:
        return [self.table, self.vector, self.distance, self.exact, self.probes, self.ef_search, self.refine]

    def _open(self, opened: ExitStack) -> Table:
        folder = self._folder
        database = database_of(folder.parent)  # before PyArrow is imported
        import pyarrow as pa

        try:
            table = database.open_table(self.table)
            schema = table.schema
            vectors = [each.name for each in schema if pa.types.is_fixed_size_list(each.type)]
            vector = the_only(vectors, self.vector, "vector", f"table {self.table!r}")
            shown = [each.name for each in schema if not pa.types.is_fixed_size_list(each.type)]
            indexes = [each for each in table.list_indices() if vector in each.columns]
            of_index = [table.index_stats(each.name).distance_type for each in indexes]
            sample = table.search().select(shown).limit(SAMPLED_ROWS).to_list()
        except ENGINE_ERRORS as error:
            raise RetrieverError(f"retriever=lancedb: {folder} cannot be read ({first_line(error)})") from error
        expect_unchanged(folder, self.fingerprint)  # the table that is open stays at its version
        indexed = {"dot": "ip"}.get(of_index[0], of_index[0]) if of_index else None
        kind: Any = self.distance or indexed or "l2"

        def search(query: str, of_query: Vector) -> Sequence[Row]:
            asked = table.search([*of_query], vector_column_name=vector).distance_type("dot" if kind == "ip" else kind)
            asked = asked.bypass_vector_index() if self.exact else asked
            asked = asked if self.probes is None else asked.nprobes(self.probes)
            asked = asked if self.ef_search is None else asked.ef(self.ef_search)
            asked = asked if self.refine is None else asked.refine_factor(self.refine)
            try:
                found = asked.select([*shown, FAR]).limit(self.depth).to_list()
            except ENGINE_ERRORS as error:
                raise RetrieverError(f"{folder} cannot be searched ({first_line(error)})") from error
            return [{**row, "score": score(row[FAR], kind)} for row in found]

        return Table(f"table {self.table!r}", sample, schema.field(vector).type.list_size, search)
