"""Finds the runs of a sweep in the store and in their folders, and reads their results."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

from mlflow import MlflowClient
from mlflow.entities import Run
from pydantic import PlainValidator

from ragsweep.config.annotations import expected
from ragsweep.config.run_settings import Cutoff, Resamples, Seed
from ragsweep.core.csv_files import read_numbers, read_per_query
from ragsweep.core.errors import TrackingError, first_line
from ragsweep.core.json_records import from_record
from ragsweep.core.parsing import MalformedError
from ragsweep.sweeps import DecisionSettings, Outcome, Sweep, with_own_columns
from ragsweep.tasks.facts import read_facts
from ragsweep.tasks.measurement_files import RESAMPLED
from ragsweep.tracking.journal import journals_below
from ragsweep.tracking.names import tagged
from ragsweep.tracking.run_record import RunRecord
from ragsweep.tracking.tracked_job import NUMBER, PARENT, SWEPT, Job
from ragsweep.tracking.tracking_store import UNREACHABLE, open_configured, search

PER_QUERY, FACTS, RESAMPLED_FILE = "results/per_query.csv", "results/evaluation.json", f"results/{RESAMPLED}"
LONGEST_JOB_NUMBER = 9  # digits of a job's number
NUMBERS = {"evaluation.resamples": Resamples, "k": Cutoff, "seed": Seed}
UNREADABLE = (ValueError, TrackingError, *UNREACHABLE)  # what reading damaged results raises
JOINED = "sweep.joined."  # tags of a parent run: finished runs of other sweeps, each under the number of its job


def _plain(value: object) -> object:
    if isinstance(value, dict | list):
        raise ValueError("expected a plain value")
    return value


Plain = Annotated[bool | int | float | str | None, PlainValidator(_plain)]
Swept = Mapping[str, Plain]  # settings with their values


class JoinedRun(NamedTuple):
    """A run of another sweep, as a tag of the parent run names it."""

    run_id: str
    name: str
    swept: Swept


class SweepRun(NamedTuple):
    """A run in the store, with the number, name and swept values of its job in this sweep."""

    number: int
    name: str
    swept: Swept
    run: Run
    damage: str = ""  # why the run's tags about its job cannot be read

    @property
    def run_id(self) -> str:
        """The run's id in the store."""
        return str(self.run.info.run_id)


class JobResult(NamedTuple):
    """How a job of a sweep ended, and where its results are."""

    number: int
    name: str
    run_id: str
    status: str
    swept: Swept
    settings: Mapping[str, str]
    results: Path | MlflowClient
    damage: str = ""

    @property
    def outcome(self) -> Outcome:
        """The results of a finished job.

        Raises:
            MalformedError: A file or tag is not what a run writes.
        """
        client = self.results
        if isinstance(client, Path):
            return self._read(client.joinpath)
        with tempfile.TemporaryDirectory() as folder:
            return self._read(lambda name: Path(client.download_artifacts(self.run_id, name, folder)))

    def _read(self, file: Callable[[str], Path]) -> Outcome:
        if self.damage:
            raise MalformedError(self.damage)
        for name, hint in NUMBERS.items():
            found = self.settings.get(name, "")[:40]
            if name in self.settings and (words := expected(hint, int(found) if found.isdecimal() else found)):
                raise MalformedError(f"{name}: found {found!r}, expected {words}")
        measured, facts = read_per_query(file(PER_QUERY)), read_facts(file(FACTS))
        means = facts.metrics.keys() - facts.aggregates.keys()
        if missing := means - set(measured.select_dtypes("number").columns):
            raise MalformedError(f"per_query.csv has no column {min(missing)}")
        for name in means:
            if problem := facts.metrics[name].metric(name).problem_of(measured[name].to_numpy()):
                raise MalformedError(f"per_query.csv: {problem}")
        resampled = read_numbers(file(RESAMPLED_FILE)) if facts.aggregates else {}
        if missing := facts.aggregates.keys() - resampled.keys():
            raise MalformedError(f"{RESAMPLED} has no column {min(missing)}")
        return Outcome(self.name, self.run_id, self.swept, self.settings, measured, facts, resampled)


J = TypeVar("J", SweepRun, JobResult)


class StoredSweep(NamedTuple):
    """The runs of a sweep in the store, and a client that reads their results."""

    client: MlflowClient
    runs: Sequence[SweepRun]


def sweep_runs(client: MlflowClient, parent_run_id: str | None) -> Iterator[SweepRun]:
    """All runs of a sweep: its own, and finished runs of other sweeps that it reuses.

    Anybody may have written their tags. A finished run whose tags cannot be read gets a negative number and the reason.
    Other runs that cannot be read are left out with a warning.
    """
    for tag, value in client.get_run(parent_run_id).data.tags.items():
        if tag.startswith(JOINED):
            with suppress(*UNREACHABLE):  # the run may have been deleted
                try:
                    yield _joined(client, tag, value)
                except MalformedError as error:
                    _leave_out(f"run {parent_run_id}: its tag {tag!r}", error)
    for count, run in enumerate(search(client, tagged(PARENT, parent_run_id)), start=1):
        if NUMBER in run.data.tags:
            try:
                yield SweepRun(*job_of(run.data.tags, run.info.run_name), run)
            except MalformedError as error:
                if run.info.status == "FINISHED":
                    yield SweepRun(-count, run.info.run_name, {}, run, str(error))
                else:
                    _leave_out(f"run {run.info.run_id}", error)


