"""Reads the rows of Parquet files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragsweep.core.errors import DatasetError
from ragsweep.core.parsing import MB, MalformedError
from ragsweep.datasets.readers.fields import listed

LARGEST_PARQUET_MB = 100_000  # unzipped, as the file itself says
MOST_IN_A_BATCH = 1000  # rows that are in memory at once


def parquet_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a file, each with its place for error messages. Values are plain ones; nothing is unpickled.

    Raises:
        MalformedError: It is not a Parquet file, it is too large, or two of its columns have the same name.
        DatasetError: Python cannot hold a value, such as the year 100000 or a time in an unknown zone.
        OSError: It cannot be read.
    """
    import pyarrow
    from pyarrow import parquet

    if path.exists() and not path.is_file():  # reading a pipe could block
        raise MalformedError("not a file")
    try:
        with path.open("rb") as opened, parquet.ParquetFile(opened) as file:
            about = file.metadata
            if (
                sum(about.row_group(group).total_byte_size for group in range(about.num_row_groups))
                > LARGEST_PARQUET_MB * MB
            ):
                raise MalformedError(f"larger than {LARGEST_PARQUET_MB:,} MB")
            names = Counter(file.schema_arrow.names)
            if twice := {name for name, number in names.items() if number > 1}:
                raise MalformedError(f"several columns have the name {listed(sorted(twice))}")
            number = 0
            for batch in file.iter_batches(MOST_IN_A_BATCH):
                for row in _values(batch, path, number):
                    number += 1
                    yield f"{path}, row {number}", row
    except pyarrow.ArrowException as error:
        raise MalformedError(f"not a Parquet file ({str(error).splitlines()[0][:80]})") from error


def _values(batch: Any, path: Path, before: int) -> list[dict[str, Any]]:
    """The rows of a batch, which has this many rows before it."""
    import pyarrow

    unreadable = (ArithmeticError, LookupError, ValueError, pyarrow.ArrowException)
    try:
        rows: list[dict[str, Any]] = batch.to_pylist()
    except unreadable:  # which does not say where
        for number in range(batch.num_rows):
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                try:
                    column[number].as_py()
                except unreadable as error:
                    found = f"the field {name[:80]!r} has an invalid value of type {column.type}"
                    raise DatasetError(f"{path}, row {before + number + 1}: {found}") from error
        raise
    return rows
