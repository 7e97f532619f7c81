"""What is known of a run: collected while it works, kept in a file of its folder and uploaded when it ends."""

from __future__ import annotations

import json
import os
import time
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from mlflow import MlflowClient
from mlflow.entities import Dataset as LoggedDataset
from mlflow.entities import DatasetInput, InputTag, Metric, Param, Run, RunTag
from pydantic import AfterValidator, ConfigDict, FailFast, Field

from ragsweep.core.errors import RefusedError, TrackingError, first_line
from ragsweep.core.json_records import from_record
from ragsweep.core.parsing import MalformedError, read_text
from ragsweep.tasks.task import Items
from ragsweep.tracking.client import reason
from ragsweep.tracking.mlflow_names import RUN_ID, params_of, tagged, tags_of
from ragsweep.tracking.store_address import check_address
from ragsweep.tracking.tracked_job import dataset_input, is_measured
from ragsweep.tracking.tracking_store import UNREACHABLE, is_refusal, open_store

FILE = "tracking.json"
NOTE = "mlflow.note.content"
KEY = "key"  # tag: identifies a run, also before the tracking store has given it an id
METRICS_A_BATCH = 800  # MLflow accepts 1000 metrics, params and tags together
PARAMS_A_BATCH = 100
LARGEST_JOURNAL_MB = 50
LAST = 253_402_300_799_000  # milliseconds since 1970: the end of the year 9999, the last that a date can have
DATASET = {"name", "digest", "source_type", "source", "profile"}


def _line(text: str) -> str:
    if not text.isprintable() or not text.strip():
        raise ValueError("expected a string of one line")
    return text


def _address(uri: str) -> str:
    if "://" not in _line(uri):
        raise ValueError("expected an address such as http://127.0.0.1:5000")
    check_address(uri)
    return uri


def _dataset(about: dict[str, str]) -> dict[str, str]:
    if about.keys() != DATASET:
        raise ValueError(f"expected texts named {', '.join(sorted(DATASET))}")
    return about


