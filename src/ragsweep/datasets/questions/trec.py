"""Reads topics and relevance judgments (qrels) of TREC."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ragsweep.core.constraints import Text
from ragsweep.core.errors import DatasetError
from ragsweep.datasets.collection import Document, Judgment, Query, Unit
from ragsweep.datasets.entry_files import lines_of
from ragsweep.datasets.fields import LARGEST_GRADE, flaw_of_name, grade_of
from ragsweep.datasets.judging import JudgmentFile, lines_with
from ragsweep.datasets.own import Asked
from ragsweep.datasets.pages import Key, with_keys

TOPIC = re.compile(r"<top>(.*?)</top>", re.DOTALL | re.IGNORECASE)
NUMBER = re.compile(r"<num>\s*(?:Number:)?\s*([^\s<]+)", re.IGNORECASE)
LABELS = {"title": "Topic:", "desc": "Description:", "narr": "Narrative:"}  # some collections repeat the field's name
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
        units = {page.unit for document in documents for page in document.pages}
        if not any(judgment.unit in units for judgment in judgments):
            example = f"{judgments[0].unit!r} is not" if judgments else "there are none"
            raise DatasetError(f"{self.qrels}: no judgment is of a {self.unit} in the corpus; for example, {example}")
        known = {query.query_id for query in queries}
        if unknown := next((each for each in judgments if each.query_id not in known), None):
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
        lines = list(lines_of(path, "questions.topics", "topics of TREC"))
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
    for number, line in lines_of(path, "questions.qrels", "judgments of TREC"):
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
    patterns = {
        name: re.compile(rf"<{name}>\s*(?:{label})?(.*?)(?=<|\Z)", re.DOTALL | re.IGNORECASE)
        for name, label in LABELS.items()
    }
    topics = list(TOPIC.finditer(text))
    if not topics:
        raise DatasetError(f"{path}: no <top>...</top> in it; expected topics of TREC")
    for topic in topics:
        where = f"{path}, line {text.count(chr(10), 0, topic.start()) + 1}"
        number = NUMBER.search(topic[1])
        found = {name: pattern.search(topic[1]) for name, pattern in patterns.items()}
        texts = {name: " ".join(html.unescape(each[1]).split()) for name, each in found.items() if each}
        if number is None or field not in texts:
            raise DatasetError(f"{where}: the topic has no <{'num' if number is None else field}>")
        yield where, number[1], texts.pop(field), tuple((name, each) for name, each in texts.items() if each)


def _of_tabs(path: Path, lines: list[tuple[int, str]]) -> Iterator[Topic]:
    for line_number, line in lines:
        if line.strip():
            number, tab, query = line.partition("\t")
            if not tab:
                found = f"found {line.strip()[:80]!r}, expected an id, a tab and the text of the query"
                raise DatasetError(f"{path}, line {line_number}: {found}")
            yield f"{path}, line {line_number}", number.strip(), query.strip(), ()
