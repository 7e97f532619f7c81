"""Reads rankings and judgments of other programs from dicts, DataFrames and TREC files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, repeat
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ragsweep.core.errors import DatasetError
from ragsweep.core.parsing import MalformedError, read_lines
from ragsweep.core.trec_files import LONGEST_LINE_MB, number_of, trec_lines
from ragsweep.core.trec_files import QRELS as QRELS_LINE
from ragsweep.core.trec_files import RUN as RUN_LINE
from ragsweep.datasets.readers.fields import SHOWN_CHARACTERS
from ragsweep.datasets.readers.qrels_files import HEADER, read_qrels
from ragsweep.statistics.intervals import Array
from ragsweep.text.normalisation import Spellings

Source = Mapping[Any, Any] | pd.DataFrame | str | PathLike[str]
Row = tuple[object, object, object]  # query, document, number

OTHER_FORMATS = (".json", ".jsonl", ".csv")
LARGEST_ID = 10**100


@dataclass(frozen=True)
class InputKind:
    """The format of rankings or qrels.

    Attributes:
        name: Name of the argument.
        number: What the number of each document is called, also as a column: score or grade.
        line: Columns of a TREC file.
        per_query: What a dict contains for each query, for error messages.
    """

    name: str
    number: str
    line: tuple[str, ...]
    per_query: str


RANKINGS = InputKind(
    name="rankings",
    number="score",
    line=RUN_LINE,
    per_query="a list of document ids, best first, or a dict {document id: score}",
)
QRELS = InputKind(
    name="qrels",
    number="grade",
    line=QRELS_LINE,
    per_query="a list of relevant document ids or a dict {document id: grade}",
)


class Entries(NamedTuple):
    """Pairs of query and document in the given order. Each list has shape [entries].

    Attributes:
        source: Where the entries come from: the name of the argument, or the file.
        named: All queries in order. A dict can contain queries without documents.
        queries: Query ids.
        documents: Document ids.
        numbers: Scores or grades.
        lines: Line numbers from 1. Empty if the source is not a file.
    """

    source: str
    named: list[str]
    queries: list[str]
    documents: list[str]
    numbers: Array
    lines: Sequence[int] = ()

    def where(self, entry: int) -> str:
        """The place of an entry, for error messages."""
        line = f", line {self.lines[entry]}" if self.lines else ""
        return f"{self.source}{line}, query {self.queries[entry]!r}, document {self.documents[entry]!r}"


def read(source: Source, kind: InputKind, listed: float = 0) -> Entries:
    """Read rankings or judgments in any of the supported forms.

    Args:
        source: A dict by query, a DataFrame, or the path of a TREC file or a BEIR qrels file.
        kind: `RANKINGS` or `QRELS`.
        listed: The grade of documents that are listed without one. Scores of a list fall by 1 from this one.

    Raises:
        DatasetError: The form is not supported, a document has no id or number, or a number is invalid.
    """
    where, named, lines = kind.name, list[str](), list[int]()
    if isinstance(source, pd.DataFrame):
        rows = list(_frame(source, kind))
    elif isinstance(source, Mapping):
        rows = list(_mapping(source, kind, listed))
        named = [_id(query, where) for query in source]
    elif isinstance(source, str | PathLike):
        where = str(source)
        numbered = list(_file(Path(source), kind))
        rows, lines = [row for _, row in numbered], [number for number, _ in numbered]
    else:
        found = type(source).__name__
        raise DatasetError(f"{where}: found a {found}, expected a dict, a pandas DataFrame or the path of a TREC file")
    queries = [_id(query, where) for query, *_ in rows]
    documents = [_id(document, f"{where}, query {query!r}") for query, document, *_ in rows]
    numbers = np.array([number_of(number) for *_, number in rows], dtype=np.float64)
    entries = Entries(where, list(dict.fromkeys([*named, *queries])), queries, documents, numbers, lines)
    unusable = ~np.isfinite(numbers) if kind is RANKINGS else np.isnan(numbers)  # `evaluate` checks grades
    for entry in np.flatnonzero(unusable).tolist():
        expected = "a number" if np.isnan(numbers[entry]) else "a finite number"
        found = _shown(rows[entry][2])
        raise DatasetError(f"{entries.where(entry)}: found the {kind.number} {found}, expected {expected}")
    return entries


def spelled_alike(found: Entries, judgments: Entries) -> tuple[Entries, Entries]:
    """Rankings and judgments with ids that are the same in NFC spelled as the judgments spell them."""
    queries = Spellings([*judgments.named, *found.named])
    documents = Spellings([*judgments.documents, *found.documents])

    def spelled(entries: Entries) -> Entries:
        named, of_query = list(map(queries.of, entries.named)), list(map(queries.of, entries.queries))
        return entries._replace(named=named, queries=of_query, documents=list(map(documents.of, entries.documents)))

    return spelled(found), spelled(judgments)


def _mapping(source: Mapping[Any, Any], kind: InputKind, listed: float) -> Iterator[Row]:
    for query, documents in source.items():
        unordered = isinstance(documents, Set) and kind is RANKINGS
        if not isinstance(documents, Iterable) or isinstance(documents, str | bytes | pd.DataFrame) or unordered:
            found = type(documents).__name__
            raise DatasetError(f"{kind.name}, query {query!r}: found a {found}, expected {kind.per_query}")
        numbers = count(listed, -1) if kind is RANKINGS else repeat(listed)
        pairs = documents.items() if isinstance(documents, Mapping) else zip(documents, numbers, strict=False)
        for document, number in pairs:
            yield query, document, number


def _frame(frame: pd.DataFrame, kind: InputKind) -> Iterator[Row]:
    expected, columns = ("query_id", "doc_id", kind.number), list(map(str, frame.columns))
    if missing := [name for name in expected if name not in columns]:
        renamed = ", ".join(f"... : {name!r}" for name in missing)
        found = f"found the columns {', '.join(columns)}, expected {', '.join(expected)}"
        raise DatasetError(f"{kind.name}: {found}; name yours with .rename(columns={{{renamed}}})")
    if several := [name for name in expected if columns.count(name) > 1]:
        raise DatasetError(f"{kind.name}: found several columns called {several[0]}; expected one")
    return zip(*(frame[name].tolist() for name in expected), strict=True)


def _file(path: Path, kind: InputKind) -> Iterator[tuple[int, Row]]:
    """The rows of a TREC file, or of qrels with the header of BEIR, each with its line number."""
    places = [kind.line.index(column) for column in ("query", "document", kind.number)]
    if kind is QRELS and _begins_with(HEADER, path):
        yield from read_qrels(path, kind.name)
        return
    hint = f", or BEIR's {' '.join(HEADER)!r} in line 1" if kind is QRELS else ""
    hint += "; read other formats into a dict or a DataFrame" if path.suffix.lower() in OTHER_FORMATS else ""
    for number, cells in trec_lines(path, kind.line, kind.name, hint):
        query, document, value = (cells[place] for place in places)
        yield number, (query, document, value)


def _begins_with(header: Sequence[str], path: Path) -> bool:
    with suppress(MalformedError, OSError, ValueError):  # reading the lines will raise it again, with its place
        return next((line.split() for _, line in read_lines(path, LONGEST_LINE_MB)), []) == header
    return False


def _id(value: object, where: str) -> str:
    """An id as a string. Tables often contain ids as numbers."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Integral) and not isinstance(value, bool) and abs(int(value)) < LARGEST_ID:
        return str(value)
    found = type(value).__name__
    raise DatasetError(f"{where}: found the id {_shown(value)}, a {found}; expected a string or a whole number")


def _shown(value: object) -> str:
    """A value as shown in an error message."""
    if isinstance(value, Integral) and abs(int(value)) >= LARGEST_ID:  # Python refuses to print huge integers
        return "of hundreds of digits"
    return repr(value) if len(repr(value)) <= SHOWN_CHARACTERS else f"{repr(value)[: SHOWN_CHARACTERS - 3]}..."
