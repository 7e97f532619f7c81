"""A run that is read back: from the tracking store, or from its folder."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated

import pandas as pd
from mlflow import MlflowClient
from mlflow.entities import Run
from pydantic import PlainValidator

from ragsweep.config.annotations import expected
from ragsweep.config.run_settings import Cutoff, Resamples, Seed
from ragsweep.core.csv_files import read_numbers, read_per_query
from ragsweep.core.errors import TrackingError
from ragsweep.core.json_records import from_record
from ragsweep.core.parsing import MalformedError, read_text
from ragsweep.core.terminal import one_line
from ragsweep.sweeps import Outcome
from ragsweep.tasks.evaluation_record import read_facts
from ragsweep.tasks.measurement_files import RESAMPLED
from ragsweep.tracking.mlflow_names import NOT_COLUMNS, STEPPED
from ragsweep.tracking.tracked_job import MEASURED, RACE, RUN_SCHEMA, SCHEMA, SWEPT

PER_QUERY, FACTS, RESAMPLED_FILE = "results/per_query.csv", "results/evaluation.json", f"results/{RESAMPLED}"
LARGEST_SETTINGS_MB = 10  # of a run's configuration or its list of packages
NUMBERS = {"evaluation.resamples": Resamples, "k": Cutoff, "seed": Seed}


def _plain(value: object) -> object:
    if isinstance(value, dict | list):
        raise ValueError("expected a plain value")
    return value


Plain = Annotated[bool | int | float | str | None, PlainValidator(_plain)]
Swept = Mapping[str, Plain]  # settings with their values


@dataclass(frozen=True, eq=False)
class StoredRun:
    """A run that is read back. Anybody may have written it, so every reader raises `MalformedError`.

    Attributes:
        name: Its name in the sweep that is read.
        run_id: The store's id for it; empty if the store does not have it.
        status: RUNNING, FINISHED, FAILED or KILLED; or why there is no such run.
        files: Where its files are: its folder, or a client of the store.
        number: The number of its job in the sweep.
        swept: The swept settings and their values.
        params: The settings that were used.
        tags: Its tags.
        values: The last value of each metric.
        experiment_id: The store's id for its experiment.
        started: Milliseconds since 1970.
        datasets: Digests of its datasets, shortened to what MLflow stores.
        runs: The finished runs of a sweep, in the order of its jobs; of another run, this run alone.
    """

    name: str
    run_id: str
    status: str
    files: Path | MlflowClient
    number: int = 0
    swept: Swept = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)
    experiment_id: str = ""
    started: int | None = None
    datasets: Sequence[str] = ()
    runs: Sequence[StoredRun] = ()

    @classmethod
    def of(cls, client: MlflowClient, run: Run) -> StoredRun:
        """A run of the store."""
        about, data = run.info, run.data
        inputs = run.inputs.dataset_inputs if run.inputs else []
        return cls(
            about.run_name,
            about.run_id,
            about.status,
            client,
            params=dict(data.params),
            tags=data.tags,
            values=data.metrics,
            experiment_id=str(about.experiment_id),
            started=about.start_time,
            datasets=[logged.dataset.digest for logged in inputs],
        )

    @cached_property
    def config(self) -> str:
        """Its `config/config.yaml`."""
        return self._text("config/config.yaml")

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """The titles of its metrics by name; the first is the one that decides."""
        return from_record(dict[str, str], self.tags.get(MEASURED, "{}"))

    @cached_property
    def requirements(self) -> Sequence[str]:
        """Its packages, with versions."""
        return self._text("environment/requirements.txt").split()

    @cached_property
    def per_query(self) -> pd.DataFrame:
        """Its table of queries."""
        with self._file(PER_QUERY) as file:
            return read_per_query(file)

    @cached_property
    def metrics(self) -> Mapping[tuple[str, int], float]:
        """All measured values, by name and step."""
        assert isinstance(self.files, MlflowClient)
        scalars = {name: value for name, value in self.values.items() if not name.startswith(NOT_COLUMNS)}
        metrics = {(name, 0): value for name, value in scalars.items()}
        for name in self.values:
            if name.startswith(STEPPED):
                points = self.files.get_metric_history(self.run_id, name)
                metrics |= {(name, point.step): point.value for point in points}
        return metrics

    @property
    def dataset(self) -> str:
        """Digest of its dataset."""
        if len(self.datasets) != 1:
            raise MalformedError(f"it names {len(self.datasets)} datasets, expected one")
        return self.datasets[0]

    @property
    def outcome(self) -> Outcome:
        """The results of a finished run."""
        self.check_schema()
        for name, hint in NUMBERS.items():
            value = self.params.get(name, "")[:40]
            if name in self.params and (words := expected(hint, int(value) if value.isdecimal() else value)):
                raise MalformedError(f"{name}: found {value!r}, expected {words}")
        with self._file(FACTS) as file:
            facts = read_facts(file)
        measured = self.per_query
        means = facts.metrics.keys() - facts.aggregates.keys()
        if missing := means - set(measured.select_dtypes("number").columns):
            raise MalformedError(f"per_query.csv has no column {min(missing)}")
        for name in means:
            if problem := facts.metrics[name].problem_of(measured[name].to_numpy()):
                raise MalformedError(f"per_query.csv: {problem}")
        resampled = {}
        if facts.aggregates:
            with self._file(RESAMPLED_FILE) as file:
                resampled = read_numbers(file)
        if missing := facts.aggregates.keys() - resampled.keys():
            raise MalformedError(f"{RESAMPLED} has no column {min(missing)}")
        return Outcome(self.name, self.run_id, self.swept, self.params, measured, facts, resampled)

    def check(self) -> None:
        """Read the whole record, and keep it.

        Raises:
            TrackingError: It is not finished, was dropped by a race, or cannot be read.
        """
        self.check_measured()
        try:
            self.check_schema()
            _ = self.config, self.requirements, self.per_query, self.metrics, self.dataset
        except MalformedError as error:
            raise TrackingError(f"{self.run_id}: its record cannot be read ({error})") from error

    def check_measured(self) -> None:
        """Raise `TrackingError` unless it is finished and was measured on all queries."""
        if self.status != "FINISHED":
            raise TrackingError(f"{self.run_id}: this run is {self.status}, not FINISHED")
        if RACE in self.tags:
            remedy = "and has no results over all of them; name one that was left in the race"
            raise TrackingError(f"{self.run_id}: this run was {one_line(self.tags[RACE])[:80]}, {remedy}")

    def check_schema(self) -> None:
        """Raise `MalformedError` unless this version reads the schema of its record."""
        if (schema := self.tags.get(SCHEMA, "none")) != RUN_SCHEMA:
            remedy = "install the newest ragsweep, which may read others"
            raise MalformedError(f"schema: found {schema[:40]}, expected {RUN_SCHEMA}; {remedy}")

    def _text(self, name: str) -> str:
        with self._file(name) as file:
            return read_text(file, LARGEST_SETTINGS_MB)

    @contextmanager
    def _file(self, name: str) -> Iterator[Path]:
        """A file of the run; one of the store is fetched."""
        if isinstance(self.files, Path):
            yield self.files / name
            return
        with tempfile.TemporaryDirectory() as folder:
            yield Path(self.files.download_artifacts(self.run_id, name, folder))


def swept_values(tags: Mapping[str, str]) -> Swept:
    """The swept settings of a run with their values. Raises `MalformedError` if its tag contains something else."""
    try:
        return from_record(dict[str, Plain], tags.get(SWEPT, "{}"))
    except MalformedError as error:
        raise MalformedError(f"tag {SWEPT}: {error}") from error
