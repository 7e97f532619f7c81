"""Reads runs and sweeps: from the store, and those of a sweep also from their folders."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from mlflow import MlflowClient
from omegaconf import DictConfig

from ragsweep.core.errors import TrackingError, first_line
from ragsweep.core.json_records import from_record
from ragsweep.core.parsing import MalformedError, from_json, read_text
from ragsweep.sweeps import DecisionSettings, Outcome, Sweep, with_own_columns
from ragsweep.sweeps.race_record import RaceRecord
from ragsweep.tracking.journal import Journal, journals_below
from ragsweep.tracking.mlflow_names import tagged
from ragsweep.tracking.stored_run import StoredRun, Swept, swept_values
from ragsweep.tracking.tracked_job import JOINED, NUMBER, PARENT, RACE, Job
from ragsweep.tracking.tracking_store import UNREACHABLE, existing_store, reading, search

DECISION_FILE, LARGEST_DECISION_MB = "decision.json", 100  # of a sweep
LONGEST_JOB_NUMBER = 9  # digits of a job's number
UNREADABLE = (ValueError, TrackingError, *UNREACHABLE)  # what reading damaged results raises


class JoinedTag(NamedTuple):
    """A tag of the parent run that names a run of another sweep."""

    run_id: str
    name: str
    swept: Swept


def sweep_runs(client: MlflowClient, parent_run_id: str | None) -> Iterator[StoredRun]:
    """All runs of a sweep: its own, and finished runs of other sweeps that it reuses.

    Anybody may have written their tags. A finished run of which these cannot be read gets a negative number, and the
    reason as its status. Other runs that cannot be read are left out with a warning.
    """
    for tag, value in client.get_run(parent_run_id).data.tags.items():
        if tag.startswith(JOINED):
            with suppress(*UNREACHABLE):  # the run may have been deleted
                try:
                    joined, number = from_record(JoinedTag, value), _number(tag.removeprefix(JOINED))
                    run = StoredRun.of(client, client.get_run(joined.run_id))
                    yield replace(run, number=number, name=joined.name, swept=joined.swept)
                except MalformedError as error:
                    _leave_out(f"run {parent_run_id}: its tag {tag!r}", error)
    for count, stored in enumerate(search(client, tagged(PARENT, parent_run_id)), start=1):
        run = StoredRun.of(client, stored)
        if NUMBER in run.tags:
            try:
                yield _of_job(run)
            except MalformedError as error:
                if run.status == "FINISHED":
                    yield replace(run, number=-count, status=unreadable(error))
                else:
                    _leave_out(f"run {run.run_id}", error)


def runs_of_jobs(client: MlflowClient, parent_run_id: str, *, racing: bool = False) -> list[StoredRun]:
    """The runs of a sweep, one per job, the finished one if there is one, in their order. No two have the same name.

    Those that dropped out of a race are among them only if it is about that, `racing`.
    """
    runs = _one_per_job(with_own_names(list(sweep_runs(client, parent_run_id))))
    return [run for run in runs if racing or RACE not in run.tags]


def finished_runs(client: MlflowClient, parent_run_id: str) -> list[StoredRun]:
    """The finished runs of a sweep, as `runs_of_jobs` returns them."""
    return [run for run in runs_of_jobs(client, parent_run_id) if run.status == "FINISHED"]


def _one_per_job(runs: Sequence[StoredRun]) -> list[StoredRun]:
    jobs = {run.number: run for run in sorted(runs, key=lambda run: run.status == "FINISHED")}
    return [jobs[number] for number in sorted(jobs)]


def _leave_out(named: str, error: MalformedError) -> None:
    warnings.warn(f"{named} cannot be read ({error}) and is left out", stacklevel=3)


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


def fetch_racers(tracking: DictConfig, run_id: str) -> list[StoredRun]:
    """The finished runs of a sweep with those that dropped out of its race. Raises `TrackingError` as `fetch` does."""
    with reading(tracking.uri, tracking.artifacts, run_id) as client:
        racers = [run for run in runs_of_jobs(client, run_id, racing=True) if run.status == "FINISHED"]
        for run in racers:
            run.check_schema()
            _ = run.config  # is read and kept
        return racers


def fetch_race(tracking: DictConfig, run_id: str) -> RaceRecord | None:
    """The race of a sweep; None if it had none. Raises `TrackingError` where its decision cannot be read."""
    try:
        decision = from_json(fetch_text(tracking, run_id, DECISION_FILE, LARGEST_DECISION_MB) or "{}")
        return RaceRecord.of(decision["race"]) if isinstance(decision, dict) and "race" in decision else None
    except MalformedError as error:
        raise TrackingError(f"{run_id}: its {DECISION_FILE} cannot be read ({error})") from error


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
    lost: dict[str, StoredRun] = {}
    for run_id in run_ids:
        with reading(tracking.uri, tracking.artifacts, run_id) as client:
            jobs = runs_of_jobs(client, run_id)
            finished = [job for job in jobs if job.status == "FINISHED"]
            run = StoredRun.of(client, client.get_run(run_id))
            if not finished:
                run.check_measured()
            lost |= {job.run_id: job for job in jobs if job not in finished}
            for job in finished or [run]:
                if job.run_id not in outcomes:
                    try:
                        outcomes[job.run_id] = job.outcome
                    except UNREADABLE as error:
                        if not finished:
                            raise
                        lost[job.run_id] = replace(job, status=unreadable(error))
    return list(outcomes.values()), {run.name: run.status for run in with_own_names(list(lost.values()))}


def stored_runs(job: Job, parent: Journal) -> list[StoredRun] | None:
    """The runs of a sweep in the store. None if the store does not answer."""
    with suppress(TrackingError, *UNREACHABLE):
        return list(sweep_runs(existing_store(job.tracking.uri, job.tracking.artifacts), parent.run_id))
    return None


def collect(
    sweep: Job, parent: Journal, planned: Sequence[str], stored: Sequence[StoredRun] | None, settings: DecisionSettings
) -> Sweep:
    """The outcomes of a sweep's jobs in their order: read from their folders, or from the store if they are not here.

    Args:
        sweep: The sweep.
        parent: Its parent run.
        planned: The names of its jobs; empty if they were not known beforehand.
        stored: Its runs in the store. None if the store does not answer.
        settings: How it is decided.
    """
    absent = "UNKNOWN, the tracking store being out of reach" if stored is None else "NOT STARTED"
    jobs = {run.number: run for run in _one_per_job([*(stored or ()), *_in_folders(sweep, parent)])}
    lost = [run.name for run in jobs.values() if run.number < 0]  # their numbers cannot be read
    for number, name in enumerate(planned):
        if number not in jobs and name in lost:
            lost.remove(name)
        else:
            jobs.setdefault(number, StoredRun(name, "", absent, sweep.folder, number))
    outcomes = []
    unfinished = {}
    for job in with_own_names([jobs[number] for number in sorted(jobs) if RACE not in jobs[number].tags]):
        if job.status != "FINISHED":
            unfinished[job.name] = job.status
            continue
        try:
            outcomes.append(job.outcome)
        except UNREADABLE as error:
            unfinished[job.name] = unreadable(error)
    return Sweep(with_own_columns(outcomes), unfinished, settings)


def with_own_names(runs: Sequence[StoredRun]) -> list[StoredRun]:
    """Runs with a name of their own. Of a name that several have, each gets the number of its job, or else its id."""
    numbers: dict[str, list[int]] = {}
    for run in runs:
        numbers.setdefault(run.name, []).append(run.number)

    def own_name(run: StoredRun) -> str:
        if len(numbers[run.name]) == 1:
            return run.name
        is_job = run.number >= 0 and numbers[run.name].count(run.number) == 1
        return f"{run.name} ({f'job {run.number + 1}' if is_job else f'run {run.run_id[:8]}'})"

    return [replace(run, name=own_name(run)) for run in runs]


def finished_jobs(sweep: Job) -> int:
    """How many jobs of a sweep have finished, according to the journals in their folders."""
    journals = (journal for _, journal in journals_below(sweep.folder.parent))
    return sum(NUMBER in journal.tags and journal.status == "FINISHED" for journal in journals)


def _in_folders(sweep: Job, parent: Journal) -> Iterator[StoredRun]:
    for folder, journal in journals_below(sweep.folder.parent):
        if journal.tags.get(PARENT) == parent.run_id and journal.status != "RUNNING":
            with suppress(MalformedError):  # then the run in the store counts
                run_id, params = journal.run_id or "", journal.params
                yield _of_job(StoredRun(journal.name, run_id, journal.status, folder, params=params, tags=journal.tags))


def _of_job(run: StoredRun) -> StoredRun:
    """A run with the number and the swept values that its tags give its job. Raises `MalformedError` on any others."""
    return replace(run, number=_number(run.tags.get(NUMBER, "")), swept=swept_values(run.tags))


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > LONGEST_JOB_NUMBER:
        raise MalformedError(f"the number of its job: found {text[:40]!r}, expected a number")
    return int(text)


def unreadable(error: Exception) -> str:
    """What is reported of a finished run in place of its results."""
    return f"FINISHED, but its results cannot be read: {first_line(error)}"
