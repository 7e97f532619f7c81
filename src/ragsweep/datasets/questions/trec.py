"""Reads topics and relevance judgments (qrels) of TREC."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ragsweep.core.constraints import Text
from ragsweep.core.errors import DatasetError
from ragsweep.datasets.collection import Document, Judgment, Query, Unit
from ragsweep.datasets.entry_files import lines_of
from ragsweep.datasets.fields import LARGEST_GRADE, flaw_of_name, grade_of, without_entities
from ragsweep.datasets.judgment_files import JudgmentFile, lines_with
from ragsweep.datasets.own import Asked
from ragsweep.datasets.pages import Key, with_keys
from ragsweep.text.normalisation import composed

FIELDS = "num|title|desc|narr|head|dom|smry|con|fac|nat|time|def"  # the first topics of TREC have all of them
TAG = re.compile(rf"<(/?)(top|{FIELDS})(?:\s[^<>]*)?>", re.IGNORECASE)
LABELS = {
    "num": "Number:",
    "title": "Topic:",
    "desc": "Description:",
    "narr": "Narrative:",
}  # some collections repeat the field's name
Topic = tuple[str, str, str, tuple[tuple[str, str], ...]]  # its place, id, query and further fields

COLUMNS = "query id, iteration, document and grade"


@dataclass(frozen=True)
class TrecQuestions:
    """Topics as SGML (`<top> <num> ... <title> ... </top>`) or as lines of id, tab and text, with four-column qrels.

    Judged documents need not be in the corpus. Topics without judgments are left out of the metrics.

    Attributes:
        topics: The file of the topics.
        qrels: The file of the judgments: lines of query id, iteration (not read), document and grade.
        unit: What the judgments name: a `document`, a `page` ("manual.pdf#34") or a `page_number`.
        field: The field of a topic in SGML that is the query. The others become further fields.
    """

    topics: Text
    qrels: Text
    unit: Key = "document"
    field: Literal["title", "desc", "narr"] = "title"

    def read(self, documents: tuple[Document, ...]) -> Asked:
        """Read the topics and judgments."""
        documents = with_keys(documents, self.unit)
        queries = tuple(self._queries())
        judgments = tuple(read_trec_qrels(Path(self.qrels)))
        units = {composed(page.unit) for document in documents for page in document.pages}
        if not any(composed(judgment.unit) in units for judgment in judgments):
            example = f"{judgments[0].unit!r} is not" if judgments else "there are none"
            raise DatasetError(f"{self.qrels}: no judgment is of a {self.unit} in the corpus; for example, {example}")
        known = {composed(query.query_id) for query in queries}
        if unknown := next((each for each in judgments if composed(each.query_id) not in known), None):
            raise DatasetError(f"{self.qrels}: query {unknown.query_id!r} is not in {self.topics}")
        unit: Unit = "document" if self.unit == "document" else "page"
        return Asked(unit, documents, queries, judgments)

    def with_judgments(self, judgments: Sequence[Judgment], documents: tuple[Document, ...]) -> JudgmentFile:
        """The qrels with further judgments."""
        for name in (name for query_id, unit, _ in judgments for name in (query_id, unit)):
            if len(name.split()) > 1:
                raise DatasetError(f"{self.qrels}: {name!r} has white space, so qrels of TREC cannot name it")
        return lines_with(Path(self.qrels), "{} 0 {} {}", judgments, read_trec_qrels, "questions.qrels={path}")

    def _queries(self) -> Iterator[Query]:
        path = Path(self.topics)
        lines = list(lines_of(path, "questions.topics", "topics of TREC", formats="a text file"))
        text = "".join(line for _, line in lines)
        found = _of_sgml(path, text, self.field) if text.lstrip().startswith("<") else _of_tabs(path, lines)
        seen: set[str] = set()
        for where, number, query, fields in found:
            if flaw := flaw_of_name(number):
                raise DatasetError(f"{where}: the query id {number[:80]!r} {flaw}")
            if number in seen:
                raise DatasetError(f"{where}: the query id {number!r} is in the file twice; expected once")
            if not query:
                raise DatasetError(f"{where}: the text of query {number!r} is blank")
            seen.add(number)
            yield Query(number, query, fields=fields)


def read_trec_qrels(path: Path) -> Iterator[Judgment]:
    """The judgments in a file of four columns. Raises `DatasetError` for a malformed line or a contradiction."""
    earlier: dict[tuple[str, str], tuple[int, int]] = {}
    for number, line in lines_of(path, "questions.qrels", "judgments of TREC", formats="a text file"):
        columns = line.split()
        if not columns:
            continue
        where = f"{path}, line {number}"
        if len(columns) != 4:
            raise DatasetError(f"{where}: found {len(columns)} columns, expected four: {COLUMNS}")
        query_id, _, unit, text = columns
        grade = grade_of(text)
        if grade is None:
            expected = f"a whole number from -{LARGEST_GRADE} to {LARGEST_GRADE}"
            raise DatasetError(f"{where}: the grade is {text[:80]!r}; expected {expected}")
        for name in (query_id, unit):
            if flaw := flaw_of_name(name):
                raise DatasetError(f"{where}: {name[:80]!r} {flaw}")
        other, line_number = earlier.setdefault((query_id, unit), (grade, number))
        if other != grade:
            found = f"{unit!r} has the grade {grade} for query {query_id!r}, but {other} in line {line_number}"
            raise DatasetError(f"{where}: {found}; expected one")
        if line_number == number:
            yield Judgment(query_id, unit, grade)


def _of_sgml(path: Path, text: str, field: str) -> Iterator[Topic]:
    """The place, the id, the query and the other fields of each topic. A field ends where the next one begins."""
    topic: dict[str, str] | None = None
    found = False
    begins, line, counted = 0, 1, 0  # the line of the topic, and of the tag until which lines are counted
    tags = list(TAG.finditer(text))
    ends = [*(tag.start() for tag in tags[1:]), len(text)]
    for tag, end in zip(tags, ends, strict=False):  # without tags, there is still the end of the text
        line, counted = line + text.count("\n", counted, tag.start()), tag.start()
        closing, name = tag[1], tag[2].lower()
        if name == "top" and not closing:
            if topic is not None:
                raise DatasetError(f"{path}, line {line}: found <top>, expected </top> for the one in line {begins}")
            topic, begins = {}, line
        elif topic is None:
            raise DatasetError(f"{path}, line {line}: found <{closing}{name}>, expected <top> first")
        elif name == "top":
            yield _topic(topic, field, f"{path}, line {begins}")
            topic, found = None, True
        elif not closing:
            if name in topic and name in LABELS:
                raise DatasetError(f"{path}, line {line}: found <{name}> twice in the topic; expected it once")
            topic[name] = text[tag.end() : end]
    if topic is not None:
        raise DatasetError(f"{path}, line {begins}: found <top> without </top>")
    if not found:
        raise DatasetError(f"{path}: no <top>...</top> in it; expected topics of TREC")


def _topic(found: dict[str, str], field: str, where: str) -> Topic:
    texts = {name: " ".join(found[name].split()) for name in LABELS if name in found}
    for name, text in texts.items():
        label = LABELS[name]
        texts[name] = text[len(label) :].strip() if text[: len(label)].lower() == label.lower() else text
    numbers = texts.pop("num", "").partition("<")[0].split()
    if not numbers or field not in texts:
        raise DatasetError(f"{where}: the topic has no <{field if numbers else 'num'}>")
    if len(numbers) > 1:
        raise DatasetError(f"{where}: <num> is {' '.join(numbers)[:80]!r}; expected one id without spaces")
    texts = {name: " ".join(without_entities(text, where).split()) for name, text in texts.items()}
    return where, numbers[0], texts.pop(field), tuple((name, text) for name, text in texts.items() if text)


def _of_tabs(path: Path, lines: list[tuple[int, str]]) -> Iterator[Topic]:
    for line_number, line in lines:
        if line.strip():
            number, tab, query = line.partition("\t")
            if not tab:
                found = f"found {line.strip()[:80]!r}, expected an id, a tab and the text of the query"
                raise DatasetError(f"{path}, line {line_number}: {found}")
            yield f"{path}, line {line_number}", number.strip(), query.strip(), ()
