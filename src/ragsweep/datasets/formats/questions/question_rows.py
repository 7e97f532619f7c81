"""A question of a table, and what its rows say of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ragsweep.core.errors import DatasetError
from ragsweep.core.terminal import say_once
from ragsweep.datasets.model.collection import Query
from ragsweep.datasets.readers.entry_files import ANSWERABLE
from ragsweep.datasets.readers.judgment_fields import grade_columns

NOT_RELEVANT = {"0", "0.0", "false", "no", "irrelevant", "not relevant"}
LIKE_GRADES = {
    *NOT_RELEVANT,
    *(f"{grade}{end}" for grade in (1, 2, 3) for end in ("", ".0")),
    "true",
    "yes",
    "relevant",
}


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


def expect_no_grade(
    path: str, rows: Sequence[Mapping[str, object]], differing: Collection[str], questions: Collection[RowsOfQuestion]
) -> None:
    """Raise `DatasetError` if a field that differs between the rows of a question looks like the grade of each.

    Left out, it would leave all judgments relevant, also those of which it says that they are not. With one judgment a
    question, it may as well be of the question: then it is said that it is no grade.
    """
    if any(map(grade_columns, rows)):
        return
    is_of_one = all(len(each.grades) <= 1 for each in questions)
    for name in dict.fromkeys([*differing, *(name for each in questions for name, _ in each.query.fields)]):
        texts = {str(row[name]).strip().lower() for row in rows if row.get(name) not in (None, "")}
        if texts & NOT_RELEVANT and texts - NOT_RELEVANT and texts <= LIKE_GRADES:
            found = f"the column {name!r} has {', '.join(sorted(texts))}"
            if name in differing:
                found += ", which differ between the rows of a question"
                expected = "call it 'grade', with whole numbers, if it is one, or leave it out"
                raise DatasetError(f"{path}: {found}: {expected}")
            if is_of_one:
                say_once(f"{path}: {found} and is not read as a grade: call it 'grade', in whole numbers, if it is one")
