"""A table of what nobody judged: written for people to fill in, and read back as judgments."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ragsweep.core.arrays import Indices
from ragsweep.core.csv_files import as_it_was, as_text
from ragsweep.core.digest import digest
from ragsweep.core.errors import DatasetError
from ragsweep.core.terminal import counted, one_line, printable
from ragsweep.datasets import Collection, Dataset, Judgment, Qrels
from ragsweep.datasets.readers.delimited_rows import Entry, rows_of
from ragsweep.datasets.readers.entry_files import lines_of
from ragsweep.datasets.readers.fields import grade_of
from ragsweep.tasks.ranking.units import units_of_ranking
from ragsweep.text.normalisation import Spellings
from ragsweep_audit.findings.unjudged import TOP_RANKS, agreed
from ragsweep_audit.review_page import write_page

LONGEST_CELL = 5000  # characters of a text; a cell of a spreadsheet takes 32,767
VERDICTS = {"yes": True, "y": True, "no": False, "n": False}


class Row(NamedTuple):
    """A unit to judge for a query; the fields are the columns of the table.

    Attributes:
        query_id: Id of the query.
        query: Its text.
        unit: The unit.
        text: Its passage that a retriever ranks highest.
        ranks: The rank of the unit by each retriever.
        relevant: To be filled in: yes, no, or a grade.
    """

    query_id: str
    query: str
    unit: str
    text: str
    ranks: str
    relevant: str = ""


COLUMNS = Row._fields


class Verdicts(NamedTuple):
    """What a filled-in table says.

    Attributes:
        judgments: Those that the dataset does not have yet.
        relevant: How many rows say that the unit is relevant.
        irrelevant: How many say that it is not.
        open: How many are not filled in.
    """

    judgments: tuple[Judgment, ...]
    relevant: int
    irrelevant: int
    open: int


@dataclass(frozen=True)
class ToReview:
    """What nobody judged and all retrievers rank at the top.

    Attributes:
        dataset: Name of the dataset.
        rows: What is to be judged, the best units of a query first.
        judgments: The same as judgments that call all of them relevant.
        sentence: How much it is.
    """

    dataset: str
    rows: Sequence[Row]
    judgments: Sequence[Judgment]
    sentence: str

    def write(self, path: Path) -> None:
        """Write a new file for people to fill in: a page if its name ends in `.html`, otherwise a table."""
        if path.suffix.lower() == ".html":
            write_page(path, self.dataset, self.rows)
        else:
            write_table(path, self.rows)


def to_review(
    items: Dataset, rankings: Mapping[str, Indices], relevance_level: int = 1, depth: int = TOP_RANKS
) -> ToReview:
    """The units that all rankings have among the first `depth` and that nobody judged.

    Args:
        items: Has the judgments.
        rankings: Passages as `unlike_rankings` returns them.
        relevance_level: The lowest grade that counts as relevant.
        depth: How far down to look, at most 10.
    """
    units = {name: units_of_ranking(passages, items) for name, passages in rankings.items()}
    found = agreed(items, units, relevance_level).unjudged(depth)
    rows = [
        Row(
            items.queries[query].query_id,
            one_line(items.queries[query].text),
            items.units[unit],
            printable(_best_passage(items, rankings, units, query, unit))[:LONGEST_CELL],
            ", ".join(f"{name} {rank}" for name, rank in zip(rankings, ranks, strict=True)),
        )
        for query, unit, ranks in zip(found.query.tolist(), found.unit.tolist(), found.ranks.tolist(), strict=True)
    ]
    grade = max(1, relevance_level)
    return ToReview(
        items.name,
        rows,
        [Judgment(row.query_id, row.unit, grade) for row in rows],
        f"Not judged, although all of {len(rankings)} unlike retrievers rank them among the first {depth}: "
        f"{counted(len(rows), items.unit)} for {counted(len(set(found.query.tolist())), 'query')}.",
    )


def _best_passage(
    items: Dataset, rankings: Mapping[str, Indices], units: Mapping[str, Indices], query: int, unit: int
) -> str:
    """The text of the passage with the best rank in any ranking that stands for the unit."""
    _, passage = min(
        (int(place), int(rankings[name][query, place]))
        for name, its in units.items()
        for place in np.flatnonzero(its[query] == unit)[:1]
    )
    return items.passages[passage].text


def write_table(path: Path, rows: Sequence[Row]) -> None:
    """Write the table as CSV that spreadsheets read: with a byte order mark, and without formulas."""
    with path.open("x", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([as_text(cell) for cell in row] for row in rows)


def read_review(path: Path, collection: Collection, relevance_level: int) -> Verdicts:
    """The judgments in a table that people have filled in, as far as they have.

    `yes` becomes grade 1 or, if that is higher, the relevance level; `no` becomes grade 0.

    Raises:
        DatasetError: The file is no such table, or a row names an unknown query or unit, says something else, or
            contradicts an earlier row or a judgment.
    """
    queries = Spellings(query.query_id for query in collection.queries)
    of_pages = (page.unit for document in collection.documents for page in document.pages)
    units = Spellings(chain(of_pages, (judgment.unit for judgment in collection.judgments)))
    known = {(judgment.query_id, judgment.unit): judgment.grade for judgment in collection.judgments}
    earlier: dict[tuple[str, str], tuple[int, str]] = {}
    counts = {"relevant": 0, "irrelevant": 0, "open": 0}
    for where, row in _rows(path):
        grade = _grade(row["relevant"], where, relevance_level)
        if grade is None:
            counts["open"] += 1
            continue
        counts["relevant" if grade >= relevance_level else "irrelevant"] += 1
        asked, unit = (as_it_was(str(row[name])).strip() for name in ("query_id", "unit"))
        pair = queries.of(asked), units.of(unit)
        for column, name, names in (("query_id", pair[0], queries), ("unit", pair[1], units)):
            if name not in names:
                raise DatasetError(f"{where}, column {column}: {name[:80]!r} is not in {collection.name}")
        if known.get(pair, grade) != grade:
            raise DatasetError(
                f"{where}: {pair[1]!r} has the grade {known[pair]} for query {pair[0]!r} already; found {grade}"
            )
        first, place = earlier.setdefault(pair, (grade, where))
        if first != grade:
            raise DatasetError(f"{where}, column relevant: found grade {grade}, but {first} in {place}; expected one")
    judgments = tuple(Judgment(*pair, grade) for pair, (grade, _) in earlier.items() if pair not in known)
    return Verdicts(judgments, **counts)


def _rows(path: Path) -> Iterator[tuple[str, Entry]]:
    """The rows of a table with commas or, as spreadsheets write it in some countries, with semicolons."""
    lines = lines_of(path, "--apply", "judgments")
    head = next(lines, (1, ""))
    delimiter = max(",;", key=head[1].count)
    yield from rows_of(path, chain([head], lines), delimiter, ("query_id", "unit", "relevant"))


def _grade(cell: object, where: str, relevance_level: int) -> int | None:
    """The grade in a cell; None if it is empty."""
    text = as_it_was(str(cell or "")).strip().lower()
    if not text:
        return None
    if text in VERDICTS:
        return max(1, relevance_level) if VERDICTS[text] else 0
    if (grade := grade_of(text)) is None:
        raise DatasetError(
            f"{where}, column relevant: found {text[:40]!r}, expected yes, no, a grade such as 2, or nothing"
        )
    return grade


def judged_also(items: Dataset, judgments: Iterable[Judgment]) -> Dataset:
    """The dataset with further judgments of the queries that have some, and of the units that it knows."""
    qrels = items.qrels
    judged = set(qrels.query.tolist())
    queries = {query.query_id: row for row, query in enumerate(items.queries) if row in judged}
    units = {unit: position for position, unit in enumerate(items.units)}
    further = [
        (queries[each.query_id], units[each.unit], each.grade)
        for each in judgments
        if each.query_id in queries and each.unit in units
    ]
    columns = np.array(further, dtype=np.int64).reshape(-1, 3).T
    return replace(
        items,
        digest=digest([items.digest, *sorted(further)]),
        qrels=Qrels(*map(np.concatenate, zip((qrels.query, qrels.unit, qrels.grade), columns, strict=True))),
    )