Time = Annotated[int, Field(ge=0, le=LAST)]
Id = Annotated[str, Field(pattern=f"^{RUN_ID.pattern}$")]
Step = Annotated[int, Field(ge=0, lt=2**31)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


@dataclass(eq=False)
class Journal:
    """A run that was begun here. Its file is written when it ends, and when the store does not take its start.

    Attributes:
        schema: Of the file.
        uri: The tracking store.
        artifacts: Where a new experiment of a local store keeps its artifacts.
        experiment: The experiment's name.
        name: The run's name.
        tags: Its tags.
        started: Milliseconds since 1970.
        key: The tag by which the run is found in the store.
        run_id: The run's id in the store; None as long as the store does not have it.
        named: The name that the store was given last; None as long as it has none.
        params: The settings.
        metrics: Name, step and value of each.
        dataset: Name, digest, source and profile of the dataset.
        parts: The files and folders of the run's folder that are its artifacts.
        status: RUNNING, FINISHED, FAILED or KILLED.
        ended: Milliseconds since 1970.
        uploaded: Whether the store has all of it.
        folder: The run's folder. Not in the file, as what follows.
        experiment_id: The experiment's id in the store; empty while the store does not answer.
        trouble: Why something of the run is missing in the store; empty if nothing is.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    schema: Literal[1] = field(default=1, kw_only=True)
    uri: Annotated[str, AfterValidator(_address)]
    artifacts: Annotated[str, AfterValidator(_line)] | None
    experiment: str
    name: str
    tags: dict[str, str]
    started: Time
    key: Id = field(default_factory=lambda: uuid.uuid4().hex)
    run_id: Id | None = None
    named: str | None = None
    params: dict[str, str] = field(default_factory=dict)
    metrics: Annotated[list[tuple[str, Step, Finite]], FailFast()] = field(default_factory=list)
    dataset: Annotated[dict[str, str], AfterValidator(_dataset)] | None = None
    parts: Annotated[list[str], FailFast()] = field(default_factory=list)
    status: Annotated[str, Field(pattern="^(RUNNING|FINISHED|FAILED|KILLED)$")] = "RUNNING"
    ended: Time | None = None
    uploaded: bool = False
    folder: Path = field(init=False)
    experiment_id: str = field(init=False)
    trouble: str = field(init=False)

    def __post_init__(self) -> None:
        """Begin without a folder, and without a store."""
        self.folder, self.experiment_id, self.trouble = Path(), "", ""

    @classmethod
    def read(cls, folder: Path) -> Journal:
        """The journal of the run in this folder.

        Raises:
            TrackingError: It is not a journal as `write` makes it. Somebody else may have written it.
        """
        file = folder / FILE
        try:
            if file.is_symlink():
                raise MalformedError("a link")
            return from_record(cls, read_text(file, LARGEST_JOURNAL_MB))
        except (MalformedError, OSError, RefusedError) as error:
            raise TrackingError(f"{file}: {error}") from error

    def write(self, folder: Path) -> None:
        """Write the journal into the run's folder. A reader finds either the old or the new one, never half of one."""
        folder.mkdir(parents=True, exist_ok=True)
        draft = folder / f".{FILE}"
        draft.unlink(missing_ok=True)
        try:
            with draft.open("x", encoding="utf-8") as file:  # fails on a link in its place
                json.dump({own.name: getattr(self, own.name) for own in fields(self) if own.init}, file)
                file.flush()
                os.fsync(file.fileno())  # otherwise a power cut could leave an empty file under the new name
            draft.replace(folder / FILE)
        finally:
            draft.unlink(missing_ok=True)

    def log(
        self, settings: Mapping[str, Any], metrics: Mapping[tuple[str, int], float], items: Items | None = None
    ) -> None:
        """Note the params, the metrics by name and step, and the dataset."""
        self.params |= params_of(settings)
        self.metrics = [(*key, value) for key, value in metrics.items()]
        self.dataset = dataset_input(items, settings) if items else self.dataset

    def add(self, *parts: str) -> None:
        """Note files and folders of the run's folder, as far as they are there."""
        self.parts += [part for part in parts if part not in self.parts and (self.folder / part).exists()]

    def tag(self, tags: Mapping[str, str]) -> None:
        """Note tags."""
        self.tags |= tags_of(tags)

    def close(self, status: str) -> None:
        """End an open run as FINISHED, FAILED or KILLED, and upload it. An end that was interrupted is gone on with.

        A run whose numbers the store rejects is FAILED, with its files.
        """
        if self not in OPEN:
            return
        if self.status == "RUNNING":
            self.status, self.ended = status, int(time.time() * 1000)
        self.trouble = unwritten = ""
        try:
            self.write(self.folder)
        except OSError as error:  # a full disk must not keep the run open
            unwritten = f"; its journal cannot be written ({first_line(error)})"
        try:
            upload(self, self.folder)
        except (TrackingError, *UNREACHABLE) as error:
            self.trouble = "" if self.uploaded else f"{reason(error)}{unwritten}"
            if is_refusal(error) and (self.params or self.metrics):
                self.params, self.metrics, self.dataset, self.status = {}, [], None, "FAILED"
                reason_refused = str(refused(error, self.folder))
                self.tag({"error": reason_refused})
                self.close("FAILED")
                self.trouble = reason_refused
        OPEN.discard(self)

    def delete(self) -> None:
        """Delete an open run, so that neither the store nor the folder has it."""
        OPEN.discard(self)
        (self.folder / FILE).unlink(missing_ok=True)
        if self.run_id:
            with suppress(*UNREACHABLE):
                MlflowClient(self.uri).set_terminated(self.run_id, "FAILED")
                MlflowClient(self.uri).delete_run(self.run_id)


OPEN: set[Journal] = set()  # the runs that this process has begun and not closed


def refused(error: Exception, folder: Path) -> RefusedError:
    """The error that ends a run whose record the store rejects."""
    if isinstance(error, RefusedError):
        return error
    return RefusedError(f"the tracking store refuses the run ({first_line(error)}); its files are in {folder}")


def note_uploaded(folder: Path, run_id: str) -> None:
    """Note that the store has all of a run, if this is its folder: its process may have been killed before it could."""
    with suppress(TrackingError, OSError):
        journal = Journal.read(folder)
        if journal.run_id == run_id and not journal.uploaded:
            journal.status, journal.uploaded = "FINISHED", True
            journal.write(folder)


def check_parts(folder: Path, parts: Sequence[str]) -> None:
    """Make sure that what will be uploaded is in the run's folder.

    Raises:
        TrackingError: A part is outside of the folder, is a link, or contains a link.
    """
    for part in parts:
        names = Path(part).parts
        if not names or ".." in names or Path(part).is_absolute() or "\0" in part:
            raise TrackingError(f"its part {part!r} is not in the run's folder")
        above = [folder.joinpath(*names[:count]) for count in range(1, len(names))]
        for path in (*above, folder / part, *(folder / part).rglob("*")):
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                raise TrackingError(f"its part {part!r} does not exist, or has a link or a device in it")


def upload(journal: Journal, folder: Path) -> None:
    """Upload what the journal describes. What the store has already is not added twice.

    Raises:
        TrackingError: The store cannot be opened, or the journal names another run or files outside the folder; or one
            of `UNREACHABLE` if the store stops answering.
    """
    check_parts(folder, journal.parts)
    client, journal.experiment_id = open_store(journal.uri, journal.experiment, journal.artifacts)
    run = _run_of(client, journal)
    is_whole = run.info.status == "FINISHED" and is_measured(run)  # it only gets tags of a decision
    try:
        _send_numbers(client, replace(journal, metrics=[], params={}, dataset=None) if is_whole else journal)
        for part in () if is_whole else journal.parts:
            if (folder / part).is_dir():
                client.log_artifacts(run.info.run_id, str(folder / part), part)
            else:
                client.log_artifact(run.info.run_id, str(folder / part))
    except (RefusedError, *UNREACHABLE) as error:
        if is_refusal(error):  # otherwise the run would stay open for ever
            client.set_tag(run.info.run_id, "error", f"the tracking store refuses the run ({first_line(error)})")
            client.set_terminated(run.info.run_id, "FAILED", journal.ended)
        raise
    if "error" in run.data.tags and "error" not in journal.tags:  # it was refused, or closed by another process
        client.delete_tag(run.info.run_id, "error")
    client.set_terminated(run.info.run_id, journal.status, journal.ended)
    journal.uploaded = True
    journal.write(folder)


def _run_of(client: MlflowClient, journal: Journal) -> Run:
    """The run in the store, which is created if the store does not have it."""
    if journal.run_id is None:
        begun = client.search_runs([journal.experiment_id], tagged(KEY, journal.key), max_results=1)
        journal.run_id = begun[0].info.run_id if begun else create_run(client, journal.experiment_id, journal)
    run = client.get_run(journal.run_id)
    if run.data.tags.get(KEY) != journal.key:
        raise TrackingError(f"run {journal.run_id} of the store is another one")
    if journal.named in (None, run.info.run_name) and run.info.run_name != journal.name:  # else somebody has renamed it
        client.update_run(journal.run_id, name=journal.name)  # a sweep is named by its decision when it ends
    return run


def create_run(client: MlflowClient, experiment_id: str, journal: Journal) -> str:
    """Create the run in the store. Returns its id."""
    tags = journal.tags | {KEY: journal.key}
    run_id: str = client.create_run(experiment_id, journal.started, tags, journal.name).info.run_id
    journal.named = journal.name
    return run_id


def _send_numbers(client: MlflowClient, journal: Journal) -> None:
    """Log metrics, params, tags and the dataset. Metrics are as old as the run, so sending them twice adds nothing."""
    metrics = [Metric(name, value, journal.started, step) for name, step, value in journal.metrics]
    params = [Param(*param) for param in journal.params.items()]
    tags = [RunTag(*tag) for tag in journal.tags.items()]
    sized = ((metrics, METRICS_A_BATCH), (params, PARAMS_A_BATCH), (tags, PARAMS_A_BATCH))
    batches = [[values[start : start + size] for start in range(0, len(values), size)] for values, size in sized]
    for batch in zip_longest(*batches, fillvalue=()):
        client.log_batch(journal.run_id, *batch)
    if journal.dataset:
        context = [InputTag("mlflow.data.context", "evaluation")]
        client.log_inputs(journal.run_id, [DatasetInput(LoggedDataset(**journal.dataset), context)])


def journals_below(folder: Path, refused: dict[Path, str] | None = None) -> Iterator[tuple[Path, Journal]]:
    """The runs below a folder, by name: the folder of each and its journal.

    Args:
        folder: The folder.
        refused: Gets the folders whose journal cannot be read, with the reason. None warns of them instead.
    """
    for file in sorted(folder.rglob(FILE)):
        try:
            yield file.parent, Journal.read(file.parent)
        except TrackingError as error:
            if refused is None:
                warnings.warn(f"{error}; its run is left out", stacklevel=2)
            else:
                refused[file.parent] = str(error)
