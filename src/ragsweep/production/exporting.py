"""Writes a recorded configuration as a folder that answers questions."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from omegaconf import DictConfig, OmegaConf

from ragsweep import tracking
from ragsweep.config.annotations import target_of
from ragsweep.config.configuration_walk import STORE, TARGET, built
from ragsweep.core.arrays import NOTHING
from ragsweep.core.errors import ConfigError, TrackingError
from ragsweep.core.parsing import MalformedError, from_json
from ragsweep.core.plugins import is_ours
from ragsweep.core.project import command, portable, project
from ragsweep.core.timing import sample
from ragsweep.core.trec_files import TAG
from ragsweep.datasets import Dataset
from ragsweep.datasets.model.collection import digest_of_documents
from ragsweep.experiment import Experiment
from ragsweep.models.language.language_model import LanguageModel
from ragsweep.production import export_folder
from ragsweep.production.export_folder import DECISION, INDEX, PARTS, Origin, Question, RetrieverSettings
from ragsweep.production.loading import differences, load_with, refuse_if_not_alone
from ragsweep.production.model_card import model_card
from ragsweep.replay.trusted_record import composed_today, settings_in, settings_within, trusted
from ragsweep.report import TAKEN
from ragsweep.retrieval import Ranking, rank
from ragsweep.retrieval.returned_units.merging import Enlarging
from ragsweep.store.code import kind_of
from ragsweep.store.stage_store import NO_STORE, CompleteStore
from ragsweep.tasks.ranking.ranking_tables import run_lines
from ragsweep.tasks.ranking.ranking_task import RankingTask
from ragsweep.tasks.search import components_within, search_of
from ragsweep.tracking import RegisteredRetriever
from ragsweep.tracking.mlflow_names import RUN_ID
from ragsweep.tracking.sweep_runs import LARGEST_DECISION_MB

LOADER = "ragsweep.production.serving"  # with this module MLflow loads a registered retriever
LARGEST_RANKING_MB = 1000
RANKING = "results/ranking.trec"


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


def export(
    run_id: str,
    out: Path | None,
    model: str | None,
    *,
    with_index: bool,
    overrides: Sequence[str],
    modules: Sequence[str],
) -> Exported:
    """Write a folder, and register it. What it retrieves for the recorded questions is what the run recorded.

    Args:
        run_id: A run, or a sweep, whose choice is exported.
        out: The folder to make; it must not exist, or be empty. None makes none, where it is only registered.
        model: The registered model that gets it as a new version; None registers nothing.
        with_index: Whether to keep what loading computes in the folder.
        overrides: `name=value`: the places of stores and data on this machine.
        modules: Modules outside ragsweep whose classes the record may name.

    Raises:
        ConfigError: The run cannot be exported, its sweep ships nothing to register, or the folder is there already.
        TrackingError: The run cannot be read, or its ranking cannot be made again.
        OSError: The folder, or its index, cannot be written; nothing is left there.
    """
    folder = out and out.resolve()
    if folder and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"--out: {out} is there already; expected a new or an empty folder")
    today, settings = composed_today(overrides)
    sweep, (run_id, decision) = run_id, _chosen(today, run_id)
    store = tracking.store_overrides(today.tracking, overrides)
    run = tracking.fetch_run(today.tracking, run_id)
    refuse_if_not_alone(_classes_named(run.config), run_id)  # before anything is asked for that this needs
    why = decision["not_shipped"] if decision else None
    not_shipped = None if why in TAKEN else str(why)
    if model and not_shipped:
        raise ConfigError(
            f"--register: sweep {sweep} does not show that its choice should be shipped ({not_shipped}); "
            f"this registers the run all the same: {command('export', run_id, *overrides, '--register', model, *store)}"
        )
    outcomes, _ = tracking.fetch_outcomes(today.tracking, [run_id])
    with chdir(project()):  # paths in a record are relative to the project
        experiment = Experiment.of(trusted(run.config, today, settings, modules))
        _refuse_changed(experiment, run.params, settings)
        task, items = _exportable(experiment, run_id, with_index=with_index)
        ranking = _ranking_as_recorded(today, run_id, task, items, command("reproduce", run_id, *overrides, *store))
        nodes = _nodes(experiment, task, run_id)
        documents = built("corpus", nodes["corpus"], NO_STORE).read()
    origin = Origin(run_id, run.name, items.name, len(documents), digest_of_documents(documents))
    in_file = portable(nodes)
    questions = _questions(items, ranking, task)
    if folder:
        folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder and folder.parent, prefix=".ragsweep.") as draft:
        inner = Path(draft) / "retriever"
        inner.mkdir()
        export_folder.write_settings(inner, RetrieverSettings(1, origin, task.k, task.depth, **in_file))
        export_folder.write_check(inner, task.k, questions)
        if decision is not None:
            text = json.dumps(decision, indent=2, ensure_ascii=False)
            (inner / DECISION).write_text(f"{text}\n", encoding="utf-8")
        card = model_card(outcomes[0], origin, decision, len(items.passages))
        (inner / export_folder.CARD).write_text(card, encoding="utf-8")
        texts = [value for _, value in settings_within(in_file) if isinstance(value, str)]  # checked as the record's
        if with_index:
            load_with(inner, {}, texts, modules, CompleteStore(str(inner / INDEX)), indexed_texts=items.indexed_texts)
        if different := differences(load_with(inner, {}, texts, modules), export_folder.read_check(inner)):
            raise TrackingError(f"{run_id}: the exported retriever does not answer as the run did: {different[0]}")
        version = None
        if model:
            version = tracking.register(today.tracking, run, inner, model, loader=LOADER, k=task.k, card=card)
        if folder:
            if folder.exists():
                folder.rmdir()
            inner.rename(folder)
    return Exported(run.name, len(items.passages), len(questions), version, not_shipped)


def _chosen(today: DictConfig, run_id: str) -> tuple[str, Mapping[str, Any] | None]:
    """The run to export, and the decision of the sweep if the id is that of a sweep."""
    text = tracking.fetch_text(today.tracking, run_id, DECISION, LARGEST_DECISION_MB)
    if text is None:
        return run_id, None
    try:
        decision = from_json(text)
        if "across_datasets" in decision:
            raise TrackingError(f"{run_id}: has several datasets; name the run of one: their tag `decision` is chosen")
        chosen, _ = decision["choice"]["run_id"], decision["not_shipped"]
    except (MalformedError, KeyError, TypeError) as error:
        raise TrackingError(f"{run_id}: its {DECISION} cannot be read ({error})") from error
    if not isinstance(chosen, str) or not RUN_ID.fullmatch(chosen):
        raise TrackingError(f"{run_id}: its {DECISION} names no run; name one of its runs instead")
    return chosen, decision


def _refuse_changed(experiment: Experiment, recorded: Mapping[str, str], overrides: Mapping[str, Any]) -> None:
    """Raise `ConfigError` if an override changes what was measured; the place of a file or a server may be another."""
    for name, value in overrides.items():
        is_place = isinstance(value, str) and ("://" in value or Path(value).exists())
        own = {path: str(now) for path, now in experiment.settings.items() if f"{path}.".startswith(f"{name}.")}
        if not is_place and any(recorded.get(path, now) != now for path, now in own.items()):
            raise ConfigError(f"{name}: the run measured another value; name the run that measured this one by its id")


def _exportable(experiment: Experiment, run_id: str, *, with_index: bool) -> tuple[RankingTask, Dataset]:
    """The task and its items. Raises `ConfigError` if it needs more than documents and a question."""
    task, items = experiment.task, experiment.items
    if not isinstance(task, RankingTask) or not isinstance(items, Dataset) or task.budget is not None:
        how = "within a budget" if isinstance(task, RankingTask) else f"by {kind_of(task)}"
        raise ConfigError(f"{run_id}: measured {how}; only runs of task=ranking with a k can be exported")
    refuse_if_not_alone(task.retrieval.ranker, run_id)
    if not with_index and any(isinstance(part, LanguageModel) for part in components_within(task.ingest)):
        raise ConfigError(f"{run_id}: a language model has written what is indexed; --with-index exports that, too")
    return task, items


def _classes_named(config: str) -> list[object]:
    """The classes of ours that a recorded configuration names for its retriever and the stages around it."""
    nodes = [node for name, node in settings_in(config).items() if name in PARTS and name not in ("corpus", "chunker")]
    targets = [value for key, value in settings_within(nodes) if key == TARGET and isinstance(value, str)]
    return [target_of(target) for target in targets if is_ours(target)]


def _ranking_as_recorded(
    today: DictConfig, run_id: str, task: RankingTask, items: Dataset, reproducing: str
) -> Ranking:
    """The ranking without rules of a benchmark. Raises `TrackingError` unless with them, it is the recorded one."""
    text = tracking.fetch_text(today.tracking, run_id, RANKING, LARGEST_RANKING_MB)
    if text is None:
        raise TrackingError(f"{run_id}: has no {RANKING}, so that nobody knows what it retrieved")
    ranking = task.rank(items)
    shown = task.shown(items, ranking)
    now = run_lines(shown.evaluation.judged, shown.ranking, shown.items, TAG)
    was, is_ = ([line.split()[0:3:2] for line in lines] for lines in (text.splitlines(), now))  # query and unit
    if was != is_:
        different = sum(one != other for one, other in zip(was, is_, strict=False)) + abs(len(was) - len(is_))
        raise TrackingError(
            f"{run_id}: {different:,} of {len(was):,} recorded ranks "
            f"{'is another' if different == 1 else 'are others'} now, so that the export would not "
            f"retrieve what was measured; what has changed is said by: {reproducing}"
        )
    search = search_of(items)
    if not len(search.unranked):
        return ranking
    return rank(task.ranker, replace(search, unranked=np.empty((0, 2), dtype=np.int64)), task.depth)


def _nodes(experiment: Experiment, task: RankingTask, run_id: str) -> dict[str, Any]:
    """The nodes of the components that decide what is retrieved, with the class of the store and no place of it."""
    unplaced = OmegaConf.merge(experiment.config, {})
    unplaced.store = {TARGET: STORE}
    config: Any = OmegaConf.to_container(unplaced, resolve=True)
    of_task = {**config, **config["task"], "corpus": config["dataset"].get("corpus") or _corpus_node(task, run_id)}
    return {name: of_task[name] for name in PARTS if of_task.get(name) is not None}


def _corpus_node(task: RankingTask, run_id: str) -> dict[str, Any]:
    """The documents of a dataset that reads questions from the same place."""
    corpus: Any = task.dataset.documents_alone()
    if corpus is None or not is_ours(type(corpus).__module__):
        raise ConfigError(f"{run_id}: the documents of {kind_of(task.dataset)} cannot be read without its questions")
    settings = {field.name: getattr(corpus, field.name) for field in fields(corpus)}
    values = {name: [*value] if isinstance(value, tuple) else value for name, value in settings.items()}
    store = {"store": {TARGET: STORE}} if "store" in values else {}
    return {TARGET: f"ragsweep.datasets.{type(corpus).__name__}", **values, **store}


def _questions(items: Dataset, ranking: Ranking, task: RankingTask) -> list[Question]:
    """Some questions, evenly spread, with the ids of their first `k` passages, or of those that are returned for."""
    rows = sample(len(items.queries), export_folder.QUESTIONS_CHECKED)
    enlarging = task.returns and Enlarging(task.returns, items.documents, items.passages)
    questions = []
    for row in rows.tolist():
        ranked = ranking.passages[row][ranking.passages[row] != NOTHING].tolist()
        passages = [items.passages[number] for number in ranked[: task.k]]
        if enlarging:
            parts = enlarging.at_cutoffs(ranked, ranking.scores[row].tolist(), task.k)[-1]
            passages = [enlarging.first_found(part, ranked) for part in parts]
        questions.append(Question(items.queries[row].text, tuple(passage.chunk_id for passage in passages)))
    return questions
