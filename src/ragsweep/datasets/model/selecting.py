"""Selects questions of a dataset by their ids, groups them, and adds judgments of `ragsweep judge`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ragsweep.config.annotations import as_configured
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.limits import Text
from ragsweep.core.terminal import counted, say_once, verb
from ragsweep.datasets.model import grouping
from ragsweep.datasets.model.collection import Collection
from ragsweep.datasets.model.dataset_format import DatasetFormat
from ragsweep.datasets.model.faults import Faults, OnQuestionError
from ragsweep.datasets.model.grouping import grouped
from ragsweep.datasets.readers.fields import listed
from ragsweep.datasets.readers.qrels_files import read_qrels
from ragsweep.datasets.readers.tables import lines_of
from ragsweep.store.code import kind_of
from ragsweep.text.normalisation import composed

Ids = Text | Sequence[Text] | None

SETTING = "dataset.ids"
QRELS = "dataset.qrels"


@dataclass(frozen=True, kw_only=True)
class Selecting(DatasetFormat):
    """The settings by which a dataset leaves out questions, groups them, and gets further judgments.

    Attributes:
        on_error: Whether a question that cannot be used refuses the dataset, or is left out. Or whether one of pages
            that no document has is kept, in which case these count as missed; any other fault refuses then, too.
        ids: Selects questions: a list of ids, or a file with them; see `selected`. None selects all questions.
        group: The field that names the group of a question; see `grouped`.
        qrels: A file of judgments that are added to those of the dataset, or replace them; None if there is none.
    """

    on_error: OnQuestionError = "refuse"
    ids: Text | Sequence[Text] | None = None
    group: Text | None = None
    qrels: Text | None = None

    def __post_init__(self) -> None:
        if self.ids is None or isinstance(self.ids, str):
            return
        names = self.ids if isinstance(self.ids, Sequence) else ()
        if not names or not all(isinstance(name, str | int) for name in names):
            shown = as_configured(self.ids)
            raise ConfigError(f"{SETTING}: found {shown}, expected a file, or a list of ids like [q1,q2]")
        object.__setattr__(self, "ids", tuple(map(str, names)))

    @property
    def without_effect(self) -> Sequence[str]:
        """Those of these settings that change nothing, because they have their defaults."""
        defaults = {"ids": None, "on_error": "refuse", "group": None, "qrels": None}
        return [name for name, default in defaults.items() if getattr(self, name) == default]

    def selected(self, collection: Collection, faults: Faults | None = None) -> Collection:
        """The collection with further judgments and the selected questions only, which know their groups."""
        faults = faults or collection.faults or Faults(collection.name)
        if self.on_error == "keep":
            collection, faults = with_absent(collection, faults)
        judged = collection if self.qrels is None else with_qrels(collection, Path(self.qrels), faults)
        return grouped(selected(judged, self.ids, faults, self.on_error), self.group)

    def expect_selected(self, collection: Collection) -> None:
        """Raise `ConfigError` unless a collection is as `selected` returns it: `load` would ignore these settings."""
        wanted = None if self.ids is None else _wanted(self.ids)
        unwanted = wanted is not None and any(composed(query.query_id) not in wanted for query in collection.queries)
        alone = self.group is not None and all(query.group is None for query in collection.queries)
        if unwanted or (alone and grouped(collection, self.group).queries != collection.queries):
            setting = SETTING if unwanted else grouping.SETTING
            problem = f"{kind_of(self)}.load() leaves it without effect"
            raise ConfigError(f"{setting}: {problem}; expected it to return self.selected(collection)")


def with_absent(collection: Collection, faults: Faults) -> tuple[Collection, Faults]:
    """The collection with its questions of pages that no document has, and the faults of the others.

    What no document has stays judged, so that it counts as missed.
    """
    absent = [fault.absent for fault in faults.faults if fault.absent]
    queries, cases = [*collection.queries], [*collection.cases]
    for question in reversed(absent):
        queries.insert(question.position, question.query)
        if question.case is not None:
            cases.insert(question.position, question.case)
    judgments = (*collection.judgments, *(judgment for question in absent for judgment in question.judgments))
    remaining = replace(faults, faults=[fault for fault in faults.faults if not fault.absent])
    kept = replace(collection, queries=tuple(queries), judgments=judgments, cases=tuple(cases), faults=remaining)
    return kept, remaining


def with_qrels(collection: Collection, path: Path, faults: Faults) -> Collection:
    """The collection with the judgments of a file, which replace those of the same query and unit.

    Raises:
        DatasetError: The file cannot be read, or judges a query or a unit that the dataset does not have.
    """
    if collection.references:
        raise DatasetError(f"{QRELS}: {collection.name} judges spans of text; expected a dataset of pages or documents")
    added = replace(collection, judgments=tuple(judgment for _, judgment in read_qrels(path, QRELS))).judgments
    queries = {query.query_id for query in collection.queries}
    faulty = {composed(fault.name) for fault in faults.faults if fault.name}
    units = {page.unit for document in collection.documents for page in document.pages}
    for query_id, unit, _ in added:
        if query_id not in queries and composed(query_id) not in faulty:
            raise DatasetError(f"{path}: {collection.name} has no query {query_id!r}; it has {listed(sorted(queries))}")
        if unit not in units:
            raise DatasetError(f"{path}: {collection.name} has no {collection.unit} {unit!r}, which is judged")
    judgments = {(judgment.query_id, judgment.unit): judgment for judgment in (*collection.judgments, *added)}
    kept = tuple(judgment for judgment in judgments.values() if judgment.query_id in queries)
    return replace(collection, judgments=kept, unjudged="" if kept else collection.unjudged)


def selected(collection: Collection, ids: Ids, faults: Faults, on_error: OnQuestionError = "refuse") -> Collection:
    """The collection with these questions only. All documents stay.

    Args:
        collection: With all questions that can be used.
        ids: The ids, or a text file with one id on each line. None selects all questions.
        faults: Why each of the questions that are missing in the collection cannot be used.
        on_error: Whether a selected question that cannot be used refuses the dataset, or is left out.

    Raises:
        DatasetError: The file cannot be read, the dataset does not have an id, or a selected question cannot be used.
    """
    if ids is None:
        faulty = faults.left_out(on_error, len(collection.queries))
        return replace(collection, left_out=collection.left_out._replace(faulty=faulty))
    wanted = _wanted(ids)
    kept = [query for query in collection.queries if composed(query.query_id) in wanted]
    unknown = sorted(wanted - {composed(query.query_id) for query in collection.queries}
                     - {composed(fault.name) for fault in faults.faults if fault.name})  # fmt: skip
    nameless = [fault for fault in faults.faults if fault.name is None][: len(unknown)]  # may have the unknown ids
    if len(unknown) > len(nameless):
        problem = f"{len(unknown)} of {len(wanted)} ids {verb(len(unknown), 'are')} not in {collection.name}"
        there_is = listed(query.query_id for query in collection.queries)
        raise DatasetError(f"{SETTING}: {problem}: {listed(unknown)}; it has {there_is}")
    if unknown:
        say_once(f"{SETTING}: {counted(len(unknown), 'id')} of no question that can be used: {listed(unknown)}")
    of_wanted = [fault for fault in faults.faults
                 if (fault in nameless if fault.name is None else composed(fault.name) in wanted)]  # fmt: skip
    faulty = replace(faults, faults=of_wanted).left_out(on_error, len(kept))
    if not kept:
        raise DatasetError(f"{SETTING}: selects no question of {collection.name}")
    unselected = [query.query_id for query in collection.queries if composed(query.query_id) not in wanted]
    unused = [fault.name for fault in faults.faults if fault not in faulty]
    asked = collection.asking(kept)
    return replace(asked, left_out=asked.left_out._replace(faulty=faulty, unselected=(*unselected, *unused)))


def _wanted(ids: Text | Sequence[Text]) -> set[str]:
    if isinstance(ids, str):
        lines = lines_of(Path(ids), SETTING, "ids", formats="a text file")
        ids = [name for _, line in lines if (name := line.strip())]
    return {composed(name) for name in ids}
