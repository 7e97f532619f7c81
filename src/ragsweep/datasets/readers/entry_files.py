"""Reads the entries of JSON, CSV, TSV and Parquet files, each with its place for error messages."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from ragsweep.core.errors import DatasetError
from ragsweep.core.parsing import MB, MalformedError, from_json, read_lines, read_text
from ragsweep.datasets.readers.delimited_rows import Entry, rows_of
from ragsweep.datasets.readers.fields import ROW_NUMBERS, flaw_of_name, flaw_of_text, shown_value, whole
from ragsweep.datasets.readers.files import say_if_part
from ragsweep.datasets.readers.parquet_files import parquet_rows

LARGEST_VALUE_MB = 100  # size of a JSON file that is one value, or of a line
LARGEST_IN_ALL_MB = 1000  # size of a file that is read line by line, unzipped
LARGEST_CORPUS_MB = 100_000
FIELDS_SHOWN = 300  # characters of their names in a message
LEAST_COUNTED_OF_LINE = 200  # characters that a line counts for: a small zipped file can have a billion empty ones

DELIMITERS = {".csv": ",", ".tsv": "\t"}
JSON = (".json", ".jsonl", ".ndjson")
FORMATS = "a JSON, CSV, TSV or Parquet file"
FALSE = (False, "false", "no", "0")
TRUE = (True, "true", "yes", "1")


def read_json(
    path: Path, contents: str, shape: str = "list", *, setting: str | None = None, allow_nan: bool = False
) -> Any:
    """The value in a JSON file.

    Args:
        path: The file.
        contents: What the file contains, such as `queries`.
        shape: What the value should be, for error messages: `list` or `object`.
        setting: The setting that names the file; `dataset.` and the contents unless given.
        allow_nan: Whether NaN and infinities may be in it.

    Raises:
        DatasetError: The file cannot be read or is not JSON.
    """
    setting = setting or f"dataset.{contents}"
    with reading(path, setting, f"a JSON file of {contents}", f"a JSON {shape} of {contents}"):
        if path.suffix == ".gz":
            return from_json("".join(line for _, line in lines_of(path, setting, contents)), allow_nan=allow_nan)
        return from_json(read_text(path, LARGEST_VALUE_MB, utf_16=True), allow_nan=allow_nan)


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

    The ending of its name tells which. A file is unzipped if its name ends in `.gz`. The cells of CSV and TSV files are
    strings.

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
    say_if_part(path)
    if ending == ".parquet":
        with reading(path, setting, f"{FORMATS} of {contents}", f"a Parquet file of {contents}"):
            yield from parquet_rows(path)
        return
    lines = lines_of(path, setting, contents, in_all_mb)
    if ending in DELIMITERS:
        yield from rows_of(path, lines, delimiter[1] or DELIMITERS[ending], setting=delimiter[0])
        return
    first = next(((number, line) for number, line in lines if line.strip()), (1, ""))
    if ending not in JSON:
        found = f"its name ends in {ending!r}" if ending else "its name has no ending"
        raise DatasetError(
            f"{setting}: {path}: {found}; expected {FORMATS} of {contents}, with the ending of its format"
        )
    if first[1].lstrip().startswith("["):
        for number, value in enumerate(read_json(path, contents, setting=setting, allow_nan=allow_nan), start=1):
            yield _object(value, f"{path}, entry {number}")
    elif first[1].strip() == "{":
        raise DatasetError(
            f"{path}: is one object over several lines; expected a list of objects, or an object on each line "
            "(docs/data.md has recipes for the JSON of other programs)"
        )
    else:
        for number, line in chain([first], lines):
            if line.strip():
                yield json_object(line, f"{path}, line {number}", allow_nan=allow_nan)


def json_object(line: str, where: str, *, allow_nan: bool = False) -> tuple[str, Entry]:
    """The place and the object of a line with one JSON object."""
    try:
        return _object(from_json(line.rstrip(), allow_nan=allow_nan), where)
    except MalformedError as error:
        problem = str(error).replace("line 1, ", "")
        raise DatasetError(f"{where}: {problem}; expected an object on each line, or a list") from error


def is_csv(path: Path) -> bool:
    """Whether `read_entries` reads a file as CSV or TSV, so that its cells are strings."""
    return ending_of(path) in DELIMITERS


def ending_of(path: Path) -> str:
    """The ending of a file's name that tells its format, without `.gz`, in small letters."""
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def value_of(entry: Entry, field: str | None, where: str) -> Any:
    """The value of a field; None for the field None. Raises `DatasetError` if the entry lacks the field."""
    if field is not None and field not in entry:
        raise DatasetError(_missing(entry, field, where))
    return None if field is None else entry[field]


def _missing(entry: Entry, field: str, where: str) -> str:
    found = ", ".join(map(repr, entry))[:FIELDS_SHOWN] or "none"
    return f"{where}: the field {field!r} is missing; found {found}"


