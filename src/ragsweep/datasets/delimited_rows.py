"""Reads the rows of CSV and TSV files."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from ragsweep.core.errors import DatasetError
from ragsweep.core.parsing import MB
from ragsweep.datasets.fields import listed

LARGEST_MB = 100  # of a cell
QUOTES = {
    ",": "put a text that contains a comma into double quotes",
    ";": "put a text that contains a semicolon into double quotes",
    "\t": "a text must not contain a tab",
}

Entry = dict[str, Any]


def rows_of(
    path: Path, lines: Iterator[tuple[int, str]], delimiter: str, needed: Sequence[str] = ()
) -> Iterator[tuple[str, Entry]]:
    """The rows of a table with this delimiter, by the names in its first one. Between tabs, there are no quotes.

    If the names have no comma between them, but semicolons, these are the delimiter, as spreadsheets write CSV in some
    countries. An empty cell in a column without a name is left out: spreadsheets write commas after the last column.

    Raises:
        DatasetError: It is no table, or lacks a column that is needed.
    """
    csv.field_size_limit(LARGEST_MB * MB)
    texts: Iterator[str] = (line for _, line in lines)
    names = []
    for text in texts:
        names.append(text)
        if text.strip():
            break
    if delimiter == "," and names and "," not in names[-1] and ";" in names[-1]:
        delimiter = ";"
    texts = chain(names, texts)
    if delimiter != "\t":
        reader = csv.reader(texts, delimiter=delimiter, strict=True)
    else:
        reader = csv.reader(texts, delimiter=delimiter, quoting=csv.QUOTE_NONE, strict=True)
    header: list[str] = []
    line = 1  # where the row begins: a cell in quotes can contain line ends
    try:
        for row in reader:
            where = f"{path}, line {line}"
            if row and not header:
                header = [name.strip() for name in row]
                if twice := {name for name in header if name and header.count(name) > 1}:
                    raise DatasetError(f"{where}: several columns have the name {listed(sorted(twice))}")
                _expect(needed, header, path)
            elif row and len(row) != len(header):
                found = f"found {len(row)} cells, expected {len(header)} as in the first line"
                raise DatasetError(f"{where}: {found}; {QUOTES[delimiter]}")
            elif row:
                yield where, {name: cell for name, cell in zip(header, row, strict=True) if name or cell.strip()}
            line = reader.line_num + 1
    except csv.Error as error:
        raise DatasetError(f"{path}, line {line}: not CSV ({error})") from error
    if not header:
        _expect(needed, header, path)


def _expect(needed: Sequence[str], header: Sequence[str], path: Path) -> None:
    if missing := next((name for name in needed if name not in header), None):
        raise DatasetError(f"{path}: the column {missing!r} is missing; found {listed(header)}")
