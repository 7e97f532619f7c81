"""Reads finished runs from the tracking store."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from omegaconf import DictConfig

from ragsweep.core.errors import TrackingError
from ragsweep.core.parsing import read_text
from ragsweep.sweeps import Outcome
from ragsweep.tracking.stored_run import StoredRun, swept_values
from ragsweep.tracking.sweep_runs import UNREADABLE, finished_runs, runs_of_jobs, unreadable
from ragsweep.tracking.tracking_store import reading


def fetch(tracking: DictConfig, run_id: str) -> StoredRun:
    """A run, or a sweep with its finished runs; these have been read.

    Raises:
        TrackingError: The store cannot be reached, or has no such finished run.
    """
    with reading(tracking.uri, tracking.artifacts, run_id) as client:
        fetched = StoredRun.of(client, client.get_run(run_id))
        fetched = replace(fetched, swept=swept_values(fetched.tags))
        runs = finished_runs(client, run_id) or [fetched]
        for run in runs:
            run.check()
        return replace(fetched, runs=runs)


def fetch_run(tracking: DictConfig, run_id: str) -> StoredRun:
    """A finished run.

    Raises:
        TrackingError: The store cannot be reached or has no such finished run. If it is a sweep, its best run is named.
    """
    with reading(tracking.uri, tracking.artifacts, run_id) as client:
        fetched = StoredRun.of(client, client.get_run(run_id))
        if finished := {run.name: run.run_id for run in finished_runs(client, run_id)}:
            best = fetched.tags.get("best.configuration")
            named = f"; its decision names {best}: {finished[best]}" if best in finished else ""
            raise TrackingError(f"{run_id}: this is a sweep, expected one of its {len(finished)} finished runs{named}")
        fetched.check()
        return fetched


def fetch_text(tracking: DictConfig, run_id: str, path: str, most_mb: float) -> str | None:
    """A file of a run or of a sweep; None if there is none.

    Raises:
        TrackingError: The store cannot be reached or has no such run, or the file cannot be read.
    """
    with reading(tracking.uri, tracking.artifacts, run_id) as client, tempfile.TemporaryDirectory() as folder:
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
    outcomes: dict[str, Outcome] = {}
    lost: dict[str, str] = {}
    for run_id in run_ids:
        with reading(tracking.uri, tracking.artifacts, run_id) as client:
            jobs = runs_of_jobs(client, run_id)
            of_sweep = [job for job in jobs if job.status == "FINISHED"]
            run = StoredRun.of(client, client.get_run(run_id))
            if not of_sweep and run.status != "FINISHED":
                raise TrackingError(f"{run_id}: this run is {run.status}, not FINISHED")
            lost |= {_unlike(job, lost): job.status for job in jobs if job not in of_sweep}
            for job in of_sweep or [run]:
                if job.run_id not in outcomes:
                    try:
                        outcomes[job.run_id] = job.outcome
                    except UNREADABLE as error:
                        if not of_sweep:
                            raise
                        lost[_unlike(job, lost)] = unreadable(error)
    return list(outcomes.values()), lost


def _unlike(job: StoredRun, others: Collection[str]) -> str:
    """The name of a run, with its id where a run of another sweep has that name."""
    return f"{job.name} ({job.run_id[:8]})" if job.name in others else job.name