def text_of(entry: Entry, field: str | None, where: str) -> str | None:
    """The text in a field without the white space around it; None if it is null or blank.

    Raises:
        DatasetError: The entry lacks the field, or it is not a valid text.
    """
    found = value_of(entry, field, where)
    if found is not None and (flaw := flaw_of_text(found)):
        raise DatasetError(f"{where}: the field {field!r} {flaw}")
    return (found or "").strip() or None


def id_of(entry: Entry, field: str, where: str) -> str:
    """The id in a field: a name, or a whole number, of which pandas makes `1.0` where another is missing.

    Raises `DatasetError` if the entry lacks the field, or it is not a valid name.
    """
    found = value_of(entry, field, where)
    if not isinstance(found, str) and (number := whole(found)) is not None:
        return str(number)
    if flaw := flaw_of_name(found):
        raise DatasetError(f"{where}: the field {field!r} {flaw}")
    return str(found).strip()


def further_fields(entry: Entry, used: Collection[str | None], where: str) -> tuple[tuple[str, str], ...]:
    """The names and texts of the fields that are not used, and neither null nor an empty object.

    Raises:
        DatasetError: A name or a text is invalid.
    """
    further: list[tuple[str, str]] = []
    for name, value in entry.items():
        if name in used or ROW_NUMBERS.fullmatch(name) or value is None or (isinstance(value, dict) and not value):
            continue
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        if flaw := flaw_of_name(name) or flaw_of_text(text):
            raise DatasetError(f"{where}: the field {name[:80]!r} {flaw}")
        further.append((name, text))
    return tuple(further)


def type_in(entry: Entry, field: str | None, where: str) -> str | None:
    """The type of a query in a field; None if it has none. Raises `DatasetError` if it is not a valid name."""
    found = entry.get(field) if field else None
    if found is None or found == "":
        return None
    if flaw := flaw_of_name(found):
        raise DatasetError(f"{where}: the field {field!r} {flaw}")
    return str(found).strip()


def answerable_in(entry: Entry, field: str | None, where: str) -> bool:
    """Whether the documents may answer a question: the field is not false. Raises `DatasetError` for another value.

    A cell of a CSV file is a text. An entry need not have the field.
    """
    found = entry.get(field) if field else None
    found = found.strip().lower() if isinstance(found, str) else found  # FALSE of spreadsheets
    if found not in (None, "", *TRUE, *FALSE):
        raise DatasetError(f"{where}: the field {field!r} is {shown_value(found)}; expected true or false")
    return found not in FALSE


def _object(value: object, where: str) -> tuple[str, Entry]:
    if not isinstance(value, dict):
        raise DatasetError(f"{where}: expected an object, found {shown_value(value)}")
    return where, value


def lines_of(
    path: Path, setting: str, contents: str, in_all_mb: int = LARGEST_IN_ALL_MB, formats: str = FORMATS
) -> Iterator[tuple[int, str]]:
    """The lines of a text file, each with its number from 1; unzipped if the name ends in `.gz`.

    Args:
        path: The file.
        setting: The setting that names the file, for error messages.
        contents: What the file contains, such as `documents`.
        in_all_mb: Largest size of the file, unzipped, in megabytes (10^6 bytes).
        formats: The kinds of files that could be there, for error messages.

    Raises:
        DatasetError: The file cannot be read, or is too large.
    """
    characters = 0
    expected = f"{formats} of {contents}"
    with reading(path, setting, expected, expected):
        for number, line in read_lines(path, LARGEST_VALUE_MB):
            characters += max(len(line), LEAST_COUNTED_OF_LINE)
            if characters > in_all_mb * MB:  # a small zipped file can be a very large one
                raise MalformedError(f"larger than {in_all_mb:,} MB")
            yield number, line


@contextmanager
def reading(path: Path, setting: str, file: str, expected: str) -> Iterator[None]:
    """Raise errors of reading a file as `DatasetError`."""
    try:
        yield
    except FileNotFoundError as error:
        raise DatasetError(f"{setting}: {path} does not exist; expected {file}") from error
    except MalformedError as error:
        where = f"{path}, line {error.line}" if error.line else path
        problem = str(error).replace(f"line {error.line}, ", "")
        advice = f"expected {expected}"
        if problem.startswith("not UTF-8") and not _is_binary(path):
            advice = "save it as UTF-8"
        raise DatasetError(f"{where}: {problem}; {advice}") from error
    except (OSError, ValueError) as error:  # a null character in the path raises ValueError
        reason = error.strerror if isinstance(error, OSError) else error
        raise DatasetError(f"{setting}: {str(path)!r} cannot be read ({reason})") from error


def _is_binary(path: Path) -> bool:
    """Whether a file, such as a workbook of Excel, is no text in any encoding of one byte."""
    with path.open("rb") as file:
        return path.suffix != ".gz" and b"\0" in file.read(512)
