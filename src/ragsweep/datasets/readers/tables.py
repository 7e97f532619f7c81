"""Reads the entries of JSON, CSV, TSV and Parquet files, each with its place for error messages."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from ragsweep.core.errors import DatasetError
from ragsweep.core.parsing import MB, MalformedError, from_json, read_lines
from ragsweep.core.project import typed
from ragsweep.core.terminal import say_once
from ragsweep.datasets.readers.fields import SHOWN_CHARACTERS, Entry, listed, shown_value

LARGEST_VALUE_MB = 100  # size of a line, or of a cell
LARGEST_IN_ALL_MB = 1000  # size of a file that is read line by line, unzipped
LARGEST_CORPUS_MB = 100_000  # also of a Parquet file, unzipped, as the file itself says
LEAST_COUNTED_OF_LINE = 200  # characters that a line counts for: a small zipped file can have a billion empty ones
MOST_IN_A_BATCH = 1000  # rows of Parquet that are in memory at once

DELIMITERS = {".csv": ",", ".tsv": "\t"}
OTHER_DELIMITERS = (";", "\t", "|")  # of files that are called .csv
JSON = (".json", ".jsonl")
FORMATS = "a JSON, CSV, TSV or Parquet file"
PART = re.compile(r"-\d{5}-of-(\d{5})(?=\.|$)")  # of a table that the hub has in several files


def read_entries(
    path: Path,
    contents: str,
    *,
    setting: str | None = None,
    allow_nan: bool = False,
    in_all_mb: int = LARGEST_IN_ALL_MB,
    delimiter: tuple[str, str | None] = ("", None),
) -> Iterator[tuple[str, Entry]]:
    """The entries of a file: a JSON list or one object on each line, CSV or TSV with a header, or Parquet.

    The ending of its name tells which. A text is unzipped if its name ends in `.gz`. The cells of CSV and TSV files are
    strings. The values of Parquet are plain ones; nothing is unpickled.

    Args:
        path: The file.
        contents: What the file contains, such as `cases`.
        setting: The setting that names the file; `dataset.` and the contents unless given.
        allow_nan: Whether JSON may have NaN and infinities, as in logs.
        in_all_mb: Largest size of a file that is read line by line, unzipped, in megabytes (10^6 bytes).
        delimiter: The setting of what is between the columns of CSV, and its value; None is a comma.

    Yields:
        The place of each entry for error messages, and the entry.

    Raises:
        DatasetError: The file cannot be read, is not in such a format, or is too large.
    """
    setting = setting or f"dataset.{contents}"
    ending = ending_of(path)
    if (part := PART.search(path.name)) and int(part[1]) > 1:
        say_once(f"{path}: one of {int(part[1])} files of a table; join them into one file to read them all")
    if ending == ".parquet":
        with reading(path, setting, f"{FORMATS} of {contents}"):
            yield from _parquet_rows(path)
        return
    lines = lines_of(path, setting, contents, in_all_mb)
    if ending in DELIMITERS:
        yield from rows_of(path, lines, delimiter[1] or DELIMITERS[ending], delimiter[0])
        return
    first = next(((number, line) for number, line in lines if line.strip()), (1, ""))
    if ending not in JSON:
        problem = f"its name ends in {ending!r}" if ending else "its name has no ending"
        raise DatasetError(f"{setting}: {path}: {problem}; expected {FORMATS} of {contents}, with its ending")
    if first[1].lstrip().startswith("["):
        with reading(path, setting, f"a JSON file of {contents}"):
            text = "".join(line for _, line in lines_of(path, setting, contents))
            values = from_json(text, allow_nan=allow_nan)
        for number, value in enumerate(values, start=1):
            yield f"{path}, entry {number}", _object(value, f"{path}, entry {number}")
    elif first[1].strip() == "{":
        problem = f"{path}: is one object over several lines; expected a list of objects, or an object on each line"
        raise DatasetError(f"{problem} (docs/recipes.md has recipes for the JSON of other programs)")
    else:
        for number, line in chain([first], lines):
            if line.strip():
                where = f"{path}, line {number}"
                try:
                    yield where, _object(from_json(line.rstrip(), allow_nan=allow_nan), where)
                except MalformedError as error:
                    problem = str(error).replace("line 1, ", "")
                    raise DatasetError(f"{where}: {problem}; expected an object on each line, or a list") from error


def is_csv(path: Path) -> bool:
    """Whether `read_entries` reads a file as CSV or TSV, so that its cells are strings."""
    return ending_of(path) in DELIMITERS


def ending_of(path: Path) -> str:
    """The ending of a file's name that tells its format, without `.gz`, in small letters."""
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def _object(value: object, where: str) -> Entry:
    if not isinstance(value, dict):
        raise DatasetError(f"{where}: expected an object, found {shown_value(value)}")
    return value


def lines_of(
    path: Path, setting: str, contents: str, in_all_mb: int = LARGEST_IN_ALL_MB, formats: str = FORMATS
) -> Iterator[tuple[int, str]]:
    """The lines of a text file, each with its number from 1; unzipped if the name ends in `.gz`.

    Args:
        path: The file.
        setting: The setting that names it, for error messages.
        contents: What it contains, such as `documents`.
        in_all_mb: Its largest size, unzipped, in megabytes (10^6 bytes).
        formats: The kinds of files that could be there, for error messages.

    Raises:
        DatasetError: The file cannot be read, or is too large.
    """
    characters = 0
    with reading(path, setting, f"{formats} of {contents}"):
        for number, line in read_lines(path, LARGEST_VALUE_MB):
            characters += max(len(line), LEAST_COUNTED_OF_LINE)
            if characters > in_all_mb * MB:  # a small zipped file can be a very large one
                raise MalformedError(f"larger than {in_all_mb:,} MB")
            yield number, line


