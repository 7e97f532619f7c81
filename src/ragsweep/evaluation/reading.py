"""Rankings and judgments as other programs have them: dicts, DataFrames, and TREC files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import repeat
from math import nan
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ragsweep.errors import DatasetError, first_line
from ragsweep.evaluation.statistics import Array

Source = Mapping[Any, Any] | pd.DataFrame | str | PathLike[str]
Row = tuple[object, object, object]  # query, document, number

QUERY = ("query_id", "qid")  # names of columns: ours, PyTerrier's
DOCUMENT = ("doc_id", "docno")


@dataclass(frozen=True)
class Kind:
    """What is read.

    Attributes:
        name: As which argument it is given.
        number: What each document of a query has.
        columns: Names of a DataFrame's column with that number, the first of which counts.
        line: The columns of a TREC file.
        per_query: What a dict holds for each query, for the error.
    """

    name: str
    number: str
    columns: tuple[str, ...]
    line: tuple[str, ...]
    per_query: str


RANKINGS = Kind(
    name="rankings",
    number="score",
    columns=("score",),
    line=("query", "Q0", "document", "rank", "score", "tag"),
    per_query="a list of document ids, best first, or a dict {document id: score}",
)
QRELS = Kind(
    name="qrels",
    number="grade",
    columns=("grade", "relevance", "label"),
    line=("query", "0", "document", "grade"),
    per_query="a list of relevant document ids or a dict {document id: grade}",
)


class Entries(NamedTuple):
    """Documents of queries, in the order given; each list has shape [entries].

    Attributes:
        where: What was read: the argument's name, or the file.
        named: Every query, in order; a dict may name one that has no documents.
        queries: Query id.
        documents: Document id.
        numbers: Score or grade.
    """

    where: str
    named: list[str]
    queries: list[str]
    documents: list[str]
    numbers: Array


def read(source: Source, kind: Kind, listed: float) -> Entries:
    """Read rankings or judgments in whichever form they are.

    Args:
        source: A dict by query, a DataFrame, or the path of a TREC file.
        kind: What it holds.
        listed: The number of each document where a dict only lists documents.

    Raises:
        DatasetError: It has no such form, or a document has no id or number.
    """
    where, named = kind.name, list[str]()
    if isinstance(source, pd.DataFrame):
        rows = list(_frame(source, kind))
    elif isinstance(source, Mapping):
        rows = list(_mapping(source, kind, listed))
        named = [_id(query, where) for query in source]
    elif isinstance(source, str | PathLike):
        where = str(source)
        rows = list(_file(Path(source), kind))
    else:
        found = type(source).__name__
        raise DatasetError(f"{where}: found a {found}, expected a dict, a DataFrame or the path of a TREC file")
    queries = [_id(query, where) for query, _, _ in rows]
    documents = [_id(document, f"{where}, query {query!r}") for query, document, _ in rows]
    numbers = np.array([_number(number) for _, _, number in rows], dtype=np.float64)
    for entry in np.flatnonzero(np.isnan(numbers)):
        query, document, number = rows[entry]
        raise DatasetError(
            f"{where}, query {query!r}, document {document!r}: found the {kind.number} {number!r}, expected a number"
        )
    return Entries(where, list(dict.fromkeys([*named, *queries])), queries, documents, numbers)


def _mapping(source: Mapping[Any, Any], kind: Kind, listed: float) -> Iterator[Row]:
    for query, documents in source.items():
        unordered = isinstance(documents, Set) and kind is RANKINGS
        if not isinstance(documents, Iterable) or isinstance(documents, str | bytes | pd.DataFrame) or unordered:
            found = type(documents).__name__
            raise DatasetError(f"{kind.name}, query {query!r}: found a {found}, expected {kind.per_query}")
        pairs = documents.items() if isinstance(documents, Mapping) else zip(documents, repeat(listed), strict=False)
        for document, number in pairs:
            yield query, document, number


def _frame(frame: pd.DataFrame, kind: Kind) -> Iterator[Row]:
    names = []
    for known in (QUERY, DOCUMENT, kind.columns):
        name = next((name for name in known if name in frame.columns), None)
        if name is None:
            found = ", ".join(map(str, frame.columns))
            raise DatasetError(f"{kind.name}: found the columns {found}; expected one called {' or '.join(known)}")
        names.append(name)
    return zip(*(frame[name].tolist() for name in names), strict=True)


def _file(path: Path, kind: Kind) -> Iterator[Row]:
    places = [kind.line.index(column) for column in ("query", "document", kind.number)]
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, start=1):
                fields = line.split()
                if fields and len(fields) != len(kind.line):
                    expected = " ".join(kind.line)
                    raise DatasetError(f"{path}, line {number}: found {len(fields)} columns, expected {expected!r}")
                if fields:
                    query, document, value = (fields[place] for place in places)
                    yield query, document, value
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{kind.name}: {path} cannot be read as a TREC file ({first_line(error)})") from error


def _id(value: object, where: str) -> str:
    """An identifier as text: a table may have read as numbers what another has as texts."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Integral) and not isinstance(value, bool):
        return str(value)
    found = type(value).__name__
    raise DatasetError(f"{where}: found the id {value!r}, a {found}; expected a text or a whole number")


def _number(value: Any) -> float:
    """A number, or NaN where there is none."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return nan
