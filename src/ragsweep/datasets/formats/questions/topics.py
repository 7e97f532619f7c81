"""Reads the topics of TREC: SGML, XML, lines of id, tab and text, or a table with such columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ragsweep.core.errors import DatasetError
from ragsweep.datasets.readers.delimited_rows import Entry, rows_of
from ragsweep.datasets.readers.entry_files import further_fields, id_of, text_of
from ragsweep.datasets.readers.fields import listed, without_entities
from ragsweep.datasets.readers.known_columns import column_in

FIELDS = "num|title|desc|narr|head|dom|smry|con|fac|nat|time|def"  # the first topics of TREC have all of them
# Those of the tracks on the web, microblogs, COVID-19 and clinical decisions.
LATER_FIELDS = "query|querytime|querytweettime|question|description|narrative|subtopic|note|summary|background"
KEPT = ("title", "desc", "narr")  # the fields of the first topics that become fields of the query
LABELS = {
    "num": "Number:",
    "title": "Topic:",
    "desc": "Description:",
    "narr": "Narrative:",
}  # some collections repeat the field's name
ANY_TAG = re.compile(r"(?:^|(?<=>))[ \t]*<([A-Za-z][\w.-]{0,40})(?:\s[^<>]*)?>", re.MULTILINE)
XML_TAG = re.compile(r"<(/?)([A-Za-z][\w.-]{0,40})((?:\s[^<>]*)?)>|<!--")
NUMBER = re.compile(r"\b(?:number|num|id|qid)\s*=\s*[\"']([^\"'<>]*)[\"']", re.IGNORECASE)
NUMBER_FIELDS = ("num", "number", "qid", "id", "identifier")
IDS = ("qid", "query_id", "query-id", "topic_id", "question_id", "id", "_id", "topic", "number")  # names of columns
TEXTS = ("query", "text", "title", "question")
WHOLE = "topic"  # the field of a topic in XML that has a text and no fields

Topic = tuple[str, str, str, tuple[tuple[str, str], ...]]  # its place, id, query and further fields


def topics_in(path: Path, lines: list[tuple[int, str]], field: str) -> Iterator[Topic]:
    """The topics of a file.

    Args:
        path: The file, for error messages.
        lines: Its lines, each with its number.
        field: The field that is the query, for SGML and XML.

    Raises:
        DatasetError: There are no topics, or one lacks an id or the field.
    """
    text = "".join(line for _, line in lines)
    if not text.lstrip().startswith("<"):
        return _of_tabs(path, lines, field)
    if re.search(r"<top[\s>]", text, re.IGNORECASE):
        return _of_sgml(path, text, field)
    if re.search(r"<topic[\s>]", text, re.IGNORECASE):
        return _of_xml(path, text, field, "topic")
    if re.search(rf"<query>\s*<(?:{'|'.join(NUMBER_FIELDS)})>", text, re.IGNORECASE):  # NTCIR, CLEF eHealth, Indri
        return _of_xml(path, text, field, "query")
    return _of_sgml(path, text, field)


def _of_sgml(path: Path, text: str, field: str) -> Iterator[Topic]:
    """The place, the id, the query and the other fields of each topic. A field ends where the next one begins."""
    names = f"{FIELDS}|{LATER_FIELDS}|{re.escape(field)}"
    tags = list(re.finditer(rf"<(/?)(top|{names})(?:\s[^<>]*)?>", text, re.IGNORECASE))
    topic: dict[str, str] | None = None
    found = False
    begins, line, counted, start = 0, 1, 0, 0  # the line of the topic, and of the tag until which lines are counted
    ends = [*(tag.start() for tag in tags[1:]), len(text)]
    for tag, end in zip(tags, ends, strict=False):  # without tags, there is still the end of the text
        line, counted = line + text.count("\n", counted, tag.start()), tag.start()
        closing, name = tag[1], tag[2].lower()
        if name == "top" and not closing:
            if topic is not None:
                raise DatasetError(f"{path}, line {line}: found <top>, expected </top> for the one in line {begins}")
            topic, begins, start = {}, line, tag.end()
        elif topic is None:
            raise DatasetError(f"{path}, line {line}: found <{closing}{name}>, expected <top> first")
        elif name == "top":
            there_is = [each[1].lower() for each in ANY_TAG.finditer(text, start, tag.start())]
            yield _topic(topic, field, f"{path}, line {begins}", there_is)
            topic, found = None, True
        elif not closing:
            if name in topic and name in LABELS:
                raise DatasetError(f"{path}, line {line}: found <{name}> twice in the topic; expected it once")
            topic.setdefault(name, text[tag.end() : end])
    if topic is not None:
        raise DatasetError(f"{path}, line {begins}: found <top> without </top>")
    if not found:
        raise DatasetError(f"{path}: no <top>...</top> and no <topic>...</topic> in it; expected topics of TREC")


def _of_xml(path: Path, text: str, field: str, element: str) -> Iterator[Topic]:
    """The topics that are elements of XML, whose fields are the elements within. An id is an attribute or a field.

    The text of a field is without the tags in it. An element that occurs several times counts once, the first time.
    """
    topic: dict[str, str] | None = None
    name = ""  # of the field that is open
    begins, line, counted, start, place = 0, 1, 0, 0, 0
    comment = -1
    for tag in XML_TAG.finditer(text):
        if tag.start() < comment:
            continue
        if tag[0] == "<!--":
            comment = text.find("-->", tag.end()) + 1 or len(text)
            continue
        line, counted = line + text.count("\n", counted, tag.start()), tag.start()
        closing, tag_name = bool(tag[1]), tag[2].lower()
        if topic is None:
            if tag_name == element and not closing:
                number = NUMBER.search(tag[3])
                topic, begins, start, name = {"num": number[1]} if number else {}, line, tag.end(), ""
        elif tag_name == element and not closing and not name:
            raise DatasetError(f"{path}, line {line}: found <{element}>, expected its end for the one in line {begins}")
        elif tag_name == element and closing and not name:
            fields = {each: inside for each, inside in topic.items() if each != "num"}
            if not fields:
                topic[WHOLE] = text[start : tag.start()]
            yield _topic(topic, field, f"{path}, line {begins}", list(topic))
            topic = None
        elif not name and not closing and not tag[3].endswith("/"):
            name, place = tag_name, tag.end()
        elif closing and tag_name == name:
            inside = XML_TAG.sub(" ", text[place : tag.start()])
            topic.setdefault("num" if name in NUMBER_FIELDS else name, inside)
            name = ""
    if topic is not None:
        raise DatasetError(f"{path}, line {begins}: found <{element}> without </{element}>")


def _topic(found: Mapping[str, str], field: str, where: str, there_is: list[str]) -> Topic:
    """The topic with these texts by field.

    Args:
        found: The texts.
        field: The field that is the query.
        where: The place of the topic, for error messages.
        there_is: The names of all fields that the topic has, for error messages.
    """
    kept = [name for name in found if name in ("num", field, *KEPT) or name not in FIELDS.split("|")]
    texts = {name: " ".join(found[name].split()) for name in kept}
    for name, label in LABELS.items():
        text = texts.get(name, "")
        if text[: len(label)].lower() == label.lower():
            texts[name] = text[len(label) :].strip()
    numbers = texts.pop("num", "").partition("<")[0].split()
    if not numbers or field not in texts:
        others = [name for name in dict.fromkeys(there_is) if name != "num"]
        has = f"; it has {listed(others)}" + (" (questions.field)" if numbers else "") if others else ""
        raise DatasetError(f"{where}: the topic has no <{field if numbers else 'num'}>{has}")
    if len(numbers) > 1:
        raise DatasetError(f"{where}: <num> is {' '.join(numbers)[:80]!r}; expected one id without spaces")
    texts = {name: " ".join(without_entities(text, where).split()) for name, text in texts.items()}
    return where, numbers[0], texts.pop(field), tuple((name, text) for name, text in texts.items() if text)


def _of_tabs(path: Path, lines: list[tuple[int, str]], field: str) -> Iterator[Topic]:
    """The topics on lines of id, tab and text, or of a table whose first line has the names of its columns."""
    names = lines[0][1].split("\t") if lines else []
    if column_in(names, IDS) and column_in(names, (*TEXTS, field)):
        yield from topics_of_rows(rows_of(path, iter(lines), "\t"), field)
        return
    for line_number, line in lines:
        if line.strip():
            number, tab, query = line.partition("\t")
            if not tab or "\t" in query.strip():
                columns = f", {1 + line.count(chr(9))} columns" if tab else ""
                expected = "expected an id, a tab and the text of the query, or names in the first line"
                raise DatasetError(f"{path}, line {line_number}: found {line.strip()[:80]!r}{columns}; {expected}")
            yield f"{path}, line {line_number}", number.strip(), query.strip(), ()


def topics_of_rows(rows: Iterable[tuple[str, Entry]], field: str) -> Iterator[Topic]:
    """The topics in the rows of a table, whose other columns become further fields.

    Args:
        rows: Each with its place.
        field: The column of the query; one of the usual names counts for `title`.

    Raises:
        DatasetError: A row has no id or no query.
    """
    for where, row in rows:
        found = [column_in(row, known) for known in (IDS, TEXTS if field == "title" else (field,))]
        if found[0] is None or found[1] is None:
            expected = f"an id ({listed(IDS)}) and a query ({listed(TEXTS)}, or another as questions.field)"
            raise DatasetError(f"{where}: found the fields {listed(row)}; expected {expected}")
        identifier, query = found[0], found[1]
        yield where, id_of(row, identifier, where), text_of(row, query, where) or "", further_fields(row, found, where)