@contextmanager
def reading(path: Path, setting: str, expected: str) -> Iterator[None]:
    """Raise errors of reading a file as `DatasetError`."""
    try:
        yield
    except FileNotFoundError as error:
        raise DatasetError(f"{setting}: {path} does not exist; expected {expected}") from error
    except MalformedError as error:
        where = f"{path}, line {error.line}" if error.line else path
        utf_8 = ", in UTF-8" if str(error).startswith("not UTF-8") else ""
        problem = str(error).replace(f"line {error.line}, ", "")
        raise DatasetError(f"{where}: {problem}; expected {expected}{utf_8}") from error
    except (OSError, ValueError) as error:  # a null character in the path raises ValueError
        reason = error.strerror if isinstance(error, OSError) else error
        raise DatasetError(f"{setting}: {str(path)!r} cannot be read ({reason})") from error


def rows_of(
    path: Path, lines: Iterator[tuple[int, str]], delimiter: str, setting: str = ""
) -> Iterator[tuple[str, Entry]]:
    """The rows of a table with this delimiter, by the names in its first one.

    Rows of empty cells are left out, and so are columns without a name: the first if it numbers the rows, as in tables
    of pandas, and those whose cells are empty, as spreadsheets write them after the last column.

    Args:
        path: The file, for error messages.
        lines: Its lines.
        delimiter: One character.
        setting: The setting of the delimiter, for error messages; empty if there is none.

    Raises:
        DatasetError: It is no table, or has a text in a column without a name.
    """
    csv.field_size_limit(LARGEST_VALUE_MB * MB)
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
            elif len(row) != len(header):
                problem = f"found {len(row)} cells, expected {len(header)} as in the first line"
                raise DatasetError(f"{where}: {problem}; put a text that contains {delimiter!r} into double quotes")
            else:
                yield where, _by_name(header, row, where)
    except csv.Error as error:
        raise DatasetError(f"{path}, line {line}: not CSV ({error}); expected CSV in UTF-8") from error
    except (TypeError, ValueError) as error:
        raise DatasetError(f"{setting or path}: {delimiter!r} cannot be between the columns of a table") from error


def _header(row: Sequence[str], delimiter: str, where: str, setting: str) -> list[str]:
    names = [name.strip() for name in row]
    if twice := [name for name, times in Counter(names).items() if name and times > 1]:
        raise DatasetError(f"{where}: several columns have the name {listed(sorted(twice))}")
    if row[0].lower().startswith("sep="):
        raise DatasetError(f"{where}: tells Excel the delimiter; delete this line")
    other = next((mark for mark in OTHER_DELIMITERS if mark != delimiter and mark in names[0]), None)
    if len([*filter(None, names)]) == 1 and other:
        before, space, name = setting.rpartition(" ")  # what chooses the questions elsewhere
        mark = typed(name, other.replace("\t", "\\t"))
        advice = f"{before}{space}{mark}" if setting else "save it with commas"
        raise DatasetError(f"{where}: has no {delimiter!r} between its columns, but {other!r}; {advice}")
    return names


def _by_name(header: Sequence[str], row: Sequence[str], where: str) -> Entry:
    for position, (name, cell) in enumerate(zip(header, row, strict=True)):
        if not name and cell.strip() and not (position == 0 and cell.strip().isdecimal()):
            problem = f"column {position + 1} has no name, but the text {cell.strip()[:SHOWN_CHARACTERS]!r}"
            raise DatasetError(f"{where}: {problem}; name the column, or quote a text with a delimiter in it")
    return {name: cell for name, cell in zip(header, row, strict=True) if name}


def _parquet_rows(path: Path) -> Iterator[tuple[str, Entry]]:
    import pyarrow
    from pyarrow import parquet

    unreadable = (ArithmeticError, LookupError, ValueError, pyarrow.ArrowException)  # the year 100000, an unknown zone
    if path.exists() and not path.is_file():  # reading a pipe could block
        raise MalformedError("not a file")
    try:
        with path.open("rb") as opened, parquet.ParquetFile(opened) as file:
            about, names = file.metadata, file.schema_arrow.names
            if sum(about.row_group(at).total_byte_size for at in range(about.num_row_groups)) > LARGEST_CORPUS_MB * MB:
                raise MalformedError(f"larger than {LARGEST_CORPUS_MB:,} MB")
            if twice := [name for name, times in Counter(names).items() if times > 1]:
                raise MalformedError(f"several columns have the name {listed(sorted(twice))}")
            before = 0
            for batch in file.iter_batches(MOST_IN_A_BATCH):
                columns = []
                for name, column in zip(names, batch.columns, strict=True):
                    try:
                        columns.append(column.to_pylist())
                    except unreadable as error:
                        place = f"{path}, rows {before + 1} to {before + len(column)}"
                        problem = f"the field {name[:SHOWN_CHARACTERS]!r} has an invalid value of type {column.type}"
                        raise DatasetError(f"{place}: {problem}; expected one that Python can hold") from error
                for row in zip(*columns, strict=True):
                    before += 1
                    yield f"{path}, row {before}", dict(zip(names, row, strict=True))
    except pyarrow.ArrowException as error:
        raise MalformedError(f"not a Parquet file ({str(error).splitlines()[0][:SHOWN_CHARACTERS]})") from error
