"""The experiment of a recorded run, also where its system is not asked again, and what it says of one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from omegaconf import DictConfig

from ragsweep import tracking
from ragsweep.core.digest import digest
from ragsweep.core.errors import ConfigError, RetrieverError
from ragsweep.core.project import project
from ragsweep.experiment import Experiment
from ragsweep.replay.trusted_record import composed_today, settings_in, trusted
from ragsweep.retrieval.results import FILE, LARGEST_MB
from ragsweep.tasks.task import Record

RETRIEVER = "ragsweep.retrieval.ReturnedRetriever"
KEPT = ("first_page", "fuzzy_threshold")  # settings by which results are matched to what is judged


def recorded_experiment(
    run: tracking.StoredRun, today: DictConfig, settings: Mapping[str, Any], modules: Sequence[str], folder: Path
) -> tuple[Experiment, str]:
    """The experiment of a run; by what its system had returned where that may not or cannot be asked.

    Args:
        run: The recorded run.
        today: The configuration of this machine.
        settings: What the user overrides.
        modules: Modules outside ragsweep whose classes the record may name.
        folder: Where what the system had returned can be written.

    Returns:
        The experiment, and a line that says so where the system is not asked; otherwise an empty one.

    Raises:
        ConfigError: The record contains something that is not allowed, or cannot be composed.
    """
    try:
        return Experiment.of(trusted(run.config, today, settings, modules)), ""
    except (ConfigError, RetrieverError) as error:
        returned = tracking.fetch_text(today.tracking, run.run_id, f"results/{FILE}", LARGEST_MB)
        if returned is None:
            raise
        file = folder / f"{digest(run.run_id)}.jsonl"  # the id is what a server says
        file.write_text(returned, encoding="utf-8")
        note = f"{run.name}: by what the system had returned, as it is not asked again ({error})"
        in_its_place = {"retriever": returning(run.config), "retriever.path": str(file)}
        return Experiment.of(trusted(run.config, today, {**settings, **in_its_place}, modules)), note


def returning(config: str) -> dict[str, Any]:
    """The retriever that returns what is in a file, matched as that of a run's `config/config.yaml`.

    Raises:
        ConfigError: The configuration has no retriever.
    """
    retriever = settings_in(config).get("retriever")
    if not isinstance(retriever, dict):
        raise ConfigError("retriever: config.yaml of the run has no such group of settings")
    matching = {name: retriever[name] for name in KEPT if name in retriever}
    return {"_target_": RETRIEVER, "path": "", "name": None, **matching}


def explain(run_id: str, query: str, overrides: Sequence[str], modules: Sequence[str], width: int) -> str:
    """The explanation as text, for a terminal that is `width` characters wide. Records nothing.

    Args:
        run_id: The run.
        query: The id of a query, or a part of its text that is in no other query. Empty if none was named.
        overrides: `name=value`: the places of stores and data on this machine.
        modules: Modules outside ragsweep whose classes the record may name.
        width: That of the terminal.
    """
    today, settings = composed_today(overrides)
    run = tracking.fetch_run(today.tracking, run_id)
    if not query:
        raise ConfigError(f"{run_id}: which query? expected its id or a part of its text, after the run")
    with chdir(project()), TemporaryDirectory(prefix="explain-") as folder:  # paths of records start at the project
        experiment, how = recorded_experiment(run, today, settings, modules, Path(folder))
        task = experiment.task
        record = Record(run.name, run.run_id, run.per_query, run.params)
        return "\n".join([*([how] if how else []), *task.explain(experiment.items, query, record, width)])
