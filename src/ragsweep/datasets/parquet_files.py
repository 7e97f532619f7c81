"""Reads the rows of Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragsweep.core.parsing import MB, MalformedError

LARGEST_MB = 100_000  # unzipped, as the file itself says
MOST_IN_A_BATCH = 1000  # rows that are in memory at once


def parquet_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a file, each with its place for error messages. Values are plain ones; nothing is unpickled.

    Raises:
        MalformedError: It is not a Parquet file, or it is too large.
        OSError: It cannot be read.
    """
    import pyarrow
    from pyarrow import parquet

    if path.exists() and not path.is_file():  # reading a pipe could block
        raise MalformedError("not a file")
    try:
        with path.open("rb") as opened, parquet.ParquetFile(opened) as file:
            about = file.metadata
            if sum(about.row_group(group).total_byte_size for group in range(about.num_row_groups)) > LARGEST_MB * MB:
                raise MalformedError(f"larger than {LARGEST_MB:,} MB")
            number = 0
            for batch in file.iter_batches(MOST_IN_A_BATCH):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path}, row {number}", row
    except pyarrow.ArrowException as error:
        raise MalformedError(f"not a Parquet file ({str(error).splitlines()[0][:80]})") from error
