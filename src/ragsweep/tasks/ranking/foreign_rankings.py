"""Reads rankings and judgments of other programs from dicts, DataFrames and files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import count, repeat
from math import isfinite
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from ragsweep.core.errors import DatasetError
from ragsweep.core.trec_files import RUN, number_of, trec_lines
from ragsweep.datasets.readers.fields import LARGEST_GRADE, SHOWN_CHARACTERS
from ragsweep.datasets.readers.qrels_files import read_qrels
from ragsweep.text.normalisation import Spellings

Source = Mapping[Any, Any] | pd.DataFrame | str | PathLike[str]
Argument = Literal["rankings", "qrels"]
Row = tuple[str, object, object, object]  # its place for messages, query, document and number

NUMBERS = {"rankings": "score", "qrels": "grade"}
PER_QUERY = {
    "rankings": "a list of document ids, best first, or a dict {document id: score}",
    "qrels": "a list of relevant document ids or a dict {document id: grade}",
}
ROW = "a dict with retrieved and relevant, and question in all rows or in none"
UNPRINTABLE = "of thousands of digits"
OTHER_FORMATS = (".json", ".jsonl", ".csv")


@dataclass
class Entries:
    """Pairs of query and document in the given order. Each list but `named` has shape [entries].

    Attributes:
        source: Where they come from: the name of the argument, or the file.
        named: All queries in order. A dict can contain queries without documents.
        queries: Query ids.
        documents: Document ids.
        numbers: Scores or grades.
    """

    source: str
    named: list[str] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)
    numbers: list[float] = field(default_factory=list)

    def spelled(self, queries: Spellings, documents: Spellings) -> Entries:
        """The same with the ids as they are spelled elsewhere."""
        of_query = [queries.of(name) for name in self.queries]
        names = list(dict.fromkeys([*map(queries.of, self.named), *of_query]))
        return Entries(self.source, names, of_query, [documents.of(name) for name in self.documents], self.numbers)


def by_query(rows: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Rankings and judgments of a list with a dict for each query, as dicts by query.

    The id of a query is its `question`, or else its place from 1 on.

    Raises:
        DatasetError: A row has other fields, or the question of another one.
    """
    fields = {"retrieved", "relevant"}
    if any(isinstance(row, Mapping) and "question" in row for row in rows):
        fields.add("question")
    rankings: dict[str, Any] = {}
    judgments: dict[str, Any] = {}
    for position, row in enumerate(rows, start=1):
        place = f"rankings, row {position}"
        if not isinstance(row, Mapping) or row.keys() != fields:
            kind = f"dict with {', '.join(map(str, row))}" if isinstance(row, Mapping) else type(row).__name__
            raise DatasetError(f"{place}: found a {kind}, expected {ROW}")
        query = _id(row.get("question", position), place)
        if query in rankings:
            raise DatasetError(f"{place}: found the question {_shown(query)} twice, expected it once")
        rankings[query], judgments[query] = row["retrieved"], row["relevant"]
    return rankings, judgments


def read(source: Source | None, argument: Argument, listed: float = 0) -> Entries:
    """Read rankings or judgments in any of the supported forms.

    Args:
        source: A dict by query, a DataFrame, or the path of a TREC run file or of a qrels file as a dataset has them.
        argument: Which of the two.
        listed: The grade of documents that are listed without one. Scores of a list fall by 1 from this one.

    Raises:
        DatasetError: The form is not supported, a document has no id or number, or a number is invalid.
    """
    entries = Entries(argument)
    if isinstance(source, pd.DataFrame):
        rows = _frame(source, argument)
    elif isinstance(source, Mapping):
        rows = _mapping(source, argument, listed)
        entries.named = [_id(query, argument) for query in source]
    elif isinstance(source, str | PathLike):
        rows, entries.source = _file(Path(source), argument), str(source)
    else:
        expected = "expected a dict, a pandas DataFrame or the path of a TREC file"
        raise DatasetError(f"{argument}: found a {type(source).__name__}, {expected}")
    for place, query, document, given in rows:
        entries.queries.append(_id(query, place))
        entries.documents.append(_id(document, f"{place}, query {query!r}"))
        number, expected = number_of(given), "a finite number"
        is_valid = isfinite(number)
        if argument == "qrels":
            is_valid, expected = not number % 1 and abs(number) <= LARGEST_GRADE, "a whole number from -10^9 to 10^9"
        if not is_valid:
            problem = f"found the {NUMBERS[argument]} {_shown(given)}, expected {expected}"
            raise DatasetError(f"{place}, query {entries.queries[-1]!r}, document {entries.documents[-1]!r}: {problem}")
        entries.numbers.append(number)
    return entries


def _mapping(source: Mapping[Any, Any], argument: Argument, listed: float) -> Iterator[Row]:
    for query, documents in source.items():
        unordered = isinstance(documents, Set) and argument == "rankings"
        if not isinstance(documents, Iterable) or isinstance(documents, str | bytes | pd.DataFrame) or unordered:
            kind = type(documents).__name__
            raise DatasetError(f"{argument}, query {query!r}: found a {kind}, expected {PER_QUERY[argument]}")
        numbers = count(listed, -1) if argument == "rankings" else repeat(listed)
        pairs = documents.items() if isinstance(documents, Mapping) else zip(documents, numbers, strict=False)
        for document, number in pairs:
            yield argument, query, document, number


def _frame(frame: pd.DataFrame, argument: Argument) -> Iterator[Row]:
    expected: Sequence[str] = ("query_id", "doc_id", NUMBERS[argument])
    columns = list(map(str, frame.columns))
    if missing := [name for name in expected if columns.count(name) != 1]:
        renamed = ", ".join(f"... : {name!r}" for name in missing)
        problem = f"found the columns {', '.join(columns)}, expected {', '.join(expected)}, each once"
        raise DatasetError(f"{argument}: {problem}; name yours with .rename(columns={{{renamed}}})")
    return zip(repeat(argument), *(frame[name].tolist() for name in expected), strict=False)


def _file(path: Path, argument: Argument) -> Iterator[Row]:
    if argument == "qrels":
        for number, (query, document, grade) in read_qrels(path, argument):
            yield f"{path}, line {number}", query, document, grade
        return
    hint = "; read other formats into a dict or a DataFrame" if path.suffix.lower() in OTHER_FORMATS else ""
    for number, (query, _, document, _, score, _) in trec_lines(path, RUN, argument, hint):
        yield f"{path}, line {number}", query, document, score


def _id(value: object, place: str) -> str:
    """An id as a string. Tables often contain ids as numbers."""
    if isinstance(value, str):
        return value.strip()
    shown = _shown(value)
    if isinstance(value, Integral) and not isinstance(value, bool) and shown != UNPRINTABLE:
        return str(value)
    kind = type(value).__name__
    raise DatasetError(f"{place}: found the id {shown}, a {kind}; expected a string or a whole number")


def _shown(value: object) -> str:
    """A value as shown in an error message."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print huge integers
        return UNPRINTABLE
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 3]}..."
