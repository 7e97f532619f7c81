"""Reads files of traces: JSON values one after the other, as collectors and exporters write them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ragsweep.core.errors import RetrieverError, first_line
from ragsweep.core.parsing import MalformedError, json_values, read_text
from ragsweep_engines.systems.trace_spans import Span, spans_in

SETTING = "retriever.path"
ENDINGS = (".json", ".jsonl", ".ndjson")  # of the files of a folder that are read, maybe before `.gz`
LARGEST_MB = 1000  # of a file, unzipped


def trace_files(path: Path) -> list[Path]:
    """The file, or those of a folder whose names end as those of traces do, in the order of their names.

    Raises:
        RetrieverError: There is none.
    """
    if not path.is_dir():
        return [path]
    files = sorted(
        each for each in path.iterdir() if each.is_file() and each.name.removesuffix(".gz").endswith(ENDINGS)
    )
    if not files:
        raise RetrieverError(f"{SETTING}: {path} has no file of traces; expected some that end in {', '.join(ENDINGS)}")
    return files


def versions_of(files: list[Path]) -> list[tuple[str, int, int]]:
    """The files with their sizes and times, by which one notices that they have changed."""
    try:
        found = [(str(each.resolve()), each.stat()) for each in files]
    except OSError as error:
        raise RetrieverError(f"{SETTING}: {error.filename} cannot be read ({error.strerror})") from error
    return [(name, status.st_size, status.st_mtime_ns) for name, status in found]


def spans_of(file: Path) -> Iterator[Span]:
    """The spans in a file.

    Raises:
        RetrieverError: It cannot be read, or is no JSON. The error names the line.
    """
    line: int | None = None
    try:
        for number, value in json_values(read_text(file, LARGEST_MB)):
            line = number
            yield from spans_in(value)
    except MalformedError as error:
        place = f", line {error.line}" if error.line else ""
        reason = str(error).replace(f", line {error.line}, ", ", ")
        raise RetrieverError(f"{file}{place}: {reason}; expected traces as JSON") from error
    except OSError as error:
        raise RetrieverError(f"{SETTING}: {file} cannot be read ({first_line(error)})") from error
    except RetrieverError as error:
        raise RetrieverError(f"{file}, line {line}: {error}") from error
