"""Which column of a table is what: the documented names, unless settings name others. Nothing is guessed.

What other programs call a column is only suggested, in the message that refuses a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, ClassVar, Literal

from ragsweep.core.errors import DatasetError
from ragsweep.core.limits import Text
from ragsweep.core.project import typed
from ragsweep.datasets.readers.fields import (
    QUERY_TYPE,
    ROW_NUMBERS,
    Entry,
    grades_in,
    key_in,
    keys_in,
    listed,
    whole_grade,
    whole_number,
)

ALL_RELEVANT = "none"  # as the column of the grades
NONE_LIKELY = "COLUMN"
SHOWN_COLUMNS = 12
FIELDS_SHOWN = 10
# What other programs call these columns, in small letters with underscores: suggested, never read.
LIKELY: Mapping[str, str] = {
    "query": "query question user_input input prompt text",
    "question": "question query input text",
    "relevant": "relevant_docs expected_docs gold_docs retrieval_gt relevant_[!p]* acceptable_*",
    "references": "references reference_contexts context contexts evidence highlights",
    "document": "document source file doc doc_id corpus_id docno *file* *doc* *source*",
    "page": "page page_n* *page *_pages",
    "grade": "grade score relevance rel label relevant is_relevant relevancy",
    "id": "id _id query_id qid question_id *id",
    "text": "text content contents body page_content passage context",
}
GRADE_LIKE = (
    "rel gain verdict is_gold is_*rel* qrel* *score* *grade* *relevan* *label* *rating* *correct *judg*".split()
)
SCHEMA = "query, and relevant_docs or references (docs/recipes.md has recipes for files of other programs)"
NUMBERED = re.compile("(.*?)_?[1-9][0-9]?")  # page_2; no year, nor an index from 0
SEPARATORS = re.compile(r"[\s.-]+")


def likely_columns(names: Iterable[str], wanted: Mapping[str, str]) -> dict[str, str]:
    """The likeliest columns for a message, each by its setting, for settings with the names that they have now.

    Those without a likely column are left out.
    """
    left = {folded(name): name for name in names}
    likely: dict[str, str] = {}
    for setting, column in wanted.items():
        patterns = (folded(column), *LIKELY.get(setting, "").split())
        if likeliest := next((name for pattern in patterns for name in left if fnmatchcase(name, pattern)), None):
            likely[setting] = left.pop(likeliest)
    return likely


def folded(name: str) -> str:
    """A name in small letters, with underscores between its words."""
    return SEPARATORS.sub("_", name.strip().strip(" .?:")).lower()


def pasted(columns: Mapping[str, str | Sequence[str] | None]) -> str:
    """Settings that name columns of the questions, as they are typed in a shell."""
    return " ".join(typed(f"questions.{setting}", name) if name else f"questions.{setting}=null"
                    for setting, name in columns.items())  # fmt: skip


def expect_columns(row: Iterable[str], columns: Mapping[str, str | None], where: str, group: str) -> None:
    """Raise `DatasetError` with the settings of a group to paste, unless a row has these columns, by their settings."""
    missing = {setting: name for setting, name in columns.items() if name is not None and name not in row}
    if missing:
        likely = likely_columns((name for name in row if name not in columns.values()), missing)
        paste = " ".join(typed(f"{group}.{setting}", likely.get(setting, NONE_LIKELY)) for setting in missing)
        raise DatasetError(f"{without_columns(row, missing.values(), where)}; name others, such as {paste}")


def without_columns(row: Iterable[str], missing: Iterable[str], where: str) -> str:
    """Says which columns a table lacks, and which it has."""
    return f"{where}: has no column {', '.join(map(repr, missing))}; found {listed(row, SHOWN_COLUMNS)}"


def with_nested(rows: Iterable[tuple[str, Entry]], names: Iterable[str]) -> Iterator[tuple[str, Entry]]:
    """Rows that also have these columns, whose names reach into objects: `metadata.source`."""
    dotted = [name for name in names if "." in name]
    for where, row in rows:
        for name in dotted:
            value: Any = row
            for part in name.split("."):
                value = value.get(part) if isinstance(value, dict) else None
            if name not in row and value is not None:
                row = {**row, name: value}  # noqa: PLW2901
        yield where, row


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns of a table of questions that judge pages or documents. All others become fields of the questions.

    A row has its judgments in the column `relevant`. If `document` or `page` is named, it has one judgment, or one for
    each page of a list in `page`; nobody can tell these from other columns that are called so, so they are never read
    unless they are named. Then `grade` is the column of its grade, or `none`: all are relevant.

    Names with dots reach into objects: `metadata.source`.

    Attributes:
        relevant: A list like `["34", "manual.pdf#35"]`, or grades like `{"34": 2}`; in CSV as JSON, or the text
            `34; manual.pdf#35`. None reads no judgments.
        document, page, grade: Of the judgment in a row.
        id: Of the question. Questions without this column are numbered from 1.
        answerable: False if the documents do not answer the question. It has no judgments then.
        grades: The grades that words stand for, such as `{yes: 1, no: 0}`; None expects whole numbers.
        first_page: The number by which the table names the first page of a document: 1, or 0 as LangChain counts.
        fields: Columns that are fields of the questions although they look like a judgment.
    """

    GROUP: ClassVar[str] = "questions"  # of the settings
    COLUMNS: ClassVar[tuple[str, ...]] = ("relevant", "document", "page", "grade", "id", "answerable")
    OPTIONAL: ClassVar[tuple[str, ...]] = ("id", "answerable")  # their usual names need not be there

    relevant: Text | None = "relevant_docs"
    document: Text | None = None
    page: Text | None = None
    grade: Text | None = None
    id: Text | None = "id"
    answerable: Text | None = "answerable"
    grades: Mapping[str, int] | None = None
    first_page: Literal[0, 1] = 1
    fields: Sequence[Text] = ()

    @property
    def without_effect(self) -> Sequence[str]:
        """Those that name nothing."""
        unset = [name for name in ("document", "page", "grade", "grades", "fields") if not getattr(self, name)]
        return [*unset, *(["first_page"] if self.first_page else [])]

    @property
    def named(self) -> dict[str, str]:
        """The columns, each by its setting."""
        columns = {setting: getattr(self, setting) for setting in self.COLUMNS}
        lists = {setting: [value] if isinstance(value, str) else value or () for setting, value in columns.items()}
        return {
            setting if isinstance(columns[setting], str) else f"{setting} {number}": name
            for setting, names in lists.items()
            for number, name in enumerate(names, start=1)
            if (setting, name) != ("grade", ALL_RELEVANT)
        }

    @property
    def judging(self) -> list[str]:
        """The columns that hold keys of pages or documents."""
        return [name for name in (self.relevant, self.document, self.page) if name]

    @property
    def is_by_row(self) -> bool:
        """Whether each row has one judgment, in columns of its own."""
        return bool(self.document or self.page)

    def judged_in(self, row: Entry, where: str, *, in_text: bool) -> dict[str, int]:
        """The grades of a row, by the keys of pages or documents.

        Args:
            row: Values by column.
            where: Its place, for error messages.
            in_text: Whether a text may be a list: JSON, or keys between semicolons, as in CSV.

        Raises:
            DatasetError: They cannot be read, or a judgment is not complete.
        """
        if self.is_by_row:
            keys = self._keys_of_columns(row, where, in_text=in_text)
        elif self.relevant not in row:
            return {}
        else:
            place, value = f"{where}: the field {self.relevant!r}", row[self.relevant]
            if self.grade is None:
                grades = grades_in(value, place, self._grade_in, in_text=in_text)
                return {self._counted(key, where): grade for key, grade in grades.items()}
            keys = [self._counted(key, where) for key in keys_in(value, place, in_text=in_text)]
        if not keys or self.grade == ALL_RELEVANT:
            return dict.fromkeys(keys, 1)
        return dict.fromkeys(keys, self._grade_in(row.get(str(self.grade)), f"{where}: the field {self.grade!r}"))

    def _grade_in(self, value: object, where: str) -> int:
        """The grade that a value is, or that a word stands for."""
        if not self.grades:
            return whole_grade(value, where, f"'{self.GROUP}.grades={{yes: 1, no: 0}}'")
        words = {str(word).strip().casefold(): grade for word, grade in self.grades.items()}
        if (word := str(value).strip().casefold()) in words:
            return words[word]
        raise DatasetError(f"{where}: the grade is {str(value)[:80]!r}; expected one of {listed(words)}")

    def _keys_of_columns(self, row: Entry, where: str, *, in_text: bool) -> list[str]:
        source = key_in(row.get(self.document), f"{where}: the field {self.document!r}") if self.document else ""
        pages = keys_in(row.get(self.page), f"{where}: the field {self.page!r}", in_text=in_text) if self.page else []
        if self.document and not source:
            raise DatasetError(f"{where}: the field {self.document!r} is blank; expected the document of the judgment")
        if self.page and source and not pages:
            raise DatasetError(f"{where}: the field {self.page!r} is blank; expected a page of {source!r}")
        pages = [self._counted(page, where) for page in pages]
        return [f"{source}#{page}" if source else page for page in pages] if self.page else [f"{source}#"]

    def _counted(self, key: str, where: str) -> str:
        """A key, whose page is counted from 1."""
        if self.first_page == 1:
            return key
        source, mark, page = key.rpartition("#")
        if (number := whole_number(page)) is None or number < 0:
            raise DatasetError(f"{where}: found the page {page[:80]!r}; expected a number, as first_page is 0")
        return f"{source}{mark}{number + 1}"

    def read_as(self, columns: Iterable[str]) -> str:
        """What is read as what: `read as: query=Question, page=Seite; fields: author`."""
        columns = [*dict.fromkeys(columns)]
        names = [f"{setting.partition(' ')[0]}={name}" for setting, name in self.named.items() if name in columns]
        names += [f"grade={ALL_RELEVANT}"] if self.grade == ALL_RELEVANT else []
        names += [f"first_page={self.first_page}"] if self.first_page == 0 else []
        objects = {name.partition(".")[0] for name in self.named.values() if "." in name}
        further = [name for name in columns if name not in (*self.named.values(), *objects)
                  and not ROW_NUMBERS.fullmatch(name)]  # fmt: skip
        more = f" and {len(further) - FIELDS_SHOWN} more" if len(further) > FIELDS_SHOWN else ""
        fields = f"; fields: {', '.join(further[:FIELDS_SHOWN])}{more}" if further else ""
        rest = f"; not read: the rest of {listed(objects)}" if objects else ""
        return f"read as: {', '.join(names)}{fields}{rest}"


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

    def unjudged(self, columns: Mapping[str, object], where: str) -> str:
        """Why a table has no judgments; empty if it has some.

        Args:
            columns: Its columns, each with its first value.
            where: Its first row, for error messages.

        Raises:
            DatasetError: A column is missing, or nobody can tell what one of them means.
        """
        is_by_row = bool(self.page or (self.document and (self.grade or self.relevant)))  # else of references
        is_judged = is_by_row or self.relevant in columns or self.references in columns
        usual = {setting: getattr(QuestionColumns, setting) for setting in self.OPTIONAL}
        absent = {setting: name for setting, name in self.named.items() if name not in columns}
        missing = {setting: name for setting, name in absent.items() if name != usual.get(setting)}
        if is_judged and not missing:
            self._expect_one_meaning(columns, where)
            return ""
        if not missing and self.relevant is self.references is None:
            return f"{where.rpartition(', ')[0]}: no judgments are read"
        judging = {"relevant": self.relevant} if self.relevant else {"references": str(self.references)}
        wanted = missing if is_judged else {**missing, **judging}
        lacking, likely = without_columns(columns, wanted.values(), where), self._likely(columns, wanted)
        problem = f"{lacking}; expected {SCHEMA}, or other names by settings, such as {likely}"
        if missing:
            raise DatasetError(problem)
        return problem

    def _likely(self, columns: Mapping[str, object], wanted: Mapping[str, str]) -> str:
        """The settings that would name the likeliest columns; of grades by row, only the user knows the column."""
        left = [name for name in columns if name not in self.named.values()]
        plain = {setting: name for setting, name in wanted.items() if setting not in ("relevant", "references")}
        likely = likely_columns(left, plain)
        shown: dict[str, str | None] = {setting: likely.get(setting, NONE_LIKELY) for setting in plain}
        if len(plain) == len(wanted):
            if shown.get("document") == NONE_LIKELY and self.references in columns:
                shown["document"] = None
            return pasted(shown)
        left = [name for name in left if name not in likely.values()]
        kinds = {setting: wanted.get(setting, setting) for setting in ("relevant", "references", "document", "page")}
        judging = likely_columns(left, kinds)
        if "relevant" in judging:
            return pasted({**shown, "relevant": judging["relevant"]})
        if "references" in judging and "page" not in judging:
            return pasted({**shown, **judging})
        judging.pop("references", None)
        if not judging:
            return pasted({**shown, "relevant": NONE_LIKELY})
        return pasted({**shown, **judging}) + ("" if self.grade else f", with {self._grade_of_rows(left)}")

    def _grade_of_rows(self, columns: Iterable[str]) -> str:
        """Says how the grade of judgments by row is named."""
        left = [name for name in columns if name not in self.named.values()]
        likely = likely_columns(left, {"grade": "grade"}).get("grade", NONE_LIKELY)
        grade, none = pasted({"grade": likely}), pasted({"grade": ALL_RELEVANT})
        return f"{grade} if that is the grade of the judgment in a row, or {none} if all of them are relevant"

    def _expect_one_meaning(self, columns: Iterable[str], where: str) -> None:
        """Raise `DatasetError` if columns of several kinds judge, or one that is not read could."""
        columns = [*columns]
        has_references = self.references in columns
        of_row = ("page", "grade") if has_references else ("document", "page")
        by_row = [setting for setting in of_row if getattr(self, setting)]
        kinds = [setting for setting in ("relevant", "references") if getattr(self, setting) in columns
                 and getattr(self, setting) not in (self.document, self.page)]  # fmt: skip
        if kinds and len([*kinds, *by_row]) > 1:
            names = ", ".join(f"{setting}={getattr(self, setting)}" for setting in (*kinds, *by_row))
            first = pasted({kinds[0]: None})
            raise DatasetError(f"{where}: judgments are in {names}; expected one kind of them, as by {first}")
        if by_row and self.grade is None:
            raise DatasetError(f"{where}: each row is a judgment; set {self._grade_of_rows(columns)}")
        if has_references:
            return
        unread = {name: folded(name) for name in columns if name not in {*self.named.values(), *self.fields}}
        judging = {folded(name) for name in (*self.judging, str(self.grade))}
        grades = [name for name, plain in unread.items() if any(fnmatchcase(plain, like) for like in GRADE_LIKE)]
        further = [name for name, plain in unread.items() if (mark := NUMBERED.fullmatch(plain)) and mark[1] in judging]
        if unclear := grades or further:
            is_free = grades and self.grade in (None, ALL_RELEVANT)
            taken = f"{pasted({'grade': grades[0]})} takes it, " if is_free else ""
            taken = taken if grades else "expected each in a row of its own, or a list of them; "
            meaning = "a grade" if grades else "a further judgment"
            none = pasted({"fields": [*self.fields, *unclear]})
            raise DatasetError(f"{where}: {listed(unclear)} could be {meaning}; {taken}{none} says that it is none")
