"""Which column of a table is what: the documented names, unless settings name others. Nothing is guessed.

What other programs call a column is only suggested, in the message that refuses a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, ClassVar, Literal

from ragsweep.core.errors import DatasetError
from ragsweep.core.limits import Text
from ragsweep.core.quoting import typed
from ragsweep.datasets.readers.delimited_rows import Entry
from ragsweep.datasets.readers.fields import listed
from ragsweep.datasets.readers.judgments import grades_in, key_in, keys_in, whole_grade

ALL_RELEVANT = "none"  # as the column of the grades
NONE_LIKELY = "COLUMN"
SHOWN_COLUMNS = 12
FIELDS_SHOWN = 10
# What other programs call these columns, in small letters with underscores: suggested, never read.
LIKELY: Mapping[str, tuple[str, ...]] = {
    "query": ("query", "question", "user_input", "input", "prompt", "text"),
    "question": ("question", "query", "input", "text"),
    "relevant": ("relevant_docs", "relevant_pages", "expected_docs", "gold_docs", "retrieval_gt", "relevant_*",
                 "acceptable_*", "relevant"),
    "references": ("references", "reference_contexts", "context", "contexts", "evidence", "highlights"),
    "document": ("document", "source", "file", "doc", "doc_id", "corpus_id", "docno", "*file*", "*doc*", "*source*"),
    "page": ("page", "page_number", "pages", "*page*"),
    "grade": ("grade", "score", "relevance", "rel", "label", "relevant", "is_relevant", "relevancy"),
    "id": ("id", "_id", "query_id", "qid", "question_id", "*id"),
    "text": ("text", "content", "contents", "body", "page_content", "passage", "context"),
}  # fmt: skip
SEPARATORS = re.compile(r"[\s.-]+")


def likely_columns(names: Iterable[str], wanted: Mapping[str, str]) -> dict[str, str]:
    """The likeliest columns for a message, each by its setting; settings without one are left out.

    Args:
        names: The columns of the table.
        wanted: The settings, each with the column that it names now.
    """
    left = {folded(name): name for name in names}
    likely: dict[str, str] = {}
    for what, column in wanted.items():
        patterns = (folded(column), *LIKELY.get(what, ()))
        found = next((name for pattern in patterns for name in left if fnmatchcase(name, pattern)), None)
        if found:
            likely[what] = left.pop(found)
    return likely


def expect_columns(row: Entry, columns: Mapping[str, str | None], where: str, group: str) -> None:
    """Raise `DatasetError` with the settings to paste, unless a row has these columns.

    Args:
        row: The row.
        columns: The columns, each by its setting; None is no column.
        where: The place of the row, for error messages.
        group: What stands before the names of the settings, such as `corpus`.
    """
    missing = {what: name for what, name in columns.items() if name is not None and name not in row}
    if missing:
        likely = likely_columns((name for name in row if name not in columns.values()), missing)
        paste = " ".join(typed(f"{group}.{what}", likely.get(what, NONE_LIKELY)) for what in missing)
        raise DatasetError(f"{without_columns(row, missing.values(), where)}; name others, such as {paste}")


def without_columns(row: Iterable[str], missing: Iterable[str], where: str) -> str:
    """Says which columns a table lacks, and which it has."""
    found = [repr(name[:80]) for name in row]
    more = f" and {len(found) - SHOWN_COLUMNS} more" if len(found) > SHOWN_COLUMNS else ""
    found_ones = f"found {', '.join(found[:SHOWN_COLUMNS]) or 'none'}{more}"
    return f"{where}: has no column {', '.join(map(repr, missing))}; {found_ones}"


def folded(name: str) -> str:
    """A name in small letters, with underscores between its words."""
    return SEPARATORS.sub("_", name.strip().strip(" .?:")).lower()


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
        grades: The grades that words stand for, such as `{yes: 1, no: 0}`; empty expects whole numbers.
        first_page: The number by which the table names the first page of a document: 1, or 0 as LangChain counts.
        fields: Columns that are fields of the questions although they look like a judgment.
    """

    COLUMNS: ClassVar[tuple[str, ...]] = ("relevant", "document", "page", "grade", "id", "answerable")
    OPTIONAL: ClassVar[tuple[str, ...]] = ("id", "answerable")  # their usual names need not be there

    relevant: Text | None = "relevant_docs"
    document: Text | None = None
    page: Text | None = None
    grade: Text | None = None
    id: Text | None = "id"
    answerable: Text | None = "answerable"
    grades: Mapping[str, int] = field(default_factory=dict)
    first_page: Literal[0, 1] = 1
    fields: Sequence[Text] = ()

    @property
    def without_effect(self) -> Sequence[str]:
        """Those that name nothing."""
        unset = [name for name in ("document", "page", "grade", "grades", "fields") if not getattr(self, name)]
        return unset if self.first_page == 0 else [*unset, "first_page"]

    @property
    def named(self) -> dict[str, str]:
        """The columns, each by its setting."""
        values = {what: getattr(self, what) for what in self.COLUMNS}
        return {
            what if isinstance(value, str) else f"{what} {number}": name
            for what, value in values.items()
            for number, name in enumerate([value] if isinstance(value, str) else value or (), start=1)
            if not (what == "grade" and name == ALL_RELEVANT)
        }

    @property
    def is_by_row(self) -> bool:
        """Whether each row has one judgment, in columns of its own."""
        return bool(self.document or self.page)

    def with_nested(self, rows: Iterable[tuple[str, Entry]]) -> Iterator[tuple[str, Entry]]:
        """Rows that also have the columns whose names reach into objects."""
        return with_nested(rows, self.named.values())

    def grade_in(self, value: object, where: str) -> int:
        """The grade that a value is, or that a word stands for."""
        if not self.grades:
            return whole_grade(value, where)
        words = {str(word).strip().casefold(): grade for word, grade in self.grades.items()}
        if (word := str(value).strip().casefold()) in words:
            return words[word]
        raise DatasetError(
            f"{where}: the grade is {str(value)[:80]!r}; expected one of {listed(map(str, self.grades))}"
        )

    def judged_in(self, row: Entry, where: str, *, in_text: bool) -> dict[str, int]:
        """The grades of a row, by the keys of pages or documents.

        Args:
            row: Values by column.
            where: Its place, for error messages.
            in_text: Whether a text may be a list: JSON, or keys between semicolons, as in CSV.

        Raises:
            DatasetError: They cannot be read, or a judgment is not complete.
        """
        if not self.is_by_row:
            if self.relevant is None or self.relevant not in row:
                return {}
            place = f"{where}: the field {self.relevant!r}"
            if self.grade is None:
                found = grades_in(row[self.relevant], place, self.grade_in, in_text=in_text)
                return {self._counted(key, where): grade for key, grade in found.items()}
            keys = [self._counted(key, where) for key in keys_in(row[self.relevant], place, in_text=in_text)]
        else:
            keys = self._keys_of_columns(row, where, in_text=in_text)
        if not keys or self.grade == ALL_RELEVANT:
            return dict.fromkeys(keys, 1)
        return dict.fromkeys(keys, self.grade_in(row.get(str(self.grade)), f"{where}: the field {self.grade!r}"))

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
        if not page.isdecimal():
            raise DatasetError(f"{where}: found the page {page[:80]!r}; expected a number, as first_page is 0")
        return f"{source}{mark}{int(page) + 1}"

    def read_as(self, columns: Iterable[str]) -> str:
        """What is read as what: `read as: query=Question, page=Seite; fields: author`."""
        columns = [*dict.fromkeys(columns)]
        names = [f"{what.partition(' ')[0]}={name}" for what, name in self.named.items() if name in columns]
        names += [f"grade={ALL_RELEVANT}"] if self.grade == ALL_RELEVANT else []
        others = [name for name in columns if name not in self.named.values()]
        more = f" and {len(others) - FIELDS_SHOWN} more" if len(others) > FIELDS_SHOWN else ""
        fields = f"; fields: {', '.join(others[:FIELDS_SHOWN])}{more}" if others else ""
        return f"read as: {', '.join(names)}{fields}"


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
