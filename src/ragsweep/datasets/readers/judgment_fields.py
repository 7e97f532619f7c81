"""Reads the judgments in a row: which pages or documents are relevant, and how much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ragsweep.core.errors import DatasetError
from ragsweep.core.parsing import MalformedError, from_json
from ragsweep.datasets.readers.delimited_rows import Entry
from ragsweep.datasets.readers.entry_files import value_of
from ragsweep.datasets.readers.fields import LARGEST_GRADE, listed, shown_value, whole
from ragsweep.datasets.readers.python_values import from_python

# Fields of a judgment that name its document, and its page.
SOURCE = ("source", "file", "filename", "file_name", "doc", "document", "doc_id", "document_id")
PAGE = ("page", "page_number")
GRADE = ("grade", "score", "relevance", "rel")
KNOWN = (*SOURCE, *PAGE, *GRADE)
REMARKS = ("reason", "comment")  # fields of a judgment that people read
LISTS = ("[", "{", "(", "array(")  # what a text begins with that could be a list or grades by key
EXPECTED = 'a list like ["34"], or grades like {"34": 2}'


def grades_in(entry: Entry, field: str | None, where: str) -> dict[str, int]:
    """The judgments in a field: grades by the keys of pages or documents.

    The field is a list of keys, grades by key like `{"34": 2}`, of which null is none, or one key. A key in a list is a
    text or a whole number like `"34"` or `34`, which get grade 1, or has fields, like
    `{"source": "manual.pdf", "page": 34, "grade": 2}`. The items of lists of texts count as those of one list. A text
    is one of these as JSON or as Python writes it, or keys that are separated by semicolons. It may be null.

    Raises:
        DatasetError: The entry lacks the field, or it is none of these, or two grades of a key differ.
    """
    found = value_of(entry, field, where)
    where = f"{where}: the field {field!r}"
    if isinstance(found, str):
        found = _of_text(found.strip(), where)
    if found is None:
        return {}
    if isinstance(found, list) and found and all(isinstance(item, tuple) for item in found):
        found = dict(found)  # a map of Parquet
    if isinstance(found, dict) and not (found.keys() <= {*KNOWN, *REMARKS} and found.keys() & {*SOURCE, *PAGE}):
        graded = {str(key): grade for key, grade in found.items() if grade is not None}  # null if another row has it
        return _grades(((key, _grade(grade, key, where)) for key, grade in graded.items()), where)
    items = found if isinstance(found, list) else [found]
    if all(isinstance(item, list) and item and all(isinstance(each, str) for each in item) for item in items):
        items = [each for item in items for each in item]  # as AutoRAG writes alternatives
    if not all(isinstance(item, str | dict) or whole(item) is not None for item in items):
        raise DatasetError(f"{where} is {shown_value(found)}; expected {EXPECTED}")
    filled = [_has_grade(item) if isinstance(item, dict) else None for item in items]
    if True in filled:  # an empty grade beside others is no judgment
        items = [item for item, has in zip(items, filled, strict=True) if has is not False]
    return _grades((_judgment(item, where) for item in items), where)


def has_alternatives(row: Mapping[str, object], field: str) -> bool:
    """Whether a field has a list of several keys within a list; to AutoRAG, any of them is enough."""
    found = row.get(field)
    if isinstance(found, str) and found.lstrip().startswith("[") and found.count("[") > 1:
        found = _of_text(found.strip(), field)
    return isinstance(found, list) and any(isinstance(each, list) and len(each) > 1 for each in found)


def grade_columns(row: Mapping[str, object]) -> list[str]:
    """The columns of a row that have a grade."""
    return [name for name in GRADE if name in row]


def _has_grade(row: Mapping[str, object]) -> bool | None:
    """Whether a column for the grade has one; None without a column."""
    columns = grade_columns(row)
    return not all(_is_blank(row[name]) for name in columns) if columns else None


def judgment_columns(row: Mapping[str, object]) -> list[str]:
    """The columns of a row that make a judgment: a document or a page, and a grade if there is one."""
    names = [name for name in (*SOURCE, *PAGE) if name in row]
    return [*names, *grade_columns(row)] if names else []


def document_of_row(row: Mapping[str, object]) -> str:
    """What the columns of a row say that name a document; empty if there is none, or they differ."""
    names = {str(row[name]).strip() for name in SOURCE if not _is_blank(row.get(name))}
    return names.pop() if len(names) == 1 else ""


def grades_of_row(row: Entry, where: str) -> dict[str, int]:
    """The judgment that the columns of a row make, or those of several pages or documents; none if they are empty.

    Raises:
        DatasetError: The columns make no judgment, or one that cannot be understood.
    """
    fields = {name: row[name] for name in judgment_columns(row)}
    if all(_is_blank(fields[name]) for name in fields if name not in GRADE):
        return {}
    paged = next((name for name in PAGE if not _is_blank(fields.get(name))), None)
    if paged is None:
        for name in SOURCE:  # a cell of a table may show a list
            if isinstance(shown := fields.get(name), str) and shown.strip().startswith("["):
                fields[name] = _of_text(shown.strip(), f"{where}: the field {name!r}")
        several = next((name for name in SOURCE if isinstance(fields.get(name), list)), None)
        rows = [{**fields, several: each} for each in fields[several]] if several else [fields]
        return _grades((_judgment(each, where) for each in rows), where)
    has_grade = _has_grade(row)
    judged = (
        (page, grade, *_judgment({**fields, paged: page}, where))
        for page, grade in grades_in(row, paged, where).items()
    )
    return _grades(((key, of_row if has_grade else grade) for _, grade, key, of_row in judged), where)


def grade_columns_of(row: Mapping[str, object], field: str) -> list[str]:
    """The columns with the grade of the judgment in a field; none if the field can have several judgments."""
    value = row.get(field)
    one_key = (
        isinstance(value, str | int | float) and str(value).lstrip()[:1] not in (*"[{(",) and ";" not in str(value)
    )
    return grade_columns(row) if one_key else []


def is_grade_unread(row: Mapping[str, object], field: str) -> bool:
    """Whether a row has a grade that is not read, as its judgments are in a list, or have grades of their own."""
    return bool(_has_grade(row)) and not _is_blank(row.get(field)) and not grade_columns_of(row, field)


def is_graded(row: Mapping[str, object], field: str | None) -> bool | None:
    """Whether the judgment of a row, in a field or in several columns, has its grade; None without one or a column."""
    columns = grade_columns(row) if field is None else grade_columns_of(row, field)
    judged = [field] if field is not None else [name for name in judgment_columns(row) if name not in GRADE]
    return _has_grade(row) if columns and not all(_is_blank(row.get(name)) for name in judged) else None


def graded_by_row(grades: dict[str, int], row: Entry, field: str, where: str) -> dict[str, int]:
    """The judgment in a field, which has one key, with the grade in another column of the row if there is one."""
    fields = {name: row[name] for name in grade_columns_of(row, field)}
    if not fields or len(grades) != 1:
        return grades
    [key], graded = grades, _only(fields, GRADE, where)
    return {key: 1 if graded is None else _grade(graded, key, where)}


def _of_text(text: str, where: str) -> Any:
    """The value in a text: JSON, a list of Python, or keys between semicolons."""
    if text.startswith(LISTS):
        try:
            return from_json(text)
        except MalformedError as error:
            try:
                return from_python(text)
            except MalformedError:
                if text.startswith(("[", "{")):
                    raise DatasetError(f"{where}: {error}; expected {EXPECTED}") from error
    return [key.strip() for key in text.split(";") if key.strip()]


def _grades(judgments: Iterable[tuple[str, int]], where: str) -> dict[str, int]:
    grades: dict[str, int] = {}
    for key, grade in judgments:
        if grades.setdefault(key, grade) != grade:
            raise DatasetError(f"{where}: {key[:80]!r} has the grades {grades[key]} and {grade}; expected one")
    return grades


def _judgment(item: object, where: str) -> tuple[str, int]:
    """The key and the grade of one judgment. A document alone gets the key `document#`, as `3` is page 3."""
    if not isinstance(item, dict):
        return _name(item, "key", where), 1
    if unknown := [name for name in item if name not in (*KNOWN, *REMARKS)]:
        expected = f"a document ({', '.join(SOURCE)}), a page, and a grade ({', '.join(GRADE)})"
        raise DatasetError(f"{where}: a judgment has the field {listed(unknown)}; expected {expected}")
    named, paged, graded = (_only(item, names, where) for names in (SOURCE, PAGE, GRADE))
    source = "" if named is None else _name(named, "document", where)
    page = "" if paged is None else _name(paged, "page", where)
    key = f"{source}#{page}" if source and (page or "#" not in source) else source or page
    if not key:
        raise DatasetError(f"{where}: a judgment names neither a document nor a page; found {listed(item)}")
    return key, 1 if graded is None else _grade(graded, key, where)


def _only(fields: Mapping[str, object], names: Iterable[str], where: str) -> object:
    """The value of those of these fields that have one, which must be the same; None if none has."""
    given = [name for name in names if not _is_blank(fields.get(name))]
    if any(fields[name] != fields[given[0]] for name in given):
        raise DatasetError(f"{where}: a judgment has the fields {listed(given)}; expected one of them")
    return fields[given[0]] if given else None


def _is_blank(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _name(value: object, what: str, where: str) -> str:
    """A text, or a whole number as a text."""
    if isinstance(value, str):
        return value.strip()
    if (number := whole(value)) is not None:
        return str(number)
    raise DatasetError(f"{where}: the {what} is {shown_value(value)}; expected a text or a whole number")


def _grade(value: object, key: str, where: str) -> int:
    grade = whole(value)
    if grade is None or abs(grade) > LARGEST_GRADE:
        problem = f"the grade of {key[:80]!r} is {shown_value(value)}"
        such = ", such as 1, or 0 for not relevant" if grade is None else f" from -{LARGEST_GRADE} to {LARGEST_GRADE}"
        raise DatasetError(f"{where}: {problem}; expected a whole number{such}")
    return grade
