"""A question of a table, and what its rows say of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from ragsweep.core.errors import DatasetError
from ragsweep.core.terminal import counted, say_once, verb
from ragsweep.datasets.model.collection import Judgment, Query
from ragsweep.datasets.readers.delimited_rows import Entry
from ragsweep.datasets.readers.entry_files import ANSWERABLE
from ragsweep.datasets.readers.fields import listed
from ragsweep.datasets.readers.judgment_fields import PAGE, SOURCE, document_of_row, grade_columns

NOT_RELEVANT = {
    *("0", "0.0", "false", "falsch", "faux", "falso", "no", "n", "nein", "non", "não"),
    *("irrelevant", "not relevant", "reject", "rejected", "incorrect", "wrong", "✗", "✘", "❌"),
}
ARE_RELEVANT = {
    *("1", "1.0", "true", "wahr", "vrai", "verdadero", "vero", "yes", "y", "ja", "oui", "sí", "si", "sì", "sim"),
    *("relevant", "accept", "accepted", "correct", "right", "x", "✓", "✔", "✅"),
}
LIKE_GRADES = {*NOT_RELEVANT, *ARE_RELEVANT, "2", "2.0", "3", "3.0"}
# What people write between ids, or around a range of pages.
JOINED = re.compile(r"[,|\n\u3001\uff0c]|#[0-9]+ ?[\u2010-\u2015-] ?[0-9]+$")


@dataclass
class RowsOfQuestion:
    """A question and what its rows say of it.

    Attributes:
        query: The question, with the fields of its first row.
        where: The place of its first row.
        grades: The judgments of all rows.
        rows: How many these are.
        faulty: Whether a row cannot be used.
    """

    query: Query
    where: str
    grades: dict[str, int] = field(default_factory=dict)
    rows: int = 0
    faulty: bool = False

    def add(self, query: Query, grades: Mapping[str, int], where: str) -> dict[str, None]:
        """Add the judgments of a row. Returns the fields of the row that differ from those of the first."""
        if self.query.text != query.text:
            found = f"the id {query.query_id!r} is in the file twice, first in {self.where}, with another text"
            raise DatasetError(f"{where}: {found}; expected one question for an id")
        if self.query.query_type != query.query_type:
            found = f"the question has the type {query.query_type!r}, but {self.query.query_type!r}"
            raise DatasetError(f"{where}: {found} in {self.where}; expected one")
        if self.query.answerable != query.answerable or (max(grades.values(), default=0) > 0 and not query.answerable):
            found = f"{ANSWERABLE} is false, but there is something relevant, or another row differs"
            raise DatasetError(f"{where}: {found}")
        for unit, grade in grades.items() if query.answerable else ():
            if self.grades.setdefault(unit, grade) != grade:
                found = f"{unit[:80]!r} has the grades {self.grades[unit]} and {grade} for the same question"
                raise DatasetError(f"{where}: {found}; expected one")
        if self.query.fields == query.fields:
            return {}
        first, further = dict(self.query.fields), dict(query.fields)
        return dict.fromkeys(name for name in {**first, **further} if first.get(name) != further.get(name))

    def expect_its_document(self, judgments: Iterable[Judgment], sources: Set[str]) -> None:
        """Raise `DatasetError` if a field names another document than that of the only page with a judged number.

        Only a name with an ending: a document `3` or `A` may be a level or an option elsewhere.
        """
        found = {judgment.unit.rpartition("#")[0] for judgment in judgments} & sources
        for name, value in self.query.fields if not any("#" in key for key in self.grades) else ():
            if found and value in sources and value not in found and PurePosixPath(value).suffix:
                key, its = next(iter(self.grades)), min(found)
                said = f"page {key!r} is that of {its}, but {name!r} is {value!r}"
                raise DatasetError(f"{self.where}: {said}; call that column 'source', or write {f'{its}#{key}'!r}")


def expect_document(grades: Iterable[str], row: Entry, where: str) -> None:
    """Raise `DatasetError` for a page without its document, as merged cells of a spreadsheet leave it."""
    if not document_of_row(row) and not all("#" in key for key in grades):
        raise DatasetError(f"{where}: the row has a page without its document, which other rows name")


@dataclass
class Noticed:
    """What is noticed while the rows of a table are read, and said when all are.

    Attributes:
        blank: The places of rows without a grade, where others have one.
        ungraded: How many rows have a grade that is not read.
        alternatives: How many rows have several judgments in a list within a list.
        differing: The fields that differ between the rows of a question.
        judging: The columns that make judgments of documents, where there is none for judgments.
    """

    blank: Set[str]
    ungraded: int = 0
    alternatives: int = 0
    differing: dict[str, None] = field(default_factory=dict)
    judging: dict[str, None] = field(default_factory=dict)

    def say(
        self,
        path: str,
        rows: Sequence[Mapping[str, object]],
        questions: Collection[RowsOfQuestion],
        names: Mapping[str, str],
        other: str,
    ) -> None:
        """Print it; `names` of columns in the file are by the known ones, and `other` says how to take others."""
        read = sum(each.rows for each in questions)
        several = f"{counted(self.ungraded, 'row')} with several judgments, or with grades among them"
        for is_so, what in (
            # A column `source` can also say where a question comes from.
            (self.judging, f"judgments are taken from {listed(names.get(each, each) for each in self.judging)}{other}"),
            (read > len(questions), f"{read:,} rows are {counted(len(questions), 'question')}, some with several rows"),
            (self.ungraded, f"the grade in a column of its own is not read for {several}"),
            (
                self.alternatives,
                f"each id in a list within a list is relevant by itself, in {counted(self.alternatives, 'row')}: "
                "recall needs all of them, where to AutoRAG any one is enough",
            ),
            (self.blank, f"no judgment: {counted(len(self.blank), 'row')} without a grade, where others have one"),
            (self.differing, _left_out(self.differing, rows, questions)),
        ):
            if is_so:
                say_once(f"{path}: {what}")


def expect_no_grade(
    path: str, rows: Sequence[Mapping[str, object]], differing: Collection[str], questions: Collection[RowsOfQuestion]
) -> None:
    """Raise `DatasetError` if a field that differs between the rows of a question looks like the grade of each.

    Left out, it would leave all judgments relevant, also those of which it says that they are not. Where some rows have
    nothing, and all others the same mark, nothing says that they are not. With one judgment a question, it may as well
    be of the question: then it is said that it is no grade.
    """
    if any(map(grade_columns, rows)):
        return
    unread = list[str]()
    known = {ANSWERABLE, *SOURCE, *PAGE}
    fields = dict.fromkeys([*differing, *(name for each in questions for name, _ in each.query.fields)])
    for name in [each for each in fields if each not in known]:
        texts = {_label(row.get(name)) for row in rows}
        given = texts - {""}
        is_mark = texts != given and len(given) == 1 and given <= ARE_RELEVANT
        if not is_mark and not (given & NOT_RELEVANT and given - NOT_RELEVANT and given <= LIKE_GRADES):
            continue
        if name in differing:
            found = f"the column {name!r} has {', '.join(sorted(given))}{' or nothing' * is_mark}"
            problem = "which differ between the rows of a question"
            expected = "call it 'grade', with whole numbers, if it is one, or leave it out"
            raise DatasetError(f"{path}: {found}, {problem}: {expected}")
        unread.append(name)
    if unread and all(len(each.grades) <= 1 for each in questions):
        columns = f"the column{'s' * (len(unread) > 1)} {listed(unread)} {verb(len(unread), 'are')}"
        say_once(f"{path}: {columns} not read as a grade; if one is, call it 'grade', with whole numbers")


def say_if_joined(path: str, questions: Iterable[RowsOfQuestion]) -> None:
    """Print that an id is one that could be several: where no documents are known, none is refused."""
    if found := [key for each in questions for key in each.grades if JOINED.search(key)]:
        such = f"{counted(len(found), 'judgment')} such as {found[0][:80]!r}: each is one id"
        say_once(f"{path}: {such}; where several are meant, write semicolons between them")


def _left_out(
    differing: Iterable[str], rows: Sequence[Mapping[str, object]], questions: Iterable[RowsOfQuestion]
) -> str:
    """What is said of the fields that differ between the rows of a question: any of them could be of its judgment."""
    said = f"fields that differ between the rows of a question, left out: {listed(differing)}"
    grades = {grade for each in questions for grade in each.grades.values()}
    is_so = grades == {1} and not any(map(grade_columns, rows))
    return f"{said}; without a column 'grade', every row counts as relevant" if is_so else said


def _label(value: object) -> str:
    """A value in small letters; of a list of one value, that one, as tools write what an annotator chose."""
    value = value[0] if isinstance(value, list) and len(value) == 1 else value
    return "" if value is None else str(value).strip().lower()
