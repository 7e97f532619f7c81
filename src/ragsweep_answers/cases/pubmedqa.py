"""Reads PubMedQA: questions about the abstracts of studies, answered by yes, no or maybe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ragsweep.core.errors import DatasetError
from ragsweep.core.limits import Text
from ragsweep.datasets.model.cases import LETTERS, Case, Option, flaw_of_case
from ragsweep.datasets.model.collection import Collection, Document, Judgment, Query
from ragsweep.datasets.model.faults import Faults
from ragsweep.datasets.model.selecting import Selecting
from ragsweep.datasets.readers.fields import SHOWN_CHARACTERS, Entry, id_of, shown_value, text_of, value_of
from ragsweep.datasets.readers.tables import read_entries, read_json

DECISIONS = ("yes", "no", "maybe")

Fields = tuple[str | None, Any, Any]  # the question, the paragraphs of the abstract, and the answer


@dataclass(frozen=True)
class PubMedQADataset(Selecting):
    """PubMedQA (Jin et al., 2019, arXiv:1909.06146). Its documents are the abstracts without their conclusions.

    `ids` can be `test_ground_truth.json`, whose fields are the PubMed ids of the 500 questions of the test set.

    Attributes:
        name: Name of the dataset and of its experiment in MLflow.
        cases: The original file, such as `ori_pqal.json`, or the rows of the Hugging Face hub: a file with one JSON
            object per line whose name does not end in `.json`.
    """

    name: Text
    cases: Text

    def load(self) -> Collection:
        """Read the questions, each with its abstract. Both have the PubMed id of the study."""
        documents: list[Document] = []
        cases: dict[str, Case] = {}
        options = tuple(map(Option, LETTERS, DECISIONS))
        faults = Faults(self.cases)
        for where, read_id, read in self._entries():
            pmid = None
            try:
                pmid = read_id()
                question, contexts, decision = read()
                if pmid in cases:
                    raise DatasetError(f"{where}: the PubMed id {pmid!r} is in the file twice")
                if not isinstance(contexts, list) or not all(isinstance(text, str) for text in contexts):
                    expected = "expected a list of paragraphs"
                    raise DatasetError(f"{where}: the abstract is {shown_value(contexts)}; {expected}")
                if decision not in DECISIONS:
                    problem = f"'final_decision' is {shown_value(decision)}; expected yes, no or maybe"
                    raise DatasetError(f"{where}: {problem} (questions without an answer cannot be judged)")
                case = Case(pmid, "", question or "", options, LETTERS[DECISIONS.index(decision)])
                if flaw := flaw_of_case(case):
                    raise DatasetError(f"{where}: {flaw}")
            except DatasetError as error:
                faults.add(error, pmid)
                continue
            cases[pmid] = case
            documents.append(Document.from_pages(pmid, [("1", pmid, "\n".join(contexts))]))
        if not cases and not faults.found:
            raise DatasetError(f"{self.cases}: contains no cases; expected at least one")
        collection = Collection(
            name=self.name,
            unit="document",
            documents=tuple(documents),
            queries=tuple(map(Query.of, cases.values())),
            judgments=tuple(Judgment(pmid, pmid, 1) for pmid in cases),
            cases=tuple(cases.values()),
        )
        return self.selected(collection, faults)

    def _entries(self) -> Iterator[tuple[str, Callable[[], str], Callable[[], Fields]]]:
        """The place of each entry, and what reads its PubMed id and its fields."""
        path = Path(self.cases)
        if path.suffix != ".json":
            for where, entry in read_entries(path, "cases"):
                yield where, partial(id_of, entry, "pubid", where), partial(_of_hub, entry, where)
            return
        entries = read_json(path, "cases")
        if not isinstance(entries, dict):
            expected = "expected an object of questions by PubMed id; rows of the hub need a name that ends in .jsonl"
            raise DatasetError(f"{path}: found {shown_value(entries)}, {expected}")
        for name, entry in entries.items():
            where = f"{path}, {name[:SHOWN_CHARACTERS]!r}"
            yield where, partial(id_of, {"id": name}, "id", where), partial(_of_authors, entry, where)


def _of_hub(entry: Entry, where: str) -> Fields:
    context = value_of(entry, "context", where)
    contexts = value_of(context, "contexts", where) if isinstance(context, dict) else context
    return text_of(entry, "question", where), contexts, value_of(entry, "final_decision", where)


def _of_authors(entry: object, where: str) -> Fields:
    if not isinstance(entry, dict):
        raise DatasetError(f"{where}: expected an object, found {shown_value(entry)}")
    question, contexts = text_of(entry, "QUESTION", where), value_of(entry, "CONTEXTS", where)
    return question, contexts, value_of(entry, "final_decision", where)
