"""Adds judgments to the files from which a dataset reads them."""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ragsweep.core.errors import DatasetError
from ragsweep.datasets.model.collection import Judgment
from ragsweep.datasets.readers.delimited_rows import Entry
from ragsweep.datasets.readers.entry_files import DELIMITERS, ending_of, id_of, read_entries
from ragsweep.datasets.readers.judgment_fields import grades_in

JSON = ("[", "{")  # a cell that begins so is read as JSON, any other as keys between semicolons
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


def lines_with(
    path: Path,
    line: str,
    added: Sequence[Judgment],
    read: Callable[[Path], Iterable[Judgment]],
    use: str,
    *,
    head: str | None = None,
) -> JudgmentFile:
    """A file with one judgment per line, with further lines.

    Args:
        path: The file.
        line: A line without its end, with `{}` for the id of the query, the unit and the grade.
        added: The further judgments.
        read: Reads the judgments of such a file.
        use: As in `JudgmentFile`.
        head: How the file begins, if it does not exist yet.

    Raises:
        DatasetError: The new file would not be read back as the old and the further judgments.
    """
    if head is not None:
        text = head + "".join(f"{line.format(*each)}\n" for each in added)
        _check(path, text, read, [*added])
        return JudgmentFile(path, text, use)
    zipped = path.with_name(f"{path.name}.gz")
    path = path if path.exists() or not zipped.exists() else zipped
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text = content.decode("utf-8-sig")
    end = "" if text.endswith("\n") or not text else "\n"
    text += end + "".join(f"{line.format(*each)}\n" for each in added)
    _check(path, text, read, [*read(path), *added])
    return JudgmentFile(path, text, use)


def refuse_parquet(path: Path) -> None:
    """Raise `DatasetError` for a Parquet file, to which nothing can be added."""
    if ending_of(path) == ".parquet":
        raise DatasetError(f"{path}: judgments cannot be added to a Parquet file; write it as JSON or CSV first")


def table_with(path: Path, relevant: str, id_column: str | None, added: Added, use: str) -> JudgmentFile:
    """A table of questions with further judgments, in its own format.

    Args:
        path: A file with one question a row, as `read_entries` reads it, but not Parquet.
        relevant: The field of the judgments, which is added where it is missing.
        id_column: The field of the ids; None if the questions are numbered.
        added: The further judgments; the units as the field names them.
        use: As in `JudgmentFile`.

    Raises:
        DatasetError: The new file would not be read back as the old one with the further judgments.
    """
    rows: list[Entry] = []
    expected: list[tuple[Entry, Mapping[str, int]]] = []
    nothing: Any = "" if ending_of(path) in DELIMITERS else []
    for number, (where, found) in enumerate(read_entries(path, "queries"), start=1):
        row = {**found, relevant: found.get(relevant, nothing)}
        further = added.get(id_of(row, id_column, where) if id_column else str(number), {})
        grades = {**grades_in(row, relevant, where), **further}
        rows.append({**row, relevant: _with_grades(row[relevant], grades, further)} if further else row)
        expected.append((_others(row, relevant), grades))
    text = _as_text(path, rows)
    _check(path, text, lambda new: _rows_and_grades(new, relevant), expected)
    return JudgmentFile(path, text, use)


def _rows_and_grades(path: Path, relevant: str) -> Iterator[tuple[Entry, Mapping[str, int]]]:
    """The other fields of each row, and its judgments."""
    for where, row in read_entries(path, "queries"):
        yield _others(row, relevant), grades_in(row, relevant, where)


def _others(row: Entry, field: str) -> Entry:
    return {name: value for name, value in row.items() if name != field}


def _check(path: Path, text: str, read: Callable[[Path], Iterable[Any]], expected: Sequence[Any]) -> None:
    """Raise `DatasetError` unless a file with this text is read as expected."""
    with tempfile.TemporaryDirectory() as folder:
        new = Path(folder) / path.name.removesuffix(".gz")
        new.write_bytes(text.encode())
        try:
            found = [*read(new)]
        except DatasetError as error:
            problem = str(error).replace(str(new), "then")
            raise DatasetError(f"{path}: cannot hold these judgments ({problem})") from error
    if found != expected:
        raise DatasetError(f"{path}: cannot hold these judgments: they would be read as others; write it as JSON first")


def _with_grades(found: Any, grades: Mapping[str, int], further: Mapping[str, int]) -> Any:
    """The value of a field with further grades: a list as long as all grades are 1, and otherwise grades by key.

    Args:
        found: The value before.
        grades: All grades.
        further: Those of them that the value lacks.
    """
    if any(grade != 1 for grade in grades.values()):
        return json.dumps(grades, ensure_ascii=False) if isinstance(found, str) else grades
    if isinstance(found, str):
        as_json = found.strip().startswith(JSON) or any(";" in key or key.startswith(JSON) for key in grades)
        return json.dumps([*grades], ensure_ascii=False) if as_json else "; ".join(grades)
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
