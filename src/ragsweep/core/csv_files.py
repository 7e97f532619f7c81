"""Tables as CSV files that are safe to open in a spreadsheet.

A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula, and what it does then is up to whoever
wrote the text. Such a text, also after white space, is written with an apostrophe before it, which marks a text in
spreadsheets; reading removes it. Texts are quoted, numbers are not, and both are read back as they were.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Sequence
from math import isfinite, isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ragsweep.core.parsing import MB, MalformedError, read_text

if TYPE_CHECKING:
    import pandas as pd

TEXT_COLUMNS = ("query_id", "query", "query_type")  # columns of every run's table
QUERY_GROUP = "query_group"  # the column of the groups of queries, where there are any
TIME = "time_ms"  # the column of what each query takes on its own; empty where that is not known
TAKEN = ("run_id", "name", "method", "outcome", "k")  # columns that tables of several runs add
LARGEST_CSV_MB = 1000
MOST_METRICS = 100
MOST_COLUMNS = 150
FORMULA = r"'*\s*[=+\-@\uff1d\uff0b\uff0d\uff20\t\r\n]"  # the beginning of a formula, also after apostrophes


def setting_columns(settings: Iterable[str], taken: Collection[str]) -> dict[str, str]:
    """The column of each setting in a table that has other columns, too.

    It is the setting's name, or `params.NAME`, as in MLflow's own tables, where another column has that name.
    """
    columns: dict[str, str] = {}
    for setting in sorted(settings, key=lambda name: name in taken):  # those that keep their name come first
        column = setting
        while column in taken or column in columns.values():
            column = f"params.{column}"
        columns[setting] = column
    return columns


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write a table as CSV."""
    import pandas as pd

    inert = {
        as_text(str(name)): values
        if pd.api.types.is_numeric_dtype(values)
        else pd.Series([as_text(cell) if isinstance(cell, str) else cell for cell in values.tolist()], dtype=object)
        for name, values in table.reset_index(drop=True).items()
    }
    pd.DataFrame(inert).to_csv(path, index=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)


def as_text(text: str) -> str:
    """The text with an apostrophe before it where a spreadsheet would take it for a formula."""
    if not text or text[0].isalnum():  # as nearly all cells; a table has many
        return text
    return f"'{text}" if re.match(FORMULA, text) else text


def as_it_was(written: str) -> str:
    """The text before `as_text` changed it."""
    return written[1:] if written[:1] == "'" and re.match(f"'{FORMULA}", written) else written


def read_per_query(path: Path) -> pd.DataFrame:
    """A run's `per_query.csv` as it was written: a query called "NA" is no missing value.

    Texts are quoted, metrics are not.

    Raises:
        MalformedError: It is no such table.
        OSError: It cannot be read.
    """
    import pandas as pd

    names, rows = _read(path)
    if missing := set(TEXT_COLUMNS) - set(names):
        raise MalformedError(f"{path.name} has no column {min(missing)}")
    if set(TAKEN) & set(names):
        raise MalformedError(f"{path.name} has columns that no table of queries has")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    for name in TEXT_COLUMNS:
        if not all(isinstance(cell, str) for cell in columns[name]):
            raise MalformedError(f"column {name}: found a number, expected text in quotes")
    return pd.DataFrame({name: _column(name, cells) for name, cells in columns.items()})


def read_numbers(path: Path) -> dict[str, npt.NDArray[np.float64]]:
    """A table of numbers, column by column; raises as `read_per_query`."""
    names, rows = _read(path)
    numbers = np.array([_numbers(name, cells) for name, cells in zip(names, zip(*rows, strict=True), strict=True)])
    return dict(zip(names, numbers, strict=True))


def _read(path: Path) -> tuple[list[str], list[list[str | float]]]:
    """The head and the rows of a table that `write_table` has written."""
    csv.field_size_limit(LARGEST_CSV_MB * MB)
    text = io.StringIO(read_text(path, LARGEST_CSV_MB), newline="")
    try:
        head, *rows = list(csv.reader(text, strict=True, quoting=csv.QUOTE_NONNUMERIC)) or [[]]
    except csv.Error as error:
        raise MalformedError(f"{path.name} is not CSV ({error})") from error
    except ValueError as error:
        raise MalformedError(f"{path.name}: expected texts between quotes, and numbers without") from error
    names = [as_it_was(str(name)) for name in head]
    if len(set(names)) < len(names) or len(names) > MOST_COLUMNS:
        raise MalformedError(f"{path.name} has columns that no table of queries has")
    if not rows or any(len(row) != len(names) for row in rows):
        raise MalformedError(f"{path.name}: expected at least one row, each with {len(names)} cells")
    return names, rows  # type: ignore[return-value]  # the reader makes numbers of what stands without quotes


def _column(name: str, cells: Sequence[str | float]) -> list[str] | list[float]:
    if name == TIME:
        cells = [nan if cell == "" else cell for cell in cells]
        return [nan if isinstance(cell, float) and isnan(cell) else _numbers(name, [cell])[0] for cell in cells]
    texts = [as_it_was(cell) for cell in cells if isinstance(cell, str)]
    return texts if len(texts) == len(cells) else _numbers(name, cells)


def _numbers(name: str, cells: Sequence[str | float]) -> list[float]:
    for cell in cells:
        if isinstance(cell, str) or not isfinite(cell):
            raise MalformedError(f"column {name}: found {str(cell)[:40]!r}, expected a number")
    return [float(cell) for cell in cells]
