"""Reads the rows of CSV and TSV files."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from ragsweep.core.errors import DatasetError
from ragsweep.core.parsing import MB
from ragsweep.datasets.readers.fields import SHOWN_CHARACTERS, listed

LARGEST_CELL_MB = 100
QUOTES = {
    ",": "put a text that contains a comma into double quotes",
    ";": "put a text that contains a semicolon into double quotes",
    "|": "put a text that contains a bar into double quotes",
    "\t": "a text must not contain a tab",
}
LINE_END = re.compile(r"(?<=\r)(?!\n|\Z)")
DELIMITER_LINE = re.compile(r'"?sep=(.)"?[\r\n]*', re.IGNORECASE)  # which tells Excel the delimiter

Entry = dict[str, Any]


def rows_of(
    path: Path, lines: Iterator[tuple[int, str]], delimiter: str, needed: Sequence[str] = ()
) -> Iterator[tuple[str, Entry]]:
    """The rows of a table with this delimiter, by the names in its first one.

    If CSV has no comma between the names, but semicolons, tabs or bars, these are the delimiter, as spreadsheets write
    it; so is what a line `sep=;` before the names says. Spaces after a delimiter are left out. Between tabs of a TSV
    file, there are no quotes, unless all names are in quotes, as R writes them, or a cell has the quotes and doubled
    quotes of CSV.

    Rows of empty cells are left out, and so are columns without a name: the first if it numbers the rows, as in tables
    of pandas, and those whose cells are empty, as spreadsheets write them after the last column.

    Raises:
        DatasetError: It is no table, lacks a column that is needed, or has a text in a column without a name.
    """
    csv.field_size_limit(LARGEST_CELL_MB * MB)
    first_line, delimiter, quoted, texts = _opened(lines, delimiter)
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    try:
        reader = csv.reader(texts, delimiter=delimiter, quoting=quoting, skipinitialspace=True, strict=True)
    except (TypeError, ValueError) as error:
        raise DatasetError(f"{path}, line 1: {delimiter!r} cannot be between the columns of a table") from error
    header: list[str] = []
    line = first_line  # where the row begins: a cell in quotes can contain line ends
    try:
        for row in reader:
            where = f"{path}, line {line}"
            line = reader.line_num + first_line
            if not any(cell.strip() for cell in row):
                continue
            if not header:
                header = [name.strip() for name in row]
                if any("\0" in name for name in header):  # a workbook, or UTF-16 without its mark
                    raise DatasetError(f"{where}: the names contain null characters; save the table as CSV in UTF-8")
                if twice := {name for name in header if name and header.count(name) > 1}:
                    raise DatasetError(f"{where}: several columns have the name {listed(sorted(twice))}")
                _expect(needed, header, path)
            elif len(row) != len(header):
                found = f"found {len(row)} cells, expected {len(header)} as in the first line"
                advice = QUOTES.get(delimiter, "put a text that contains the delimiter into double quotes")
                raise DatasetError(f"{where}: {found}; {advice}")
            else:
                yield where, _by_name(header, row if quoted else [*map(_without_quotes, row)], where)
    except csv.Error as error:
        raise DatasetError(f"{path}, line {line}: not CSV ({error})") from error
    if not header:
        _expect(needed, header, path)


def _opened(lines: Iterator[tuple[int, str]], delimiter: str) -> tuple[int, str, bool, Iterator[str]]:
    """The number of the first line of the table, the delimiter, whether there are quotes, and the lines."""
    first_line, quoted = 1, delimiter != "\t"
    before: list[str] = []  # blank lines, and the names
    for _, text in lines:
        if not before and (chosen := DELIMITER_LINE.fullmatch(text)):
            first_line, delimiter, quoted = 2, chosen[1], True
            continue
        before.append(text)
        if text.strip("".join(QUOTES) + " \r\n"):
            break
    names = [name.strip() for name in "".join(before[-1:]).split("\t")]
    quoted = quoted or all(len(name) > 1 and name[0] == name[-1] == '"' for name in names)
    if delimiter == "," and before:
        delimiter = next((each for each in QUOTES if each in before[-1]), ",")
    return first_line, delimiter, quoted, chain.from_iterable(map(_rows_in, chain(before, (text for _, text in lines))))


def _rows_in(text: str) -> list[str]:
    """The rows of a line: Excel for Mac ends them by a carriage return alone."""
    return LINE_END.split(text) if "\r" in text[:-2] else [text]


def _without_quotes(cell: str) -> str:
    """A cell between tabs as it is, unless it is in quotes and all quotes in it are doubled, as pandas writes JSON."""
    inside = cell[1:-1].replace('""', "")
    is_quoted = len(cell) > 3 and cell[0] == cell[-1] == '"' and '""' in cell[1:-1] and '"' not in inside
    return cell[1:-1].replace('""', '"') if is_quoted else cell


def _by_name(header: Sequence[str], row: Sequence[str], where: str) -> Entry:
    for position, (name, cell) in enumerate(zip(header, row, strict=True)):
        if not name and cell.strip() and not (position == 0 and cell.strip().isdecimal()):
            found = f"column {position + 1} has no name, but the text {cell.strip()[:SHOWN_CHARACTERS]!r}"
            raise DatasetError(f"{where}: {found}; name the column, or put a text with a delimiter into double quotes")
    return {name: cell for name, cell in zip(header, row, strict=True) if name}


def _expect(needed: Sequence[str], header: Sequence[str], path: Path) -> None:
    if missing := next((name for name in needed if name not in header), None):
        raise DatasetError(f"{path}: the column {missing!r} is missing; found {listed(header)}")
