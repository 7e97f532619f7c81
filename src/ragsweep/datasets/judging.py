"""Adds judgments to the files from which a dataset reads them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ragsweep.core.errors import DatasetError
from ragsweep.datasets.entry_files import DELIMITERS, Entry, ending_of, grades_in, id_of, read_entries

Added = Mapping[str, Mapping[str, int]]  # grades by unit, by query id


class JudgmentFile(NamedTuple):
    """A file of judgments with more of them.

    Attributes:
        path: The file that was read.
        text: What it contains with the further judgments.
        use: How to use a file with this text, where `{path}` stands for the file and `{name}` for its name.
    """

    path: Path
    text: str
    use: str


def lines_with(path: Path, lines: Iterable[str], use: str) -> JudgmentFile:
    """A file with one judgment per line, with further lines."""
    zipped = path.with_name(f"{path.name}.gz")
    path = path if path.exists() or not zipped.exists() else zipped
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = content.decode("utf-8-sig")
    end = "" if text.endswith("\n") or not text else "\n"
    return JudgmentFile(path, text + end + "".join(f"{line}\n" for line in lines), use)


def table_with(path: Path, relevant: str, id_column: str | None, added: Added, use: str) -> JudgmentFile:
    """A table of questions with further judgments, in its own format.

    Args:
        path: A file as `read_entries` reads it, but not Parquet.
        relevant: The field of the judgments.
        id_column: The field of the ids; None if the questions are numbered.
        added: The further judgments; the units as the field names them.
        use: As in `JudgmentFile`.
    """
    if ending_of(path) == ".parquet":
        raise DatasetError(f"{path}: judgments cannot be added to a Parquet file; write it as JSON or CSV first")
    rows: list[Entry] = []
    for number, (where, row) in enumerate(read_entries(path, "queries"), start=1):
        further = added.get(id_of(row, id_column, where) if id_column else str(number))
        rows.append({**row, relevant: _with_grades(row, relevant, further, where)} if further else row)
    return JudgmentFile(path, _as_text(path, rows), use)


def _with_grades(row: Entry, field: str, further: Mapping[str, int], where: str) -> Any:
    """The value of the field with further grades: a list as long as all grades are 1, and otherwise grades by key."""
    grades = {**grades_in(row, field, where), **further}
    found = row[field]
    if any(grade != 1 for grade in grades.values()):
        return json.dumps(grades, ensure_ascii=False) if isinstance(found, str) else grades
    if isinstance(found, str):
        return json.dumps([*grades], ensure_ascii=False) if found.strip().startswith(("[", "{")) else "; ".join(grades)
    return [*found, *further] if isinstance(found, list) else grades if isinstance(found, dict) else [*grades]


def _as_text(path: Path, rows: Sequence[Entry]) -> str:
    """Rows as a table in the format that the name of the file tells, or that the file has."""
    if (ending := ending_of(path)) in DELIMITERS:
        delimiter = DELIMITERS[ending]
        table = [[*rows[0]], *([*row.values()] for row in rows)]
        return "".join(f"{delimiter.join(_cell(cell, delimiter) for cell in line)}\n" for line in table)
    if _is_list(path):
        return f"{json.dumps(rows, indent=2, ensure_ascii=False)}\n"
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _is_list(path: Path) -> bool:
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")


def _cell(cell: str, delimiter: str) -> str:
    """A cell; in CSV, between quotes where it needs them. TSV has no quotes."""
    if delimiter == "\t" or not any(each in cell for each in ',"\r\n'):
        return cell
    return '"' + cell.replace('"', '""') + '"'
