"""Reads the rows of CSV and TSV files."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ragsweep.core.errors import DatasetError
from ragsweep.core.parsing import MB
from ragsweep.core.quoting import typed
from ragsweep.datasets.readers.fields import SHOWN_CHARACTERS, listed

LARGEST_CELL_MB = 100
OTHER_DELIMITERS = (";", "\t", "|")  # of files that are called .csv

Entry = dict[str, Any]


def rows_of(
    path: Path, lines: Iterator[tuple[int, str]], delimiter: str, needed: Sequence[str] = (), setting: str = ""
) -> Iterator[tuple[str, Entry]]:
    """The rows of a table with this delimiter, by the names in its first one.

    Rows of empty cells are left out, and so are columns without a name: the first if it numbers the rows, as in tables
    of pandas, and those whose cells are empty, as spreadsheets write them after the last column.

    Args:
        path: The file, for error messages.
        lines: Its lines.
        delimiter: One character.
        needed: Columns that must be there.
        setting: The setting of the delimiter, for error messages; empty if there is none.

    Raises:
        DatasetError: It is no table, lacks a column that is needed, or has a text in a column without a name.
    """
    csv.field_size_limit(LARGEST_CELL_MB * MB)
    header: list[str] = []
    line = 1  # where the row begins: a cell in quotes can contain line ends
    try:
        reader = csv.reader((text for _, text in lines), delimiter=delimiter, skipinitialspace=True, strict=True)
        for row in reader:
            where = f"{path}, line {line}"
            line = reader.line_num + 1
            if not any(cell.strip() for cell in row):
                continue
            if not header:
                header = _header(row, delimiter, where, setting)
                _expect(needed, header, path)
            elif len(row) != len(header):
                found = f"found {len(row)} cells, expected {len(header)} as in the first line"
                raise DatasetError(f"{where}: {found}; put a text that contains {delimiter!r} into double quotes")
            else:
                yield where, _by_name(header, row, where)
    except csv.Error as error:
        if "new-line" in str(error):
            raise DatasetError(f"{path}: rows end in a carriage return alone; save it again as CSV in UTF-8") from error
        raise DatasetError(f"{path}, line {line}: not CSV ({error})") from error
    except (TypeError, ValueError) as error:
        raise DatasetError(f"{setting or path}: {delimiter!r} cannot be between the columns of a table") from error
    if not header:
        _expect(needed, header, path)


def _header(row: Sequence[str], delimiter: str, where: str, setting: str) -> list[str]:
    names = [name.strip() for name in row]
    if any("\0" in name for name in names):  # a workbook, or UTF-16 without its mark
        raise DatasetError(f"{where}: the names contain null characters; save the table as CSV in UTF-8")
    if twice := {name for name in names if name and names.count(name) > 1}:
        raise DatasetError(f"{where}: several columns have the name {listed(sorted(twice))}")
    if row[0].lower().startswith("sep="):
        raise DatasetError(f"{where}: tells Excel the delimiter; delete this line")
    other = next((each for each in OTHER_DELIMITERS if each != delimiter and each in names[0]), None)
    if len([*filter(None, names)]) == 1 and other:
        advice = typed(setting, other.replace("\t", "\\t")) if setting else "save it with commas"
        raise DatasetError(f"{where}: has no {delimiter!r} between its columns, but {other!r}; {advice}")
    return names


def _by_name(header: Sequence[str], row: Sequence[str], where: str) -> Entry:
    for position, (name, cell) in enumerate(zip(header, row, strict=True)):
        if not name and cell.strip() and not (position == 0 and cell.strip().isdecimal()):
            found = f"column {position + 1} has no name, but the text {cell.strip()[:SHOWN_CHARACTERS]!r}"
            raise DatasetError(f"{where}: {found}; name the column, or put a text with a delimiter into double quotes")
    return {name: cell for name, cell in zip(header, row, strict=True) if name}


def _expect(needed: Sequence[str], header: Sequence[str], path: Path) -> None:
    if missing := next((name for name in needed if name not in header), None):
        raise DatasetError(f"{path}: the column {missing!r} is missing; found {listed(header)}")
