"""The entries of a JSON file that is one object, as other programs write whole tables and datasets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ragsweep.core.errors import DatasetError
from ragsweep.datasets.readers.fields import SHOWN_CHARACTERS, listed, shown_value, whole

Entry = dict[str, Any]

LISTS = ("questions", "queries", "test_cases", "tests", "data", "rows", "records", "items", "examples", "documents")
OF_LLAMA_INDEX = {"queries", "corpus", "relevant_docs"}  # fields of its EmbeddingQAFinetuneDataset
OF_AN_ENTRY = {"id", "_id", "doc_id", "text", "content", "contents", "title", "body", "query", "question"}


class Named(Entry):
    """An entry whose file names it, by its field `id`."""


def is_table(value: Mapping[str, Any], *, of_lines: bool) -> bool:
    """Whether an object is a whole file of entries, and not a single one.

    Args:
        value: The object.
        of_lines: Whether the name of the file promises an entry on each line, of which a file can have only one.
    """
    if any(value.keys() >= names for names in (OF_LLAMA_INDEX, {"columns", "data"}, {"schema", "data"})):
        return True
    columns = [*value.values()]
    if (
        _is_graded(value)
        or (_are_texts(value) and not of_lines)
        or any(
            _are_objects(each) and (len(value) == 1 or (name in LISTS and not value.keys() & OF_AN_ENTRY))
            for name, each in value.items()
        )
    ):
        return True
    if len(columns) > 1 and all(isinstance(one, list) and len(one) == len(columns[0]) > 0 for one in columns):
        return True
    if not columns or not all(isinstance(one, dict) and one and one.keys() == columns[0].keys() for one in columns):
        return False
    return len(columns) > 1 or _are_numbers(value) or _are_numbers(columns[0])


def entries_of_object(value: Mapping[str, Any], contents: str, path: Path) -> Iterator[tuple[str, Any]]:
    """The entries of a file that is one object, each with its place for error messages.

    These are a dataset of questions of LlamaIndex, paragraphs and questions of SQuAD, a table of pandas as any `orient`
    of `to_json` writes it, a table of the datasets library as `to_dict` makes it, an object with one list of objects,
    grades by document by question, and texts or objects by id.

    Args:
        value: The object.
        contents: What is read from the file, such as `documents` or `queries`.
        path: The file.

    Raises:
        DatasetError: It is none of these.
    """
    if (by_name := _by_name(value, contents, path)) is not None:
        yield from by_name
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
    elif value and len(mappings) == len(value) and len({frozenset(each) for each in mappings.values()}) == 1:
        first = next(iter(mappings.values()))
        if _are_numbers(first) and not _are_numbers(value):  # those of the rows
            rows = [{name: column[number] for name, column in mappings.items()} for number in first]
        else:  # by id, or questions by the number of the row
            is_numbered = contents != "documents" and _are_numbers(value)
            rows = [row if is_numbered or "id" in row else Named(row, id=name) for name, row in mappings.items()]
    elif value and len(lists) == len(value) and len({len(each) for each in lists.values()}) == 1:
        rows = [dict(zip(lists, cells, strict=True)) for cells in zip(*lists.values(), strict=True)]
    else:
        expected = "a list of objects, or one object on each line"
        raise DatasetError(f"{path}: is one object with the fields {listed(value)}; expected {expected}")
    for number, row in enumerate(rows, start=1):
        yield f"{path}, entry {number}", row


def _by_name(value: Mapping[str, Any], contents: str, path: Path) -> Iterator[tuple[str, Entry]] | None:
    """Texts by their ids, alone or in a dataset of LlamaIndex, or grades by question; None if it is none of these."""
    if contents in ("documents", "queries") and value.keys() >= OF_LLAMA_INDEX:
        return _of_llama_index(value, contents, path)
    articles: Any = value.get("data")
    if contents in ("documents", "queries") and _are_objects(articles) and all("paragraphs" in one for one in articles):
        return _of_squad(articles, contents, path)
    if contents in ("documents", "queries") and _are_texts(value):
        return _texts_by_id(value, "text" if contents == "documents" else "query", path)
    if contents == "queries" and _is_graded(value):
        return (
            (f"{path}, query {query[:SHOWN_CHARACTERS]!r}", {"query": query, "relevant_docs": grades})
            for query, grades in value.items()
        )
    return None


def _texts_by_id(texts: Mapping[str, Any], field: str, path: Path) -> Iterator[tuple[str, Named]]:
    for name, text in texts.items():
        yield f"{path}, {name[:SHOWN_CHARACTERS]!r}", Named({"id": name, field: text})


def _are_objects(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _are_texts(value: Mapping[str, Any]) -> bool:
    """Whether an object has texts by id."""
    return len(value) > 1 and all(isinstance(one, str) for one in value.values()) and not value.keys() & OF_AN_ENTRY


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
        yield from _texts_by_id(value["corpus"], "text", path)
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


def _of_squad(articles: Iterable[Mapping[str, Any]], contents: str, path: Path) -> Iterator[tuple[str, Named]]:
    """The paragraphs of SQuAD, each a document, or the questions, whose answers are spans of their paragraph."""
    numbers: Counter[str] = Counter()
    for article in articles:
        title = str(article.get("title") or "").strip() or "paragraph"
        for paragraph in article["paragraphs"] if _are_objects(article["paragraphs"]) else ():
            numbers[title] += 1
            name = f"{title} {numbers[title]}"
            where = f"{path}, {name[:SHOWN_CHARACTERS]!r}"
            text, asked = paragraph.get("context"), paragraph.get("qas")
            if not isinstance(text, str) or not isinstance(asked, list):
                raise DatasetError(
                    f"{where}: found the fields {listed(paragraph)}; expected context and qas, as in SQuAD"
                )
            if contents == "documents":
                yield where, Named(id=name, text=text)
                continue
            for each in asked:
                if not isinstance(each, dict) or "id" not in each:
                    raise DatasetError(f"{where}: found the question {shown_value(each)}; expected id and question")
                answers = [] if each.get("is_impossible") is True else each.get("answers")
                if not isinstance(answers, list):
                    raise DatasetError(
                        f"{where}: found the answers {shown_value(answers)}; expected a list, as in SQuAD"
                    )
                row = {"question": each.get("question"), "query_type": title, "answerable": bool(answers)}
                row |= {"corpus_id": name, "references": [_of_answer(answer, text) for answer in answers]}
                yield f"{where}, question {each['id']!r}", Named(id=each["id"], **row)


def with_squad_rows(rows: Iterable[tuple[str, Entry]], contents: str, path: Path) -> Iterator[tuple[str, Entry]]:
    """Rows as they are; if the first is one of SQuAD on the Hugging Face hub, what SQuAD's own file has."""
    rows = iter(rows)
    first = [*islice(rows, 1)]
    rows = chain(first, rows)
    if not first or _answers_of_hub(first[0][1]) is None:
        yield from rows
        return
    asked: dict[tuple[Any, str], list[Entry]] = {}
    for where, row in rows:
        if (answers := _answers_of_hub(row)) is None:
            raise DatasetError(f"{where}: found the fields {listed(row)}; expected context, question and answers")
        asked.setdefault((row.get("title"), row["context"]), []).append({**row, "answers": answers})
    paragraphs = ((title, {"context": text, "qas": qas}) for (title, text), qas in asked.items())
    yield from _of_squad(({"title": title, "paragraphs": [each]} for title, each in paragraphs), contents, path)


def _answers_of_hub(row: Mapping[str, Any]) -> list[Entry] | None:
    """The answers in a row of the hub, each as in a file of SQuAD; None if it is no such row."""
    answers = row.get("answers")
    texts, starts = map(answers.get, ("text", "answer_start")) if isinstance(answers, dict) else (None, None)
    if not (isinstance(row.get("context"), str) and isinstance(texts, list) and isinstance(starts, list)):
        return None
    return (
        None
        if len(texts) != len(starts)
        else [{"text": text, "answer_start": start} for text, start in zip(texts, starts, strict=True)]
    )


def _of_answer(answer: object, context: str) -> object:
    """An answer as a reference to a document, which does not have the white space around the paragraph."""
    text, start = (answer.get("text"), whole(answer.get("answer_start"))) if isinstance(answer, dict) else (None, None)
    if not isinstance(text, str) or start is None:
        return answer
    start -= len(context) - len(context.lstrip())
    return {"content": text, "start_index": start, "end_index": start + len(text)}
