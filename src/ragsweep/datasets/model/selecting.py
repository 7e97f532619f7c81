"""Selects questions of a dataset by their ids, groups them, and adds judgments of `ragsweep judge`."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from ragsweep.config.annotations import as_configured
from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.core.limits import Text
from ragsweep.core.terminal import counted, say_once, verb
from ragsweep.datasets.model import grouping
from ragsweep.datasets.model.collection import Collection
from ragsweep.datasets.model.faults import Faults, OnError
from ragsweep.datasets.model.grouping import grouped
from ragsweep.datasets.model.left_out import LeftOut
from ragsweep.datasets.readers.fields import listed, shown_value, whole
from ragsweep.datasets.readers.qrels_files import read_qrels
from ragsweep.datasets.readers.tables import lines_of, read_json
from ragsweep.store.code import kind_of
from ragsweep.text.normalisation import composed

Ids = Text | Sequence[Text] | None

SETTING = "dataset.ids"
QRELS = "dataset.qrels"


@dataclass(frozen=True, kw_only=True)
class Selecting:
    """The settings by which a dataset leaves out questions, groups them, and gets further judgments.

    Attributes:
        on_error: Whether a question that cannot be used refuses the dataset, or is left out.
        ids: Selects questions: a list of ids, or a file with them; see `selected`. None selects all questions.
        group: The field that names the group of a question; see `grouped`.
        qrels: A file of judgments that are added to those of the dataset, or replace them; None if there is none.
    """

    on_error: OnError = "refuse"
    ids: Text | Sequence[Text] | None = None
    group: Text | None = None
    qrels: Text | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", _checked(self.ids))

    @property
    def without_effect(self) -> Sequence[str]:
        """Those of these settings that change nothing, because they have their defaults."""
        defaults = {"ids": None, "on_error": "refuse", "group": None, "qrels": None}
        return [name for name, default in defaults.items() if getattr(self, name) == default]

    def selected(self, collection: Collection, faults: Faults | None) -> Collection:
        """The collection with the selected questions only, which know their groups; see `selected` and `grouped`."""
        faults = faults or Faults(collection.name)
        judged = collection if self.qrels is None else with_qrels(collection, Path(self.qrels), faults)
        some = selected(judged, self.ids, faults, self.on_error)
        return grouped(some, self.group)

    def expect_selected(self, collection: Collection) -> None:
        """Raise `ConfigError` unless a collection is as `selected` returns it: `load` would ignore these settings."""
        wanted = None if self.ids is None else _wanted(self.ids)
        unwanted = wanted is not None and any(composed(query.query_id) not in wanted for query in collection.queries)
        alone = self.group is not None and all(query.group is None for query in collection.queries)
        if unwanted or (alone and grouped(collection, self.group).queries != collection.queries):
            setting = SETTING if unwanted else grouping.SETTING
            found = f"{kind_of(self)}.load() leaves it without effect"
            raise ConfigError(f"{setting}: {found}; expected it to return self.selected(collection, None)")


def _checked(ids: object) -> Ids:
    """The setting, checked: a file, a list of ids, or None. Raises `ConfigError` for anything else."""
    if ids is None or isinstance(ids, str):
        return ids
    if isinstance(ids, Sequence) and ids and all(isinstance(one, str | int) for one in ids):
        return tuple(map(str, ids))
    raise ConfigError(f"{SETTING}: found {as_configured(ids)}, expected a file, or a list of ids like [q1,q2]")


def with_qrels(collection: Collection, path: Path, faults: Faults) -> Collection:
    """The collection with the judgments of a file, which replace those of the same query and unit.

    Raises:
        DatasetError: The file cannot be read, or judges a query or a unit that the dataset does not have.
    """
    if collection.references:
        raise DatasetError(f"{QRELS}: {collection.name} judges spans of text; expected a dataset of pages or documents")
    found = replace(collection, judgments=tuple(judgment for _, judgment in read_qrels(path, QRELS))).judgments
    queries = {query.query_id for query in collection.queries}
    left_out = {composed(fault.name) for fault in faults.found if fault.name}
    units = {page.unit for document in collection.documents for page in document.pages}
    for query_id, unit, _ in found:
        if query_id not in queries and composed(query_id) not in left_out:
            raise DatasetError(f"{path}: {collection.name} has no query {query_id!r}; it has {listed(sorted(queries))}")
        if unit not in units:
            raise DatasetError(f"{path}: {collection.name} has no {collection.unit} {unit!r}, which is judged")
    judgments = {(each.query_id, each.unit): each for each in (*collection.judgments, *found)}
    kept = tuple(each for key, each in judgments.items() if key[0] in queries)
    return replace(collection, judgments=kept, unjudged="" if kept else collection.unjudged)


def selected(collection: Collection, ids: Ids, faults: Faults, on_error: OnError = "refuse") -> Collection:
    """The collection with these questions only. All documents stay.

    Args:
        collection: With all questions that can be used.
        ids: The ids, or a file with them: a text file with one id on each line, a JSON list, or a JSON object whose
            fields they are. None selects all questions.
        faults: Why each of the questions that are missing in the collection cannot be used.
        on_error: Whether a selected question that cannot be used refuses the dataset, or is left out.

    Raises:
        DatasetError: The file cannot be read, the dataset does not have an id, or a selected question cannot be used.
    """
    if ids is None:
        faulty = faults.left_out(on_error, len(collection.queries))
        return replace(collection, left_out=collection.left_out._replace(faulty=faulty))
    wanted = _wanted(ids)
    kept = tuple(query for query in collection.queries if composed(query.query_id) in wanted)
    chosen = _chosen(collection, wanted, faults)
    faulty = chosen.left_out(on_error, len(kept))
    if not kept:
        raise DatasetError(f"{SETTING}: selects no question of {collection.name}")
    left = {*faulty}
    others = (query.query_id for query in collection.queries if composed(query.query_id) not in wanted)
    return replace(
        collection,
        queries=kept,
        judgments=tuple(each for each in collection.judgments if composed(each.query_id) in wanted),
        references=tuple(each for each in collection.references if composed(each.query_id) in wanted),
        cases=tuple(each for each in collection.cases if composed(each.query_id) in wanted),
        left_out=LeftOut(
            faulty,
            (*others, *(each.name for each in faults.found if each not in left)),
            tuple(each for each in collection.left_out.documents if composed(each.query_id) in wanted),
        ),
    )


def _wanted(ids: Text | Sequence[Text]) -> set[str]:
    return {composed(each) for each in (_in_file(Path(ids)) if isinstance(ids, str) else ids)}


def _chosen(collection: Collection, wanted: Set[str], faults: Faults) -> Faults:
    """The faults of questions with these ids. One whose id cannot be read is taken for that of an id without question.

    Raises `DatasetError` if there are more such ids.
    """
    known = {composed(query.query_id) for query in collection.queries}
    known |= {composed(each.name) for each in faults.found if each.name is not None}
    unknown = sorted(wanted - known)
    nameless = [each for each in faults.found if each.name is None][: len(unknown)]
    if len(unknown) > len(nameless):
        found = f"{len(unknown)} of {len(wanted)} ids {verb(len(unknown), 'are')} not in {collection.name}"
        there_is = listed(query.query_id for query in collection.queries)
        raise DatasetError(f"{SETTING}: {found}: {listed(unknown)}; it has {there_is}")
    if unknown:
        say_once(f"{SETTING}: {counted(len(unknown), 'id')} of no question that can be used: {listed(unknown)}")
    return faults.of(lambda each: each in nameless if each.name is None else composed(each.name) in wanted)


def _in_file(path: Path) -> list[str]:
    lines = [line.strip() for _, line in lines_of(path, SETTING, "ids", formats="a text or JSON file")]
    first = next(filter(None, lines), "")
    if not first.startswith(("[", "{")):
        return [line for line in lines if line]
    found = read_json(path, "ids", setting=SETTING)
    ids = [*found] if isinstance(found, dict | list) else []
    texts = [str(number) if (number := whole(one)) is not None else one for one in ids]
    if not texts or not all(isinstance(one, str) for one in texts):
        expected = "a list of ids, or an object whose fields they are"
        raise DatasetError(f"{path}: found {shown_value(found)}; expected {expected}")
    return [one.strip() for one in texts]
