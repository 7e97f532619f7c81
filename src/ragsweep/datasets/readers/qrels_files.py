"""Reads files of relevance judgments (qrels): those of BEIR and of TREC."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragsweep.core.errors import DatasetError
from ragsweep.datasets.model.collection import Judgment
from ragsweep.datasets.readers.columns import without_columns
from ragsweep.datasets.readers.fields import flaw_of_name, key_in, whole_grade
from ragsweep.datasets.readers.tables import ending_of, lines_of, read_entries

HEADER = ["query-id", "corpus-id", "score"]
TABLES = (".csv", ".json", ".jsonl", ".parquet")
EXPECTED = "query-id, corpus-id and score, or the four columns of TREC: query id, iteration, document and grade"

Row = tuple[int, str, str, str, Any]  # its number, its place, the query, the document and the grade


def read_qrels(path: Path, setting: str) -> Iterator[tuple[int, Judgment]]:
    """The judgments in a file, each with the number of its line or row, from 1.

    A file is lines between tabs or spaces: BEIR's three columns, with or without the line of their names, or TREC's
    four. Or its name ends in `.csv`, `.json`, `.jsonl` or `.parquet`, and its columns have BEIR's names.

    Args:
        path: The file; unzipped if its name ends in `.gz`.
        setting: The setting that names it, for error messages.

    Raises:
        DatasetError: The file or a judgment cannot be read, or two judgments contradict each other.
    """
    earlier: dict[tuple[str, str], tuple[int, str]] = {}
    rows = _of_table(path, setting) if ending_of(path) in TABLES else _of_lines(path, setting)
    for number, where, query, document, value in rows:
        for noun, name in (("query", query), ("document", document)):
            if flaw := flaw_of_name(name):
                raise DatasetError(f"{where}: the {noun} {name[:80]!r} {flaw}")
        grade = whole_grade(value, where)
        other, place = earlier.setdefault((query, document), (grade, where))
        if other != grade:
            problem = f"{document!r} has the grade {grade} for query {query!r}, but {other}"
            raise DatasetError(f"{where}: {problem} in {place.removeprefix(f'{path}, ')}; expected one")
        yield number, Judgment(query, document, grade)


def _of_table(path: Path, setting: str) -> Iterator[Row]:
    for number, (where, row) in enumerate(read_entries(path, "judgments", setting=setting), start=1):
        if missing := [name for name in HEADER if name not in row]:
            raise DatasetError(f"{without_columns(row, missing, where)}; expected {EXPECTED}")
        query, document = (key_in(row[name], f"{where}: the field {name!r}") for name in HEADER[:2])
        yield number, where, query, document, row[HEADER[2]]


def _of_lines(path: Path, setting: str) -> Iterator[Row]:
    rows = [
        (number, [cell.strip() for cell in (line.split("\t") if line.count("\t") > 1 else line.split())])
        for number, line in lines_of(path, setting, "judgments")
        if line.strip()
    ]
    is_named, width = rows[:1] and rows[0][1] == HEADER, len(rows[0][1]) if rows else 0
    rows = rows[1:] if is_named else rows
    for number, cells in rows:
        if len(cells) != width or width not in (3, 4):
            expected = f"{width} as in the first line" if width in (3, 4) else EXPECTED
            raise DatasetError(f"{path}, line {number}: found {len(cells)} columns, expected {expected}")
        yield number, f"{path}, line {number}", cells[0], cells[-2], cells[-1]
    second, graded = ({cells[place] for _, cells in rows} for place in (1, -1))
    if not is_named and second and second <= {"Q0", "0"} and width == 3:
        raise DatasetError(f"{path}: the second of three columns is {min(second)!r} in all lines; expected {EXPECTED}")
    if graded == {"0"} and len(second) > 1 and width == 4:  # ir_datasets exports the iteration at the end
        raise DatasetError(f"{path}: the last of four columns is '0' in all lines; expected {EXPECTED}")
