"""Reads finished runs from the tracking store."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from mlflow.entities import Run
from omegaconf import DictConfig

from ragsweep.core.csv_files import read_per_query
from ragsweep.core.errors import TrackingError, first_line
from ragsweep.core.parsing import MalformedError, read_text
from ragsweep.sweeps import Outcome
from ragsweep.tracking.client import Client
from ragsweep.tracking.names import STEPPED
from ragsweep.tracking.sweep_runs import (
    UNREADABLE,
    SweepRun,
    Swept,
    finished_runs,
    job_result,
    runs_of_jobs,
    swept_values,
    unreadable,
)
from ragsweep.tracking.tracking_store import UNREACHABLE, existing_store

LARGEST_SETTINGS_MB = 10  # of a run's configuration or its list of packages


@dataclass(frozen=True)
class Recorded:
    """A finished run.

    Attributes:
        name: Its name.
        run_id: The store's name for it.
        config: Its `config/config.yaml`.
        requirements: Its packages, with versions.
        params: The settings that were used.
        tags: Its tags.
        swept: The swept settings and their values.
        dataset: Digest of its dataset, shortened to what MLflow stores.
        metrics: All values, by name and step.
        per_query: Its table of queries.
    """

    name: str
    run_id: str
    config: str
    requirements: Sequence[str]
    params: Mapping[str, str]
    tags: Mapping[str, str]
    swept: Swept
    dataset: str
    metrics: Mapping[tuple[str, int], float]
    per_query: pd.DataFrame


class History(NamedTuple):
    """A run or a sweep in the store. The runs of a sweep are in the order of its jobs."""

    name: str
    status: str
    swept: Swept
    runs: Sequence[Recorded]


def fetch(tracking: DictConfig, run_id: str) -> History:
    """A run, or the finished runs of a sweep.

    Raises:
        TrackingError: The store cannot be reached, or has no such finished run.
    """
    with reading(tracking, run_id) as client:
        run = client.get_run(run_id)
        runs = [_of_sweep(client, sweep_run) for sweep_run in finished_runs(client, run_id)] or [_recorded(client, run)]
        return History(run.info.run_name, run.info.status, swept_values(run.data.tags), runs)


def fetch_run(tracking: DictConfig, run_id: str) -> Recorded:
    """A finished run.

    Raises:
        TrackingError: The store cannot be reached or has no such finished run. If it is a sweep, its best run is named.
    """
    with reading(tracking, run_id) as client:
        run = client.get_run(run_id)
        finished = {sweep_run.name: sweep_run.run_id for sweep_run in finished_runs(client, run_id)}
        best = run.data.tags.get("best.configuration")
        if best in finished:
            the_best = f"the best is {best}: {finished[best]}"
            raise TrackingError(f"{run_id}: this is a sweep, expected one of its runs; {the_best}")
        if finished:
            raise TrackingError(f"{run_id}: this is a sweep; expected one of its {len(finished)} finished runs")
        return _recorded(client, run)


def fetch_text(tracking: DictConfig, run_id: str, path: str, most_mb: float) -> str | None:
    """A file of a run or of a sweep; None if there is none.

    Raises:
        TrackingError: The store cannot be reached or has no such run, or the file cannot be read.
    """
    with reading(tracking, run_id) as client, tempfile.TemporaryDirectory() as folder:
        try:
            return read_text(Path(client.download_artifacts(run_id, path, folder)), most_mb)
        except FileNotFoundError:
            return None


def fetch_outcomes(tracking: DictConfig, run_ids: Sequence[str]) -> tuple[list[Outcome], dict[str, str]]:
    """Finished runs by their ids, each once, in the order given. The id of a sweep stands for all its finished runs.

    Returns:
        The runs; and the names of runs of a sweep that did not finish, or that cannot be read, with the reason.

    Raises:
        TrackingError: The store cannot be reached; or a run is not finished, has no finished runs in it, or has results
            that cannot be read.
    """
    found: dict[str, Outcome] = {}
    lost: dict[str, str] = {}
    for run_id in run_ids:
        with reading(tracking, run_id) as client:
            jobs = runs_of_jobs(client, run_id)
            of_sweep = [job for job in jobs if job.run.info.status == "FINISHED"]
            run = client.get_run(run_id)
            if not of_sweep and run.info.status != "FINISHED":
                raise TrackingError(f"{run_id}: this run is {run.info.status}, not FINISHED")
            lost |= {_unlike(job, lost): job.run.info.status for job in jobs if job not in of_sweep}
            for sweep_run in of_sweep or [SweepRun(0, run.info.run_name, {}, run)]:
                if sweep_run.run_id not in found:
                    try:
                        found[sweep_run.run_id] = job_result(client, sweep_run).outcome
                    except UNREADABLE as error:
                        if not of_sweep:
                            raise
                        lost[_unlike(sweep_run, lost)] = unreadable(error)
    return list(found.values()), lost


def _unlike(job: SweepRun, others: Collection[str]) -> str:
    """The name of a run, with its id where a run of another sweep has that name."""
    return f"{job.name} ({job.run_id[:8]})" if job.name in others else job.name


@contextmanager
def reading(tracking: DictConfig, run_id: str) -> Iterator[Client]:
    """A client of the store. Errors within the block become a `TrackingError` about this run."""
    try:
        yield existing_store(tracking.uri, tracking.artifacts)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise TrackingError(f"{run_id}: its record cannot be read ({first_line(error)})") from error
    except UNREACHABLE as error:
        reason = first_line(error)
        raise TrackingError(f"{run_id}: cannot be read from {tracking.uri} ({reason})") from error


def _of_sweep(client: Client, sweep_run: SweepRun) -> Recorded:
    """A run with the name and swept values that it has in the sweep."""
    return replace(_recorded(client, sweep_run.run), name=sweep_run.name, swept=sweep_run.swept)


def _recorded(client: Client, run: Run) -> Recorded:
    if run.info.status != "FINISHED":
        raise TrackingError(f"{run.info.run_id}: this run is {run.info.status}, not FINISHED")
    try:
        return _read(client, run)
    except MalformedError as error:
        raise TrackingError(f"{run.info.run_id}: its record cannot be read ({error})") from error


def _read(client: Client, run: Run) -> Recorded:
    with tempfile.TemporaryDirectory() as folder:
        files = [
            Path(client.download_artifacts(run.info.run_id, path, folder))
            for path in ("config/config.yaml", "environment/requirements.txt", "results/per_query.csv")
        ]
        config, requirements = (read_text(file, LARGEST_SETTINGS_MB) for file in files[:2])
        per_query = read_per_query(files[2])
    metrics = {(name, 0): value for name, value in run.data.metrics.items() if not name.startswith(STEPPED)}
    for name in run.data.metrics:
        if name.startswith(STEPPED):
            metrics |= {(name, point.step): point.value for point in client.get_metric_history(run.info.run_id, name)}
    datasets = run.inputs.dataset_inputs if run.inputs else []
    if len(datasets) != 1:
        raise MalformedError(f"it names {len(datasets)} datasets, expected one")
    return Recorded(
        run.info.run_name,
        run.info.run_id,
        config,
        requirements.split(),
        run.data.params,
        run.data.tags,
        swept_values(run.data.tags),
        datasets[0].dataset.digest,
        metrics,
        per_query,
    )
