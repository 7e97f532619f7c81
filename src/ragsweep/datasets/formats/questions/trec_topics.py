"""Reads topics and relevance judgments (qrels) of TREC."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from pathlib import Path

from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.limits import Text
from ragsweep.datasets.formats.own import Asked
from ragsweep.datasets.formats.questions.topics import topics_in, topics_of_rows
from ragsweep.datasets.model.collection import Document, Judgment, Query, Unit
from ragsweep.datasets.model.faults import Faults
from ragsweep.datasets.model.pages import Key, with_keys
from ragsweep.datasets.model.unranked import LeaveOut, left_out_of_rankings
from ragsweep.datasets.readers.entry_files import JSON, ending_of, lines_of, read_entries
from ragsweep.datasets.readers.fields import flaw_of_name
from ragsweep.datasets.readers.qrels_files import read_qrels
from ragsweep.text.normalisation import composed

FIELD = r"[A-Za-z][\w.-]*"


@dataclass(frozen=True)
class TrecQuestions:
    """Topics as SGML (`<top> <num> ... <title> ... </top>`), XML or lines of id, tab and text, with four-column qrels.

    Topics in XML (`<topic number="1"> <query> ... </topic>`) are those of the tracks on the web and on COVID-19. In
    JSON, CSV and Parquet, and below a line of names, there is a column for the id, such as `qid` or `topic_id`.

    The first topics of TREC have ids like 051 that are 51 in their qrels: they are 51.

    Judged documents need not be in the corpus. Topics without judgments are left out of the metrics.

    Attributes:
        topics: The file of the topics.
        qrels: The file of the judgments: lines of query id, iteration (not read), document and grade, or one of the
            other formats of `read_qrels`. None if there are no judgments yet, for `ragsweep judge`.
        unit: What the judgments name: a `document`, a `page` ("manual.pdf#34") or a `page_number`.
        field: The field of a topic that is the query, such as title, desc, query or question. The others become further
            fields. In a table, `query`, `text` or `question` is read where there is no other setting.
        leave_out: `same_id` leaves the document with the id of a topic out of its ranking; None leaves it there.
    """

    topics: Text
    qrels: Text | None = None
    unit: Key = "document"
    field: Text = "title"
    leave_out: LeaveOut = None

    def __post_init__(self) -> None:
        if not re.fullmatch(FIELD, self.field):
            raise ConfigError(f"questions.field: found {self.field!r}, expected the name of a field, such as title")

    def read(self, documents: tuple[Document, ...]) -> Asked:
        """Read the topics and judgments."""
        documents = with_keys(documents, self.unit)
        faults = Faults(self.topics)
        judgments = tuple(read_trec_qrels(Path(self.qrels))) if self.qrels else ()
        queries = _as_judged(tuple(self._queries(faults)), {each.query_id for each in judgments})
        units = {composed(page.unit) for document in documents for page in document.pages}
        if self.qrels and documents and not any(composed(judgment.unit) in units for judgment in judgments):
            example = f"{judgments[0].unit!r} is not" if judgments else "there are none"
            raise DatasetError(f"{self.qrels}: no judgment is of a {self.unit} in the corpus; for example, {example}")
        known = {composed(query.query_id) for query in queries}
        faulty = {composed(each.name) for each in faults.found if each.name}
        for name in dict.fromkeys(each.query_id for each in judgments if composed(each.query_id) not in known | faulty):
            faults.add(DatasetError(f"{self.qrels}: query {name!r} is not in {self.topics}"), name)
        kept = judgments if not faults.found else tuple(each for each in judgments if composed(each.query_id) in known)
        unit: Unit = "document" if self.unit == "document" else "page"
        unranked = left_out_of_rankings(self.leave_out, queries, documents, kept)
        unjudged = "" if self.qrels else f"{self.topics}: there are no judgments of these topics (questions.qrels=FILE)"
        return Asked(unit, documents, queries, kept, faults=faults, unranked=unranked, unjudged=unjudged)

    def _queries(self, faults: Faults) -> Iterator[Query]:
        """The topics that can be used, and in `faults` why others cannot."""
        path, field = Path(self.topics), self.field.lower()
        if ending_of(path) in (".csv", ".parquet", *JSON):
            topics = topics_of_rows(read_entries(path, "queries", setting="questions.topics"), field)
        else:
            lines = list(lines_of(path, "questions.topics", "topics of TREC", formats="a text file"))
            topics = topics_in(path, lines, field)
        seen: set[str] = set()
        for where, number, query, fields in topics:
            if flaw := flaw_of_name(number):
                raise DatasetError(f"{where}: the query id {number[:80]!r} {flaw}")
            if number in seen:
                raise DatasetError(f"{where}: the query id {number!r} is in the file twice; expected once")
            seen.add(number)
            if query:
                yield Query(number, query, fields=fields)
            else:
                faults.add(DatasetError(f"{where}: the text of query {number!r} is blank"), number)


def _as_judged(queries: tuple[Query, ...], judged: Set[str]) -> tuple[Query, ...]:
    """The same queries, of which one with the number 051 is called 51 if that is judged, and there is no other 51."""
    taken = judged & {query.query_id for query in queries}
    numbers = {query.query_id: query.query_id.lstrip("0") for query in queries if query.query_id.isdecimal()}
    renamed = {name: number for name, number in numbers.items() if name not in judged and number in judged - taken}
    return tuple(replace(query, query_id=renamed.get(query.query_id, query.query_id)) for query in queries)


def read_trec_qrels(path: Path) -> Iterator[Judgment]:
    """The judgments in a file of qrels, each once."""
    return iter(dict.fromkeys(judgment for _, judgment in read_qrels(path, "questions.qrels")))
