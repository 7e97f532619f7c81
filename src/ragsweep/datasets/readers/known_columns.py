"""Finds the columns of a table that are known by another spelling, such as `Page number`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from ragsweep.core.errors import DatasetError
from ragsweep.datasets.readers.delimited_rows import Entry
from ragsweep.datasets.readers.fields import MISSING_VALUES, listed
from ragsweep.datasets.readers.judgment_fields import GRADE, PAGE, SOURCE

SEPARATORS = re.compile(r"[\s.-]+")
OF_JUDGMENTS = re.compile(
    "(expected|gold|golden|relevant|answer|correct|target|ground_truth|true|reference|evidence|source)_"
)
OF_IDS = dict.fromkeys(("question_id", "query_id", "qid", "case_id"), "id")
FURTHER = OF_IDS | dict.fromkeys(("page_no", "page_nr"), "page_number")
FURTHER |= {"document_name": "document", "doc_name": "doc"}
NUMBERED = re.compile("(.*?)_?[1-9][0-9]?")  # no year, nor the index of a page from 0
BLANK: tuple[object, ...] = (None, "", [], *MISSING_VALUES)
FURTHER_GRADES = ("relevant", "is_relevant", "relevancy")  # beside a page or a document


def with_known_names(row: Entry, relevant: tuple[str, ...], others: Iterable[tuple[str, ...]], where: str) -> Entry:
    """A row whose known columns have the names by which they are read; all others keep theirs.

    A name is compared without regard to case, and with spaces, dots and hyphens as underscores. Columns of pages and
    documents may also begin as in `expected_page` or `gold_document`, and be in the plural then; so may `pages`. An
    exact name wins over another spelling, and that over such a beginning.

    Args:
        row: The row.
        relevant: The names of a column of judgments. Beside the first of them, other columns make no judgments, though
            `relevant` may grade them; nor do they if there are none.
        others: Names of other columns. Another spelling is read only where none of the same group is there.
        where: The place of the row, for error messages.

    Raises:
        DatasetError: Two columns are the same known one, or one such as `page_2` has a further judgment.
    """
    try:
        known = _known_names(tuple(row), relevant, tuple(others))
    except DatasetError as error:
        raise DatasetError(f"{where}: {error}") from None
    numbers = _numbered(tuple(row), relevant, tuple(known.items()))
    if numbered := [name for name, first in numbers.items() if row[name] not in (*BLANK, row[first])]:
        found = f"{listed(numbered)} would be a further judgment, which is not read"
        raise DatasetError(
            f"{where}: {found}; expected each judgment in a row of its own, or a list of them; rename what is none"
        )
    return type(row)({known.get(name, name): value for name, value in row.items()}) if known else row


@lru_cache(maxsize=100)  # the rows of a table mostly have the same columns
def _known_names(
    row: tuple[str, ...], relevant: tuple[str, ...], others: tuple[tuple[str, ...], ...]
) -> Mapping[str, str]:
    """The name by which each column is read whose own name is another one; as in `with_known_names`."""
    groups = [relevant, *others]
    is_judged = bool(relevant) and relevant[0] in row
    groups += [] if not relevant else [GRADE] if is_judged else [SOURCE, PAGE, GRADE]
    exact = {name for names in groups for name in names}
    left = [name for name in row if name not in exact]
    known: dict[str, str] = {}
    for names in groups:
        if {*row} & {*names}:
            continue
        same = _spellings(names)
        if names == GRADE and is_judged:  # a score there may be one of something else
            same = {folded: name for folded, name in same.items() if name != "score"}
        if names == GRADE and {*row, *known.values()} & {*SOURCE, *PAGE, *relevant}:
            same = {**same, **dict.fromkeys(FURTHER_GRADES, "relevance")}
        found = {name: same[_folded(name)] for name in left if _folded(name) in same}
        has_judgments = names == PAGE and ({*row, *known.values()} & {*relevant})
        if not found and names in (SOURCE, PAGE) and not has_judgments:
            loose = {name: _loosely(_folded(name), same) for name in left if name not in known}
            found = {name: one for name, one in loose.items() if one}
        for name, one in found.items():
            if len(twice := [each for each, other in found.items() if other == one]) > 1:
                raise DatasetError(f"the columns {listed(twice)} are the same, {one!r}; rename all but one")
            known.setdefault(name, one)
    return known


@lru_cache(maxsize=100)
def _numbered(row: tuple[str, ...], relevant: tuple[str, ...], known: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    """Columns such as `page_2` or `page.1`, each with the column of judgments whose name it has with a number."""
    read_as = dict(known)
    names = {read_as.get(name, name): name for name in row} if relevant else {}
    judging = {_folded(names[name]): names[name] for name in relevant if name in names}
    judging = judging or {_folded(names[name]): names[name] for name in (*SOURCE, *PAGE) if name in names}
    numbers = {name: NUMBERED.fullmatch(_folded(name)) for name in row}
    return {name: judging[number[1]] for name, number in numbers.items() if number and number[1] in judging}


def with_columns(rows: Iterable[tuple[str, Entry]], names: Iterable[str]) -> Iterator[tuple[str, Entry]]:
    """Rows, each with its place, in which columns with these names have them also where they are spelled otherwise."""
    groups = tuple((name,) for name in dict.fromkeys(names))
    return ((where, with_known_names(row, (), groups, where)) for where, row in rows)


def column_in(names: Iterable[str], known: Iterable[str]) -> str | None:
    """The name that is one of the known ones, as it is or in another spelling; of several, that of the first known."""
    by_spelling = {_folded(name): name for name in names}
    return next((by_spelling[name] for name in map(_folded, known) if name in by_spelling), None)


@lru_cache(maxsize=100)
def _spellings(names: tuple[str, ...]) -> Mapping[str, str]:
    """The known names by their spelling with underscores and small letters."""
    further = {folded: name for folded, name in FURTHER.items() if name in names}
    return further | {_folded(name): name for name in reversed(names)}


def _loosely(folded: str, same: Mapping[str, str]) -> str | None:
    """The known name of pages or a document in a longer name."""
    bare = OF_JUDGMENTS.sub("", folded, count=1) if OF_JUDGMENTS.match(folded) else ""
    bare = bare or (folded if folded.startswith("page") else "")
    return same.get(bare) or same.get(bare.removesuffix("s"))


@lru_cache(maxsize=1000)
def _folded(name: str) -> str:
    return SEPARATORS.sub("_", name.strip().strip(" .?:")).lower()
