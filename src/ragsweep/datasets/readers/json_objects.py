"""The entries of a JSON file that is one object, as other programs write whole tables and datasets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ragsweep.core.errors import DatasetError
from ragsweep.datasets.readers.fields import SHOWN_CHARACTERS, listed

Entry = dict[str, Any]

LISTS = ("questions", "queries", "test_cases", "tests", "data", "rows", "records", "items", "examples", "documents")
OF_LLAMA_INDEX = {"queries", "corpus", "relevant_docs"}  # fields of its EmbeddingQAFinetuneDataset


class Named(Entry):
    """An entry whose file names it, by its field `id`."""


def is_table(value: Mapping[str, Any]) -> bool:
    """Whether an object is a whole file of entries, and not a single one."""
    if any(value.keys() >= names for names in (OF_LLAMA_INDEX, {"columns", "data"}, {"schema", "data"})):
        return True
    columns = [*value.values()]
    if _is_graded(value) or any(
        _are_objects(each) and (len(value) == 1 or name in LISTS) for name, each in value.items()
    ):
        return True
    if len(columns) > 1 and all(isinstance(one, list) and len(one) == len(columns[0]) > 0 for one in columns):
        return True
    if not columns or not all(isinstance(one, dict) and one and one.keys() == columns[0].keys() for one in columns):
        return False
    return len(columns) > 1 or _are_numbers(value) or _are_numbers(columns[0])


def entries_of_object(value: Mapping[str, Any], contents: str, path: Path) -> Iterator[tuple[str, Any]]:
    """The entries of a file that is one object, each with its place for error messages.

    These are a dataset of questions of LlamaIndex, a table of pandas as any `orient` of `to_json` writes it, a table of
    the datasets library as `to_dict` makes it, an object with one list of objects, and grades by document by question.

    Args:
        value: The object.
        contents: What is read from the file, such as `documents` or `queries`.
        path: The file.

    Raises:
        DatasetError: It is none of these.
    """
    if value.keys() >= OF_LLAMA_INDEX and contents in ("documents", "queries"):
        yield from _of_llama_index(value, contents, path)
        return
    if contents == "queries" and _is_graded(value):
        for query, grades in value.items():
            yield f"{path}, query {query[:SHOWN_CHARACTERS]!r}", {"query": query, "relevant_docs": grades}
        return
    lists = {name: each for name, each in value.items() if isinstance(each, list)}
    mappings = {name: each for name, each in value.items() if isinstance(each, dict)}
    columns = value.get("columns")
    if isinstance(columns, list) and all(isinstance(name, str) for name in columns) and "data" in lists:
        rows = [
            dict(zip(columns, row, strict=True)) if isinstance(row, list) and len(row) == len(columns) else row
            for row in lists["data"]
        ]
    elif len(objects := [each for each in lists.values() if _are_objects(each)]) == 1:
        rows = objects[0]
    elif value and len(mappings) == len(value) and len({tuple(each) for each in mappings.values()}) == 1:
        first = next(iter(mappings.values()))
        if _are_numbers(first) and not _are_numbers(value):  # those of the rows
            rows = [{name: column[number] for name, column in mappings.items()} for number in first]
        else:
            rows = [*mappings.values()]
    elif value and len(lists) == len(value) and len({len(each) for each in lists.values()}) == 1:
        rows = [dict(zip(lists, cells, strict=True)) for cells in zip(*lists.values(), strict=True)]
    else:
        expected = "a list of objects, or one object on each line"
        raise DatasetError(f"{path}: is one object with the fields {listed(value)}; expected {expected}")
    for number, row in enumerate(rows, start=1):
        yield f"{path}, entry {number}", row


def _are_objects(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _is_graded(value: Mapping[str, Any]) -> bool:
    """Whether an object has grades by document by question."""
    return bool(value) and all(
        isinstance(grades, dict) and grades and all(type(grade) is int for grade in grades.values())
        for grades in value.values()
    )


def _are_numbers(names: Iterable[str]) -> bool:
    return all(name.isdecimal() for name in names)


def _of_llama_index(value: Mapping[str, Any], contents: str, path: Path) -> Iterator[tuple[str, Named]]:
    for name in OF_LLAMA_INDEX:
        if not isinstance(value[name], dict):
            raise DatasetError(f"{path}: the field {name!r} is no object; expected texts or lists by id")
    if contents == "documents":
        for name, text in value["corpus"].items():
            yield f"{path}, corpus {name[:SHOWN_CHARACTERS]!r}", Named(id=name, text=text)
        return
    if unknown := value["relevant_docs"].keys() - value["queries"].keys():
        raise DatasetError(
            f"{path}: relevant_docs has the query {min(unknown)[:SHOWN_CHARACTERS]!r}, which queries lacks"
        )
    for name, text in value["queries"].items():
        yield (
            f"{path}, query {name[:SHOWN_CHARACTERS]!r}",
            Named(id=name, query=text, relevant_docs=value["relevant_docs"].get(name)),
        )