def runs_of_jobs(client: MlflowClient, parent_run_id: str) -> list[SweepRun]:
    """The runs of a sweep, one per job, the finished one if there is one, in their order. No two have the same name."""
    every = told_apart(list(sweep_runs(client, parent_run_id)))
    jobs = {each.number: each for each in sorted(every, key=lambda each: each.run.info.status == "FINISHED")}
    return [jobs[number] for number in sorted(jobs)]


def finished_runs(client: MlflowClient, parent_run_id: str) -> list[SweepRun]:
    """The finished runs of a sweep, as `runs_of_jobs` returns them."""
    return [each for each in runs_of_jobs(client, parent_run_id) if each.run.info.status == "FINISHED"]


def _leave_out(what: str, error: MalformedError) -> None:
    warnings.warn(f"{what} cannot be read ({error}) and is left out", stacklevel=3)


def _joined(client: MlflowClient, tag: str, value: str) -> SweepRun:
    """A run of another sweep that a tag of the parent run names. Raises one of `UNREACHABLE` if it was deleted."""
    joined = from_record(JoinedRun, value)
    number = _number(tag.removeprefix(JOINED))
    return SweepRun(number, joined.name, joined.swept, client.get_run(joined.run_id))


def stored_sweep(job: Job, parent: RunRecord) -> StoredSweep | None:
    """The runs of a sweep in the store. None if the store does not answer."""
    with suppress(TrackingError, *UNREACHABLE):
        client, _ = open_configured(job.tracking)
        return StoredSweep(client, list(sweep_runs(client, parent.run_id)))
    return None


def collect(
    sweep: Job, parent: RunRecord, planned: Sequence[str], store: StoredSweep | None, settings: DecisionSettings
) -> Sweep:
    """The outcomes of a sweep's jobs in their order: read from their folders, or from the store if they are not here.

    Args:
        sweep: The sweep.
        parent: Its parent run.
        planned: The names of its jobs; empty if they were not known beforehand.
        store: Its runs in the store. None if the store does not answer.
        settings: How it is decided.
    """
    stored = [job_result(store.client, run) for run in store.runs] if store else []
    absent = "NOT STARTED" if store else "UNKNOWN, the tracking store being out of reach"
    found = sorted([*stored, *_here(sweep, parent)], key=lambda job: job.status == "FINISHED")
    jobs = {job.number: job for job in found}  # of several runs of a job, the finished one counts
    lost = [job.name for job in jobs.values() if job.number < 0]  # their numbers cannot be read
    for number, name in enumerate(planned):
        if number not in jobs and name in lost:
            lost.remove(name)
        elif number not in jobs:
            jobs[number] = JobResult(number, name, "", absent, {}, {}, sweep.folder)
    outcomes = []
    unfinished = {}
    for job in told_apart([jobs[number] for number in sorted(jobs)]):
        if job.status != "FINISHED":
            unfinished[job.name] = job.status
            continue
        try:
            outcomes.append(job.outcome)
        except UNREADABLE as error:
            unfinished[job.name] = unreadable(error)
    return Sweep(with_own_columns(outcomes), unfinished, settings)


def told_apart(jobs: Sequence[J]) -> list[J]:
    """The jobs of a sweep. If several have the same name, their numbers are added to it."""
    numbers: dict[str, set[int]] = {}
    for job in jobs:
        numbers.setdefault(job.name, set()).add(job.number)
    return [job._replace(name=_numbered(job)) if len(numbers[job.name]) > 1 else job for job in jobs]


def _numbered(job: SweepRun | JobResult) -> str:
    """A job's name with its number, counted from 1, or with the id of its run if its number is not known."""
    return f"{job.name} (job {job.number + 1})" if job.number >= 0 else f"{job.name} (run {job.run_id[:8]})"


def finished_here(sweep: Job) -> int:
    """How many jobs of a sweep have finished, according to the journals in their folders."""
    journals = (journal for _, journal in journals_below(sweep.folder.parent))
    return sum(NUMBER in journal.tags and journal.status == "FINISHED" for journal in journals)


def _here(sweep: Job, parent: RunRecord) -> Iterator[JobResult]:
    for folder, journal in journals_below(sweep.folder.parent):
        if journal.tags.get(PARENT) == parent.run_id and journal.status != "RUNNING":
            with suppress(MalformedError):  # then the run in the store counts
                number, name, swept = job_of(journal.tags, journal.name)
                yield JobResult(number, name, journal.run_id or "", journal.status, swept, journal.params, folder)


def job_result(client: MlflowClient, found: SweepRun) -> JobResult:
    """A run of a sweep as the result of its job."""
    number, name, swept, run, damage = found
    return JobResult(number, name, run.info.run_id, run.info.status, swept, dict(run.data.params), client, damage)


def job_of(tags: Mapping[str, str], name: str) -> tuple[int, str, Swept]:
    """The number, name and swept values that a run's tags give its job.

    Raises:
        MalformedError: They are not what a run writes.
    """
    return _number(tags.get(NUMBER, "")), name, swept_values(tags)


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > LONGEST_JOB_NUMBER:
        raise MalformedError(f"the number of its job: found {text[:40]!r}, expected a number")
    return int(text)


def swept_values(tags: Mapping[str, str]) -> Swept:
    """The swept settings of a run with their values. Raises `MalformedError` if its tag contains something else."""
    try:
        return from_record(dict[str, Plain], tags.get(SWEPT, "{}"))
    except MalformedError as error:
        raise MalformedError(f"tag {SWEPT}: {error}") from error


def unreadable(error: Exception) -> str:
    """What is reported of a finished run in place of its results."""
    return f"FINISHED, but its results cannot be read: {first_line(error)}"
