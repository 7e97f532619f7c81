"""Tables as CSV files, which a spreadsheet shows and does not run.

A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula, and what it does then is up to whoever
wrote the text. Such a text, also behind white space, is written with an apostrophe before it, as one types it there to
have a text; reading takes it away. Texts stand between quotes, numbers do not, and both are read back as they were.
"""

from __future__ import annotations

import csv
import io
import re
from math import isfinite
from pathlib import Path

import pandas as pd

from ragsweep.core.parsing import MB, MalformedError, read_text

TEXTS = ("query_id", "query", "query_type", "retrieved", "relevant")  # columns of a run's table; others are metrics
TAKEN = ("run_id", "name", "method", "outcome", "k")  # columns that tables of several runs add
LARGEST_MB = 1000
MOST_METRICS = 100
FORMULA = r"'*\s*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]"  # what begins so, whatever apostrophes stand before it


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write a table as CSV."""
    inert = table.rename(columns=as_text)
    for name, values in inert.items():
        if not pd.api.types.is_numeric_dtype(values):
            inert[name] = values.map(lambda cell: as_text(cell) if isinstance(cell, str) else cell)
    inert.to_csv(path, index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)


def as_text(text: str) -> str:
    """A text as it is written: with an apostrophe where a spreadsheet would take it for a formula."""
    return f"'{text}" if re.match(FORMULA, text) else text


def as_it_was(written: str) -> str:
    """What `as_text` has made the written text of."""
    return written[1:] if re.match(f"'{FORMULA}", written) else written


def read_per_query(path: Path) -> pd.DataFrame:
    """A run's `per_query.csv` as it was written: a query called "NA" is no missing value.

    Raises:
        MalformedError: It is no such table.
        OSError: It cannot be read.
    """
    csv.field_size_limit(LARGEST_MB * MB)
    try:
        rows = list(csv.reader(io.StringIO(read_text(path, LARGEST_MB), newline=""), strict=True))
    except csv.Error as error:
        raise MalformedError(f"{path.name} is not CSV ({error})") from error
    head, *rows = rows or [[]]
    names = [as_it_was(name) for name in head]
    if missing := set(TEXTS) - set(names):
        raise MalformedError(f"{path.name} has no column {min(missing)}")
    if len(set(names)) < len(names) or set(TAKEN) & set(names) or len(names) > len(TEXTS) + MOST_METRICS:
        raise MalformedError(f"{path.name} has columns that no table of queries has")
    if not rows or any(len(row) != len(names) for row in rows):
        raise MalformedError(f"{path.name}: expected at least one row, each with {len(names)} cells")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    return pd.DataFrame(
        {
            name: [as_it_was(cell) for cell in cells] if name in TEXTS else [_number(name, cell) for cell in cells]
            for name, cells in columns.items()
        }
    )


def _number(name: str, cell: str) -> float:
    try:
        number = float(cell)
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        raise MalformedError(f"column {name}: found {cell[:40]!r}, expected a number")
    return number
