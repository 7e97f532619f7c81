"""Reads files of relevance judgments (qrels), one judgment a line or row, or grades by document by query."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from ragsweep.core.errors import DatasetError
from ragsweep.core.trec_files import NO_ITERATION
from ragsweep.datasets.model.collection import Judgment
from ragsweep.datasets.readers.entry_files import DELIMITERS, JSON, ending_of, lines_of, one_object, read_entries
from ragsweep.datasets.readers.fields import LARGEST_GRADE, flaw_of_name, shown_value, whole
from ragsweep.datasets.readers.json_objects import Entry
from ragsweep.datasets.readers.known_columns import column_in

# What BEIR and MTEB, ranx, TREC, ir_datasets, PyTerrier and people call the columns.
QUERY = ("query-id", "query_id", "q_id", "qid", "queryid", "topic", "topic_id", "query")
DOCUMENT = (
    *("corpus-id", "corpus_id", "doc_id", "doc-id", "docid", "docno", "document_id", "document", "doc", "did"),
    *("chunk_id", "passage_id"),
)
GRADE = ("score", "grade", "relevance", "rel", "label", "relevance_score", "rel_score")
COLUMNS = (QUERY, DOCUMENT, GRADE)
EXPECTED = "query-id, corpus-id and score, or the four columns of TREC: query id, iteration, document and grade"


class _Row(NamedTuple):
    """A judgment as it is in a file, with its number there, and its place for error messages."""

    number: int
    where: str
    query: str
    document: str
    grade: Any


class _Layout(NamedTuple):
    """Where a line has the query, the document and the grade, of how many cells."""

    places: tuple[int, int, int]
    cells: int


def read_qrels(path: Path, setting: str) -> Iterator[tuple[int, Judgment]]:
    """The judgments in a file, each with the number of its line or row, from 1.

    The name of the file tells its format:

    - `.parquet`, `.jsonl` or `.json`: rows whose columns have one of the names that BEIR, MTEB, ranx and TREC use, or
      one object with grades by document by query, as ranx saves it;
    - `.csv`: columns with such names, or the three or four columns of BEIR or TREC without names;
    - anything else: lines of three or four columns between tabs or spaces, with or without a first line of names.

    Args:
        path: The file; unzipped if its name ends in `.gz`.
        setting: The setting that names it, for error messages.

    Raises:
        DatasetError: The file or a judgment cannot be read, or two judgments contradict each other.
    """
    ending = ending_of(path)
    rows = _of_entries(path, setting) if ending in (".parquet", *JSON) else _of_lines(path, setting)
    earlier: dict[tuple[str, str], tuple[int, str]] = {}
    for number, where, query, document, value in rows:
        for what, name in (("query", query), ("document", document)):
            if flaw := flaw_of_name(name):
                raise DatasetError(f"{where}: the {what} {name[:80]!r} {flaw}")
        grade = whole(value)
        if grade is None or abs(grade) > LARGEST_GRADE:
            found = f"{value[:80]!r}" if isinstance(value, str) else shown_value(value)
            expected = f"a whole number from -{LARGEST_GRADE} to {LARGEST_GRADE}"
            raise DatasetError(f"{where}: the grade is {found}; expected {expected}")
        other, place = earlier.setdefault((query, document), (grade, where))
        if other != grade:
            found = f"{document!r} has the grade {grade} for query {query!r}, but {other}"
            raise DatasetError(f"{where}: {found} in {place.removeprefix(f'{path}, ')}; expected one")
        yield number, Judgment(query, document, grade)


def _of_entries(path: Path, setting: str) -> Iterator[_Row]:
    """The judgments of a Parquet or JSON file."""
    if (by_query := _one_mapping(path, setting)) is not None:
        places = ((f"{path}, query {query[:80]!r}", query, grades) for query, grades in by_query.items())
        rows = ((where, query, *judged) for where, query, grades in places for judged in _graded(grades, where))
        for number, (where, query, document, grade) in enumerate(rows, start=1):
            yield _Row(number, where, query, document, grade)
        return
    for number, (where, row) in enumerate(read_entries(path, "judgments", setting=setting), start=1):
        names = [column_in(row, known) for known in COLUMNS]
        if None in names:
            found = ", ".join(map(repr, row))[:200]
            raise DatasetError(f"{where}: found the fields {found}; expected {EXPECTED}")
        _refuse_several_grades(row, where)
        query, document, grade = (row[str(name)] for name in names)
        yield _Row(number, where, _text(query, where), _text(document, where), grade)


def _graded(grades: dict[str, Any] | list[Any], where: str) -> Iterable[tuple[str, Any]]:
    """The documents of a query with their grades, which are 1 for those in a list; null is no grade."""
    if isinstance(grades, list):
        grades = dict.fromkeys((_text(one, where) for one in grades), 1)
    return ((document, grade) for document, grade in grades.items() if grade is not None)


def _one_mapping(path: Path, setting: str) -> Entry | None:
    """The only object of a JSON file, if it has grades by document, or lists of documents, by query."""
    if ending_of(path) not in JSON:
        return None
    value = one_object(path, "judgments", setting)
    if value is None:
        entries = read_entries(path, "judgments", setting=setting)
        (_, value), *others = [*islice(entries, 2)] or [("", {})]
        value = None if others else value
    is_table = value is not None and all(column_in(value, known) for known in COLUMNS)  # with a list for each column
    return value if value and not is_table and all(map(_is_of_query, value.values())) else None


def _is_of_query(value: object) -> bool:
    """Whether a value is grades by document or a list of documents, and not of fields or of objects."""
    if isinstance(value, list):
        return not any(isinstance(item, dict) for item in value)
    return isinstance(value, dict) and not any(isinstance(item, dict | list) for item in value.values())


def _refuse_several_grades(names: Iterable[str], where: str) -> None:
    """Tools for pooling write the score of a retriever beside the judgment: nobody can tell which is which."""
    if len(grades := [name for name in names if column_in([name], GRADE)]) > 1:
        raise DatasetError(f"{where}: {' and '.join(map(repr, grades))} could be the grade; expected one of them")


def _text(value: object, where: str) -> str:
    if isinstance(value, str):
        return value.strip()
    if (number := whole(value)) is not None:
        return str(number)
    raise DatasetError(f"{where}: found {shown_value(value)}; expected an id")


def _of_lines(path: Path, setting: str) -> Iterator[_Row]:
    """The judgments of a file with one on each line."""
    layout: _Layout | None = None
    has_names = False
    second: set[str] = set()  # what is in the second column, and in that of the grades: the first two of each
    graded: set[str] = set()
    for number, cells in _cells(path, setting):
        where = f"{path}, line {number}"
        if layout is None:
            named = _layout_of_names(cells)
            has_names, layout = named is not None, named or _layout_of(cells, where)
            if named:
                _refuse_several_grades(cells, where)
                continue
        if len(cells) != layout.cells:
            raise DatasetError(f"{where}: found {len(cells)} columns, expected {layout.cells} as in the first line")
        query, document, grade = (cells[place] for place in layout.places)
        for found, cell in ((second, cells[1]), (graded, grade)):
            if len(found) < 2:
                found.add(cell)
        yield _Row(number, where, query, document, grade)
    if has_names or layout is None:
        return
    if second <= {*NO_ITERATION} and layout.cells == 3:
        raise DatasetError(f"{path}: the second of three columns is {min(second)!r} in all lines; expected {EXPECTED}")
    if graded == {"0"} and len(second) > 1 and layout.cells == 4:  # ir_datasets exports the iteration at the end
        raise DatasetError(f"{path}: the last of four columns is '0' in all lines; expected {EXPECTED}")


def _layout_of_names(cells: Sequence[str]) -> _Layout | None:
    """The layout that a first line of names tells; None if the line has no names."""
    query, document, grade = (column_in(cells, known) for known in COLUMNS)
    if query is None or document is None or grade is None:
        return None
    return _Layout((cells.index(query), cells.index(document), cells.index(grade)), len(cells))


def _layout_of(cells: Sequence[str], where: str) -> _Layout:
    named = (cell.replace("-", "_").isidentifier() and whole(cell) is None for cell in cells if cell)
    if len(cells) in (3, 4) and all(named):
        raise DatasetError(f"{where}: found the columns {', '.join(map(repr, cells))[:200]}; expected {EXPECTED}")
    if len(cells) == 3:
        return _Layout((0, 1, 2), 3)
    if len(cells) == 4:
        return _Layout((0, 2, 3), 4)
    raise DatasetError(f"{where}: found {len(cells)} columns, expected {EXPECTED}")


def _cells(path: Path, setting: str) -> Iterator[tuple[int, list[str]]]:
    """The cells of each line that is not blank, with its number.

    If all cells of the first line are in quotes, as R writes names, quotes are no part of a cell.
    """
    delimiter = DELIMITERS.get(ending_of(path))
    separator = ""
    quoted: bool | None = None
    for number, line in lines_of(path, setting, "judgments"):
        if not line.strip():
            continue
        if line.count("\t") >= len(COLUMNS) - 1:
            cells = line.split("\t")
        elif delimiter == "," or len(line.split()) == 1:
            separator = separator or (";" if line.count(";") > line.count(",") else ",")
            try:
                cells = next(csv.reader([line], delimiter=separator, strict=True))
            except csv.Error as error:
                raise DatasetError(f"{path}, line {number}: not CSV ({error})") from error
        else:
            cells = line.split()
        cells = [cell.strip() for cell in cells]
        quoted = all(map(_is_quoted, cells)) if quoted is None else quoted
        yield number, [cell[1:-1] if quoted and _is_quoted(cell) else cell for cell in cells]


def _is_quoted(cell: str) -> bool:
    return len(cell) > 1 and cell[0] == cell[-1] == '"'
