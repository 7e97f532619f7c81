"""The columns of a table of questions, and what is refused because nobody can tell what a column means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from ragsweep.core.errors import DatasetError
from ragsweep.core.limits import Text
from ragsweep.datasets.model.pages import Settings
from ragsweep.datasets.readers.columns import (
    ALL_RELEVANT,
    LIKELY,
    NONE_LIKELY,
    Columns,
    folded,
    likely_columns,
    without_columns,
)
from ragsweep.datasets.readers.fields import QUERY_TYPE, listed, whole

SCHEMA = "query, and relevant_docs or references (docs/data.md has recipes for files of other programs)"
LIKE_GRADES = {*LIKELY["grade"]}
NUMBERED = re.compile("(.*?)_?[1-9][0-9]?")  # page_2; no year, nor an index from 0

Named = dict[str, str | list[str] | None]  # columns by settings, as a message shows them


@dataclass(frozen=True, kw_only=True)
class QuestionColumns(Columns):
    """Which column of a table of questions is what. All others become fields of the questions.

    Attributes:
        query: The column of the question.
        references: Spans of text: a list of texts or of `{document, start, end, text}`; `document` then names the
            column of the document of all references in a row. None reads no references.
        type: The column of the types by which results are broken down; None if there is none.
        group: The column of the groups of questions that depend on each other; None if there is none.
    """

    COLUMNS: ClassVar[tuple[str, ...]] = ("query", "relevant", "references", "document", "page", "grade", "id", "type",
                                          "group", "answerable")  # fmt: skip
    OPTIONAL: ClassVar[tuple[str, ...]] = ("relevant", "references", "id", "type", "group", "answerable")

    query: Text = "query"
    references: Text | None = "references"
    type: Text | None = QUERY_TYPE
    group: Text | None = "group"

    def unjudged(self, columns: Mapping[str, object], where: str, settings: Settings) -> str:
        """Why a table has no judgments; empty if it has some.

        Args:
            columns: Its columns, each with its first value.
            where: Its first row, for error messages.
            settings: Those that error messages name.

        Raises:
            DatasetError: A column is missing, or nobody can tell what one of them means.
        """
        is_by_row = bool(self.page or (self.document and (self.grade or self.relevant)))  # else of references
        is_judged = is_by_row or self.relevant in columns or self.references in columns
        absent = {what: name for what, name in self.named.items() if name not in columns}
        missing = {what: name for what, name in absent.items() if what not in self.OPTIONAL or self._is_set(what)}
        if not is_judged and not missing and self.relevant is self.references is None:
            return f"{where.rpartition(', ')[0]}: no judgments are read"
        if missing or not is_judged:
            judging = {"relevant": self.relevant} if self.relevant else {"references": str(self.references)}
            wanted = missing if is_judged else {**missing, **judging}
            likely = self._likely(columns, wanted)
            by_row = (
                "relevant" in wanted
                and "references" not in likely
                and likely.keys() & {"document", "page"}
                and self.grade is None
            )
            grade = f", with {self._grade_of_rows(columns, settings)}" if by_row else ""
            said = without_columns(columns, wanted.values(), where)
            said = f"{said}; expected {SCHEMA}, or other names by settings, such as {settings.typed(likely)}{grade}"
            if missing:
                raise DatasetError(said)
            return said
        self._expect_one_kind(columns, where, settings)
        if self.references not in columns:
            self._expect_no_other(columns, where, settings)
        return ""

    def _is_set(self, what: str) -> bool:
        """Whether a column has another name than usual."""
        return bool(getattr(self, what) != getattr(QuestionColumns, what))

    def _likely(self, row: Mapping[str, object], wanted: Mapping[str, str]) -> Named:
        """The settings that would name the likeliest columns, for a message; never that of the grade."""
        left = [name for name in row if name not in self.named.values()]
        plain = {what: name for what, name in wanted.items() if what not in ("relevant", "references")}
        likely = likely_columns(left, plain)
        shown: Named = {what: likely.get(what, NONE_LIKELY) for what in plain}
        if len(plain) == len(wanted):
            no_document = "document" in shown.keys() - likely.keys() and self.references in row
            return shown | ({"document": None} if no_document else {})
        left = [name for name in left if name not in likely.values() and not _is_length(name, row[name])]
        lists = likely_columns(left, {"relevant": str(self.relevant)}).get("relevant", NONE_LIKELY)
        usual = {what: what for what in ("references", "document", "page")}
        likely = likely_columns([name for name in left if name != lists], usual)
        if "page" in folded(lists) and "document" in likely:
            likely = {"document": likely["document"], "page": lists}
        elif lists != NONE_LIKELY and folded(lists) != "relevant":
            likely = {}
        if "references" in likely and "page" not in likely:
            return shown | {what: likely[what] for what in ("references", "document") if what in likely}
        by_row: Named = {what: likely[what] for what in ("document", "page") if what in likely}
        return shown | (by_row or {"relevant": lists})

    def _grade_of_rows(self, columns: Iterable[str], settings: Settings) -> str:
        """Says how the grade of judgments by row is named, where only the user knows which column it is."""
        left = [name for name in columns if name not in self.named.values()]
        likely = next((name for name in left if folded(name) in LIKE_GRADES), NONE_LIKELY)
        grade, none = settings.typed({"grade": likely}), settings.typed({"grade": ALL_RELEVANT})
        return f"{grade} if that is the grade of the judgment in a row, or {none} if all of them are relevant"

    def _expect_one_kind(self, columns: Iterable[str], where: str, settings: Settings) -> None:
        """Raise `DatasetError` if columns of several kinds judge, or the grade of rows is not named."""
        by_row = [what for what in ("document", "page") if getattr(self, what)]
        kinds = [what for what in ("relevant", "references") if getattr(self, what) in columns]
        kinds = [what for what in kinds if getattr(self, what) not in (self.document, self.page)]
        if "references" in kinds:
            by_row = [what for what in (*by_row, "grade") if what != "document" and getattr(self, what)]
        if kinds and len([*kinds, *by_row]) > 1:
            names = ", ".join(f"{what}={getattr(self, what)}" for what in (*kinds, *by_row))
            first = settings.typed({kinds[0]: None})
            raise DatasetError(f"{where}: judgments are in {names}; expected one kind of them, as by {first}")
        if by_row and self.grade is None:
            raise DatasetError(f"{where}: each row is a judgment; set {self._grade_of_rows(columns, settings)}")

    def _expect_no_other(self, columns: Iterable[str], where: str, settings: Settings) -> None:
        """Raise `DatasetError` if a column that is not read could be a grade, or a further judgment."""
        others = [name for name in columns if name not in {*self.named.values(), *self.fields}]
        if grades := [name for name in others if folded(name) in LIKE_GRADES]:
            taken = "" if self.grade else f"{settings.typed({'grade': grades[0]})} takes it, "
            no_grade = settings.typed({"fields": [*self.fields, *grades]})
            raise DatasetError(f"{where}: {listed(grades)} could be a grade; {taken}{no_grade} says that it is none")
        judging = {folded(str(getattr(self, what))) for what in ("relevant", "document", "page", "grade")}
        numbered = {name: NUMBERED.fullmatch(folded(name)) for name in others}
        if further := [name for name, number in numbered.items() if number and number[1] in judging]:
            found = f"{listed(further)} could be a further judgment, which is not read"
            expected = "expected each judgment in a row of its own, or a list of them"
            no_judgment = settings.typed({"fields": [*self.fields, *further]})
            raise DatasetError(f"{where}: {found}; {expected}; {no_judgment} says that it is none")


def _is_length(name: str, value: object) -> bool:
    """Whether a column could be how many pages a document has."""
    return folded(name) == "pages" and whole(value) is not None
