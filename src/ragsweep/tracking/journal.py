"""What the tracking store shall hold of a run, kept in the run's folder: the store may be out of reach."""

from __future__ import annotations

import json
import os
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import TypeVar

from mlflow import MlflowClient
from mlflow.entities import Dataset as LoggedDataset
from mlflow.entities import DatasetInput, InputTag, Metric, Param, Run, RunTag

from ragsweep.tracking.store import open_store

FILE = "tracking.json"
KEY = "key"  # tag: names a run before, and whether or not, the tracking store has given it a number

METRICS_A_BATCH = 800  # MLflow takes 1000 of all kinds together
PARAMS_A_BATCH = 100

T = TypeVar("T")


@dataclass
class Journal:
    """One run, as far as it has come.

    Attributes:
        uri: The tracking store.
        artifacts: Where a new experiment of a local store keeps its artifacts.
        experiment: The experiment's name.
        name: The run's name.
        tags: Its tags.
        started: Milliseconds since 1970.
        key: The tag by which the run is found in the store.
        run_id: The store's name for the run, once it has one.
        params: The settings.
        metrics: Name, step and value of each.
        dataset: Name, digest, source and profile of what was searched.
        parts: Files and folders of the run's folder that are its artifacts.
        status: RUNNING, FINISHED, FAILED or KILLED.
        ended: Milliseconds since 1970.
        uploaded: Whether the store has all of it.
    """

    uri: str
    artifacts: str | None
    experiment: str
    name: str
    tags: dict[str, str]
    started: int
    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    run_id: str | None = None
    params: dict[str, str] = field(default_factory=dict)
    metrics: list[tuple[str, int, float]] = field(default_factory=list)
    dataset: dict[str, str] | None = None
    parts: list[str] = field(default_factory=list)
    status: str = "RUNNING"
    ended: int | None = None
    uploaded: bool = False

    @classmethod
    def read(cls, folder: Path) -> Journal:
        """The journal of the run in this folder."""
        return cls(**json.loads((folder / FILE).read_text(encoding="utf-8")))

    def write(self, folder: Path) -> None:
        """Keep the journal in the run's folder; a reader finds it whole, as it was or as it is."""
        folder.mkdir(parents=True, exist_ok=True)
        draft = folder / f".{FILE}"
        with draft.open("w", encoding="utf-8") as file:
            json.dump(asdict(self), file)
            file.flush()
            os.fsync(file.fileno())  # else a power cut could leave an empty file under the new name
        draft.replace(folder / FILE)


def upload(journal: Journal, folder: Path) -> None:
    """Bring the store to the state of the journal, whatever of it is there already; nothing is there twice after it.

    Raises:
        TrackingError: The store cannot be opened; or one of `UNREACHABLE`, where it goes away meanwhile.
    """
    client, experiment_id = open_store(journal.uri, journal.experiment, journal.artifacts)
    journal.run_id = journal.run_id or _run_of(client, experiment_id, journal)
    send_tags(client, journal.run_id, journal.tags)
    send_numbers(client, journal)
    send_files(client, journal, folder, journal.parts)
    client.set_terminated(journal.run_id, journal.status, journal.ended)
    journal.uploaded = True
    journal.write(folder)


def _run_of(client: MlflowClient, experiment_id: str, journal: Journal) -> str:
    found: list[Run] = client.search_runs([experiment_id], f"tags.`{KEY}` = '{journal.key}'", max_results=1)
    return found[0].info.run_id if found else create_run(client, experiment_id, journal)


def create_run(client: MlflowClient, experiment_id: str, journal: Journal) -> str:
    """Make the run in the store; its name there."""
    tags = journal.tags | {KEY: journal.key}
    run_id: str = client.create_run(experiment_id, journal.started, tags, journal.name).info.run_id
    return run_id


def send_tags(client: MlflowClient, run_id: str | None, tags: Mapping[str, str]) -> None:
    """Set these tags."""
    for some in _batches(list(tags.items()), PARAMS_A_BATCH):
        client.log_batch(run_id, tags=[RunTag(*tag) for tag in some])


def send_numbers(client: MlflowClient, journal: Journal) -> None:
    """Log params, metrics and the dataset. All metrics bear the run's start as their time: sent twice, they are one."""
    metrics = [Metric(name, value, journal.started, step) for name, step, value in journal.metrics]
    params = [Param(*param) for param in journal.params.items()]
    for some_metrics, some_params in zip_longest(
        _batches(metrics, METRICS_A_BATCH), _batches(params, PARAMS_A_BATCH), fillvalue=()
    ):
        client.log_batch(journal.run_id, some_metrics, some_params)
    if journal.dataset:
        tags = [InputTag("mlflow.data.context", "evaluation")]
        client.log_inputs(journal.run_id, [DatasetInput(LoggedDataset(**journal.dataset), tags)])


def send_files(client: MlflowClient, journal: Journal, folder: Path, parts: Sequence[str]) -> None:
    """Upload these files and folders below `folder`."""
    for part in parts:
        if (folder / part).is_dir():
            client.log_artifacts(journal.run_id, str(folder / part), part)
        else:
            client.log_artifact(journal.run_id, str(folder / part))


def _batches(values: Sequence[T], size: int) -> list[Sequence[T]]:
    return [values[start : start + size] for start in range(0, len(values), size)]


def below(folder: Path) -> Iterator[tuple[Path, Journal]]:
    """The folders of runs in a folder, in the order of their names, and their journals; a broken one is named."""
    for file in sorted(folder.rglob(FILE)):
        try:
            yield file.parent, Journal.read(file.parent)
        except (OSError, ValueError, TypeError):
            warnings.warn(f"{file}: cannot be read, so that its run is left out", stacklevel=2)
