"""Writes a recorded configuration as a folder that answers questions."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import DictConfig, OmegaConf

from ragsweep import tracking
from ragsweep.config.annotations import target_of
from ragsweep.config.walk import STORE
from ragsweep.core.arrays import NOTHING
from ragsweep.core.errors import ConfigError, TrackingError
from ragsweep.core.parsing import MalformedError, from_json, from_yaml
from ragsweep.core.plugins import is_ours
from ragsweep.core.project import portable, project
from ragsweep.core.timing import sample
from ragsweep.core.trec_files import TAG
from ragsweep.datasets import BeirDataset, Dataset, DatasetFormat, PdfDataset, PdfDocuments, TableCorpus
from ragsweep.datasets.model.collection import digest_of_documents
from ragsweep.experiment import Experiment
from ragsweep.models.language.language_model import Model
from ragsweep.production import model_card
from ragsweep.production.export_folder import (
    CARD,
    COMPONENTS,
    DECISION,
    INDEX,
    OTHERS,
    QUESTIONS_CHECKED,
    STAGES,
    Origin,
    Question,
    RetrieverSettings,
    read_check,
    write_check,
    write_settings,
)
from ragsweep.production.loading import differences, documents_of, load_with, refuse_if_not_alone
from ragsweep.replay.trusted_record import composed_today, trusted
from ragsweep.retrieval import Ingest, Ranking, rank
from ragsweep.retrieval.returned_units.merging import Enlarging
from ragsweep.store.code import kind_of
from ragsweep.store.stage_store import CompleteStore
from ragsweep.sweeps import SHIPPED
from ragsweep.tasks.ranking import trec_lines
from ragsweep.tasks.ranking.ranking_task import RankingTask
from ragsweep.tasks.search import components_within, search_of
from ragsweep.tracking import RegisteredRetriever
from ragsweep.tracking.names import RUN_ID

LARGEST_DECISION_MB = 100
LOADER = "ragsweep.production.serving"  # with this module MLflow loads a registered retriever
LARGEST_RANKING_MB = 1000
RANKING = "results/ranking.trec"


@dataclass(frozen=True)
class ExportRequest:
    """What to export.

    Attributes:
        run_id: A run, or a sweep, whose choice is exported.
        folder: The folder to make; it must not exist, or be empty. None makes none, where it is only registered.
        model: The registered model that gets it as a new version; None registers nothing.
        with_index: Whether to keep what loading computes in the folder.
        overrides: `name=value`: the places of stores and data on this machine.
        modules: Modules outside ragsweep whose classes the record may name.
    """

    run_id: str
    folder: Path | None
    model: str | None
    with_index: bool
    overrides: Sequence[str]
    modules: Sequence[str]


@dataclass(frozen=True)
class Exported:
    """What was exported.

    Attributes:
        name: Of the run.
        passages: How many there are.
        questions: How many are recorded.
        version: The version of the registered model; None if it was not registered.
        not_shipped: Why its sweep does not show that it should be shipped; None if it does, or of a single run.
    """

    name: str
    passages: int
    questions: int
    version: RegisteredRetriever | None
    not_shipped: str | None


def export(request: ExportRequest) -> Exported:
    """Write the folder, and register it. What it retrieves for the recorded questions is what the run recorded.

    Raises:
        ConfigError: The run cannot be exported, its sweep ships nothing to register, or the folder is there already.
        TrackingError: The run cannot be read, or its ranking cannot be made again.
        OSError: The folder, or its index, cannot be written; nothing is left there.
    """
    folder = request.folder and request.folder.resolve()
    if folder and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"--out: {request.folder} is there already; expected a new or an empty folder")
    today, settings = composed_today(request.overrides)
    run_id, decision = _chosen(today, request.run_id)
    run = tracking.fetch_run(today.tracking, run_id)
    refuse_if_not_alone(_classes_named(run.config), run_id)  # before anything is asked for that this needs
    _expect_shipped(decision, request, run_id)
    outcomes, _ = tracking.fetch_outcomes(today.tracking, [run_id])
    with chdir(project()):  # paths in a record are relative to the project
        experiment = Experiment.of(trusted(run.config, today, settings, request.modules))
        task, items = experiment.task, experiment.items
        if not isinstance(task, RankingTask) or not isinstance(items, Dataset) or task.budget is not None:
            raise ConfigError(
                f"{run_id}: measured {'within a budget' if isinstance(task, RankingTask) else f'by {kind_of(task)}'}; "
                "only runs of task=ranking with a k can be exported"
            )
        ranker = task.retrieval.ranker
        assert ranker is not None
        refuse_if_not_alone(ranker, run_id)
        _expect_index(request, task.ingest, run_id)
        ranking = task.rank(items)
        _expect_recorded(today, run_id, task, items, ranking)
        search = search_of(items)
        if len(search.unranked):  # a rule of the benchmark, which nobody's questions have
            nothing = np.empty((0, 2), dtype=np.int64)
            ranking = rank(ranker, replace(search, unranked=nothing), task.depth)
        nodes = _nodes(experiment, run_id)
        documents = documents_of(nodes["corpus"])
    origin = Origin(run_id, run.name, items.name, len(documents), digest_of_documents(documents))
    in_file = _in_file(nodes)
    written = RetrieverSettings(1, origin, task.k, task.depth, **in_file)
    questions = _questions(items, ranking, task)
    if folder:
        folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder and folder.parent, prefix=".ragsweep.") as draft:
        inner = Path(draft) / "retriever"
        inner.mkdir()
        card = model_card.model_card(outcomes[0], origin, decision, len(items.passages))
        _write(inner, written, questions, decision, card)
        texts = [*_texts(in_file)]  # they have been checked as those of the record
        if request.with_index:
            load_with(inner, {}, texts, request.modules, CompleteStore(str(inner / INDEX)), known=items.indexed_texts)
        if different := differences(load_with(inner, {}, texts, request.modules), read_check(inner)):
            raise TrackingError(f"{run_id}: the exported retriever does not answer as the run did: {different[0]}")
        version = None
        if request.model:
            version = tracking.register(today.tracking, run, inner, request.model, loader=LOADER, k=task.k, card=card)
        if folder:
            if folder.exists():
                folder.rmdir()
            inner.rename(folder)
    return Exported(run.name, len(items.passages), len(questions), version, _not_shipped(decision))


def _write(
    folder: Path,
    settings: RetrieverSettings,
    questions: Sequence[Question],
    decision: Mapping[str, Any] | None,
    card: str,
) -> None:
    """Write the files of a folder, other than its index."""
    write_settings(folder, settings)
    write_check(folder, settings.k, questions)
    if decision is not None:
        text = json.dumps(decision, indent=2, ensure_ascii=False)
        (folder / DECISION).write_text(f"{text}\n", encoding="utf-8")
    (folder / CARD).write_text(card, encoding="utf-8")


def _chosen(today: DictConfig, run_id: str) -> tuple[str, Mapping[str, Any] | None]:
    """The run to export, and the decision of the sweep if the id is that of a sweep."""
    text = tracking.fetch_text(today.tracking, run_id, DECISION, LARGEST_DECISION_MB)
    if text is None:
        return run_id, None
    try:
        decision = from_json(text)
        if "across_datasets" in decision:
            raise TrackingError(f"{run_id}: has several datasets; name the run of one: their tag `decision` is chosen")
        chosen = decision["choice"]["run_id"]
    except (MalformedError, KeyError, TypeError) as error:
        raise TrackingError(f"{run_id}: its {DECISION} cannot be read ({error})") from error
    if not isinstance(chosen, str) or not RUN_ID.fullmatch(chosen):
        raise TrackingError(f"{run_id}: its {DECISION} names no run; name one of its runs instead")
    return chosen, decision


def _expect_index(request: ExportRequest, ingest: Ingest | None, run_id: str) -> None:
    """Raise `ConfigError` if a model would have to write again what is indexed."""
    if not request.with_index and any(isinstance(each, Model) for each in components_within(ingest)):
        raise ConfigError(f"{run_id}: a language model has written what is indexed; --with-index exports that, too")


def _expect_shipped(decision: Mapping[str, Any] | None, request: ExportRequest, run_id: str) -> None:
    """Raise `ConfigError` if the choice of a sweep that ships nothing is to be registered."""
    if request.model and (why := _not_shipped(decision)):
        raise ConfigError(
            f"--register: sweep {request.run_id} does not show that its choice should be shipped ({why}); "
            f"ragsweep export {run_id} --register {request.model} registers the run all the same"
        )


def _not_shipped(decision: Mapping[str, Any] | None) -> str | None:
    why = (decision or {}).get("not_shipped")
    return None if why in SHIPPED else str(why)


def _classes_named(config: str) -> list[object]:
    """The classes of ours that a recorded configuration names for its retriever and the stages around it."""
    try:
        recorded = from_yaml(config)
    except MalformedError:  # `trusted` says so
        return []
    parts = [recorded.get(name) for name in (COMPONENTS[-1], *OTHERS, *STAGES)] if isinstance(recorded, dict) else []
    return [target_of(name) for name in _targets(parts) if is_ours(name)]


def _targets(node: Any) -> Iterator[str]:
    """The classes and functions that a node names."""
    if isinstance(node, dict) and isinstance(node.get("_target_"), str):
        yield node["_target_"]
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _targets(inner)


def _expect_recorded(today: DictConfig, run_id: str, task: RankingTask, items: Dataset, ranking: Ranking) -> None:
    """Raise `TrackingError` unless the ranking is the recorded one, for every query and at every rank."""
    text = tracking.fetch_text(today.tracking, run_id, RANKING, LARGEST_RANKING_MB)
    if text is None:
        raise TrackingError(f"{run_id}: has no {RANKING}, so that nobody knows what it retrieved")
    shown = task.shown(items, ranking)
    now = trec_lines.run_lines(shown.evaluation.judged, shown.ranking, shown.items, TAG)
    was, is_ = ([line.split()[0:3:2] for line in lines] for lines in (text.splitlines(), now))  # query and unit
    if was != is_:
        different = sum(one != other for one, other in zip(was, is_, strict=False)) + abs(len(was) - len(is_))
        raise TrackingError(
            f"{run_id}: {different:,} of {len(was):,} recorded ranks "
            f"{'is another' if different == 1 else 'are others'} now, so that the export would not "
            f"retrieve what was measured; ragsweep reproduce {run_id} says what has changed"
        )


def _nodes(experiment: Experiment, run_id: str) -> dict[str, Any]:
    """The nodes of the components that decide what is retrieved."""
    config: Any = OmegaConf.to_container(experiment.config, resolve=True)
    of_task = {**config, **config["task"]}
    nodes = {name: of_task[name] for name in (*COMPONENTS[1:], *OTHERS, *STAGES) if of_task.get(name) is not None}
    assert isinstance(experiment.task, RankingTask)
    return {"corpus": config["dataset"].get("corpus") or _corpus_node(experiment.task.dataset, run_id), **nodes}


def _corpus_node(dataset: DatasetFormat, run_id: str) -> dict[str, Any]:
    """The documents of a dataset that reads questions from the same place."""
    corpus = dataset.corpus if isinstance(dataset, PdfDataset | BeirDataset) else None
    if not isinstance(corpus, PdfDocuments | TableCorpus):
        raise ConfigError(f"{run_id}: the documents of {kind_of(dataset)} cannot be read without its questions")
    settings = {each.name: getattr(corpus, each.name) for each in fields(corpus)}
    values = {name: [*value] if isinstance(value, tuple) else value for name, value in settings.items()}
    store = {"store": {"_target_": STORE}} if "store" in values else {}
    return {"_target_": f"ragsweep.datasets.{type(corpus).__name__}", **values, **store}


def _in_file(node: Any) -> Any:
    """A node as `retriever.yaml` has it: without the places of this machine."""
    if isinstance(node, dict):
        kept = {"_target_": STORE} if node.get("_target_") == STORE else node
        return {name: _in_file(value) for name, value in kept.items()}
    return [*map(_in_file, node)] if isinstance(node, list) else portable(node)


def _texts(node: Any) -> Iterator[str]:
    """All texts in a node of `retriever.yaml`."""
    if isinstance(node, dict | list):
        for each in node.values() if isinstance(node, dict) else node:
            yield from _texts(each)
    elif isinstance(node, str):
        yield node


def _questions(items: Dataset, ranking: Ranking, task: RankingTask) -> list[Question]:
    """Some questions, evenly spread, with the ids of their first `k` passages, or of those that are returned for."""
    rows = sample(len(items.queries), QUESTIONS_CHECKED)
    enlarging = task.returns and Enlarging(task.returns, items.documents, items.passages)
    questions = []
    for row in rows.tolist():
        found = ranking.passages[row][ranking.passages[row] != NOTHING].tolist()
        passages = [items.passages[each] for each in found[: task.k]]
        if enlarging:
            parts = enlarging.at_cutoffs(found, ranking.scores[row].tolist(), task.k)[-1]
            passages = [enlarging.first_found(part, found) for part in parts]
        questions.append(Question(items.queries[row].text, tuple(each.chunk_id for each in passages)))
    return questions
