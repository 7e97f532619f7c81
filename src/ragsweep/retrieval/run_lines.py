"""The lines of a file of rankings, in the forms in which other programs write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ragsweep.core.errors import DatasetError
from ragsweep.core.parsing import MalformedError, read_lines
from ragsweep.core.trec_files import LONGEST_LINE_MB, RUN, TAGS, trec_lines
from ragsweep.datasets.readers.entry_files import ending_of, is_csv, read_entries, read_json
from ragsweep.datasets.readers.fields import SHOWN_CHARACTERS
from ragsweep.datasets.readers.known_columns import column_in

COLUMNS: Mapping[str, Sequence[str]] = {  # of tables: PyTerrier's `docid` is a number of its own index
    "query": ("qid", "query_id", "query-id", "topic_id"),
    "document": ("docno", "doc_id", "docid", "document", "corpus-id"),
    "score": ("score", "sim"),
}


class RunLine(NamedTuple):
    """One document of a ranking.

    Attributes:
        where: Its place, for errors.
        number: That of its line, or of its entry, from 1.
        query: Id of the query.
        document: Name of the document.
        score: As it is written.
        tag: Name of the system; empty where the file has none.
    """

    where: str
    number: int
    query: str
    document: str
    score: Any
    tag: str = ""


def run_lines(path: Path, setting: str) -> Iterator[RunLine]:
    """The lines of a TREC run file, the rows of a table, as PyTerrier has them, or scores by document by query in JSON.

    Args:
        path: The file; unzipped if its name ends in `.gz`.
        setting: The setting that names it.

    Raises:
        DatasetError: The file cannot be read, or is in no such form.
    """
    first = _first_line(path)
    is_table = is_csv(path) and (_has_names(first) or ("\t" not in first and len(first.split()) < len(RUN) - 1))
    if ending_of(path) in (".parquet", ".jsonl", ".ndjson") or first.startswith("[") or (first and is_table):
        yield from _of_table(path, setting)
    elif first.startswith("{") or ending_of(path) == ".json":
        yield from _of_json(path, setting)
    else:
        for number, (query, _, document, _, score, tag) in trec_lines(path, RUN, "score", setting):
            yield RunLine(f"{path}, line {number}", number, query, document, score, tag)


def _first_line(path: Path) -> str:
    """The first line that is not blank; empty where there is none, or where the file cannot be read."""
    try:
        return next((line.strip() for _, line in read_lines(path, LONGEST_LINE_MB) if line.strip()), "")
    except (MalformedError, OSError, ValueError):
        return ""


def _has_names(line: str) -> bool:
    """Whether a line names the columns of a table."""
    delimiter = "\t" if "\t" in line else ","
    cells = {cell.strip().strip('"').casefold() for cell in line.split(delimiter)}
    return all(cells & {*names} for names in COLUMNS.values())


def _of_table(path: Path, setting: str) -> Iterator[RunLine]:
    columns: Mapping[str, str] = {}
    for number, (where, row) in enumerate(read_entries(path, "rankings", setting=setting), start=2):  # 1: the names
        if not columns:
            columns = {what: column_in(row, names) or "" for what, names in COLUMNS.items()}
            if lacking := [what for what, name in columns.items() if not name]:
                expected = ", ".join(f"{what} ({' or '.join(COLUMNS[what])})" for what in lacking)
                raise DatasetError(f"{path}: has no column of {expected}")
        if missing := [name for name in columns.values() if name not in row]:
            raise DatasetError(f"{where}: has no {' and no '.join(map(repr, missing))}, unlike the first row")
        query, document, score = (row[columns[what]] for what in COLUMNS)
        tag = next((str(row[name]) for name in TAGS if row.get(name)), "")
        yield RunLine(where, number, str(query), str(document), score, tag)


def _of_json(path: Path, setting: str) -> Iterator[RunLine]:
    found = read_json(path, "rankings", "object", setting=setting)
    if not isinstance(found, dict):
        raise DatasetError(f"{path}: expected scores by document by query, as {{'query1': {{'doc1': 0.5}}}}")
    number = 0
    for query, scores in found.items():
        where = f"{path}, query {query[:SHOWN_CHARACTERS]!r}"
        if not isinstance(scores, dict):
            raise DatasetError(f"{where}: expected scores by document, as {{'doc1': 0.5}}")
        for document, score in scores.items():
            number += 1
            yield RunLine(f"{where}, document {document[:SHOWN_CHARACTERS]!r}", number, query, document, score)
