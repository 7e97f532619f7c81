"""Reads the lines of TREC files, and writes names and scores in a form that every reader of such files understands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import nan
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from ragsweep.core.errors import DatasetError, first_line
from ragsweep.core.parsing import MB, MalformedError, read_lines

RUN = ("query", "Q0", "document", "rank", "score", "tag")
QRELS = ("query", "0", "document", "grade")
NOTHING_RETRIEVED = "nothing-retrieved"  # the document of a query without results, which trec_eval would leave out
TAG = "ragsweep"  # of our own runs, whose names are escaped

LONGEST_LINE_MB = 1
LARGEST_TREC_MB = 10_000  # unzipped; a run of 7 million lines has 300
LEAST_COUNTED_OF_TREC_LINE = 20  # characters that a line counts for: a small zipped file can have a billion empty ones
SAFE = "/#:,@()[]+=&~"  # not escaped in ids; white space must be escaped because it separates columns


def trec_lines(path: Path, columns: Sequence[str], setting: str, hint: str = "") -> Iterator[tuple[int, list[str]]]:
    """The cells of each line with its number from 1. Skips blank lines.

    A line that begins with # is refused: some programs write comments so, and some ids.

    Args:
        path: The file; unzipped if its name ends in `.gz`.
        columns: What a line has, such as `RUN`.
        setting: The setting or argument that names the file, for error messages.
        hint: What else could be expected.

    Raises:
        DatasetError: The file cannot be read, or a line has another number of cells.
    """
    characters = 0
    try:
        for number, line in read_lines(path, LONGEST_LINE_MB):
            characters += max(len(line), LEAST_COUNTED_OF_TREC_LINE)
            if characters > LARGEST_TREC_MB * MB:
                raise MalformedError(f"larger than {LARGEST_TREC_MB:,} MB")
            cells = [cell.strip() for cell in line.split("\t")]  # an id can have spaces
            if len(cells) != len(columns) or not all(cells):
                cells = line.split()
            if cells and cells[0].startswith("#"):
                flaw = f"found {cells[0][:80]!r}, expected no comments; write %23 for the # of an id"
                raise DatasetError(f"{path}, line {number}: {flaw}")
            if len(cells) == len(columns):
                yield number, cells
            elif cells:
                expected = repr(" ".join(columns)) + hint
                raise DatasetError(f"{path}, line {number}: found {len(cells)} columns, expected {expected}")
    except (MalformedError, OSError, ValueError) as error:  # a null character in the path raises ValueError
        raise DatasetError(f"{setting}: {path} cannot be read as a TREC file ({first_line(error)})") from error


def number_of(value: Any) -> float:
    """The value as a number, or NaN if it is not one."""
    try:
        return nan if isinstance(value, str) and "_" in value else float(value)  # Python reads 1_0 as ten
    except (TypeError, ValueError, OverflowError):
        return nan


def trec_eval_order(
    queries: npt.NDArray[np.int64], scores: npt.NDArray[np.float64], documents: Sequence[str]
) -> npt.NDArray[np.int64]:
    """How trec_eval sorts the lines of a run: by query, descending score in single precision, and descending document.

    Documents are compared byte by byte, as `strcmp` does.

    Args:
        queries: A number for the query of each line, shape [lines].
        scores: Shape [lines].
        documents: Shape [lines].
    """
    names = {name: place for place, name in enumerate(sorted(set(documents), key=str.encode, reverse=True))}
    places = np.array([names[name] for name in documents], dtype=np.int64)
    return np.lexsort((places, -in_single_precision(scores), queries))


def in_single_precision(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Scores as trec_eval reads them."""
    with np.errstate(over="ignore"):
        return scores.astype(np.float32).astype(np.float64)


@lru_cache(maxsize=100_000)  # runs of a sweep mostly use the same ids
def identifier(text: str) -> str:
    """A name as one word without white space, from which `urllib.parse.unquote` makes the name again."""
    return re.sub("^#", "%23", quote(text, safe=SAFE))  # some readers take a line that starts with # as a comment


def strictly_falling(scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The scores, each lowered just enough to be smaller than the one before it.

    Args:
        scores: In descending order, shape [queries, depth].
    """
    falling = scores.copy()
    for rank in range(1, falling.shape[1]):
        below = np.nextafter(falling[:, rank - 1], falling.dtype.type(-np.inf))
        falling[:, rank] = np.minimum(falling[:, rank], below)
    return falling
