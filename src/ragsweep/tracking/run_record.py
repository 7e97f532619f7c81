"""Begins the run of a job, or finds an earlier one that has measured the same, and closes it, also after a kill."""

from __future__ import annotations

import re
import shlex
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from mlflow import MlflowClient
from mlflow.entities import Run, RunTag
from omegaconf import DictConfig

from ragsweep.core.digest import shortened_with_digest
from ragsweep.core.errors import RagsweepError, RefusedError, TrackingError, UnusableError
from ragsweep.core.terminal import end_if_signalled, of_signal
from ragsweep.tracking.client import absolute_artifacts, reason
from ragsweep.tracking.journal import KEY, LAST, OPEN, Journal, create_run, note_uploaded, refused
from ragsweep.tracking.mlflow_names import LONGEST_MLFLOW_NAME, json_tag, tagged, tags_of
from ragsweep.tracking.run_owner import described, has_ended
from ragsweep.tracking.store_address import absolute
from ragsweep.tracking.tracked_job import (
    DIGEST,
    JOINED,
    NUMBER,
    PARENT,
    PROCESS,
    RACE,
    RUN_SCHEMA,
    SCHEMA,
    Job,
    is_measured,
)
from ragsweep.tracking.tracking_store import (
    UNREACHABLE,
    existing_store,
    is_refusal,
    locked_store,
    open_configured,
    open_store,
    search,
)

LONGEST_ERROR = 5000  # characters of a tag
RUNNING = "attributes.status = 'RUNNING'"


def close_all(status: str) -> None:
    """Close every run that this process has open."""
    for opened in list(OPEN):
        with suppress(Exception):
            opened.close(status)


@contextmanager
def failures(job: Job) -> Iterator[None]:
    """Record a FAILED run for an error that occurs before the run of a sweep's job is opened."""
    try:
        yield
    except Exception as error:
        if job.parent_run_id:
            end_failed(_begin(job, _earlier_run(job)), error)
        raise


@contextmanager
def record(job: Job, *, keep: bool = False) -> Iterator[Journal]:
    """Open a run, and close it at the end of the block: as FINISHED, FAILED, or KILLED if interrupted.

    Args:
        job: What is recorded.
        keep: Whether bad input that is found only during the work leaves a FAILED run, as it does in a sweep.

    Raises:
        TrackingError: The store cannot be reached. Raised before any work is done, and not within a sweep.
    """
    opened = open_run(job) if job.parent_run_id is None else _begin(job, _earlier_run(job))
    try:
        yield opened
        end_if_signalled()  # a library may have caught the signal, and then gone on with half of its work
        opened.close("FINISHED")
        if opened.status == "FAILED":
            raise RefusedError(opened.trouble)
    except BaseException as error:
        keeps_run = keep or job.parent_run_id or isinstance(error, RefusedError | UnusableError)
        if isinstance(error, RagsweepError) and not keeps_run:
            opened.delete()
        else:
            end_failed(opened, error)
        raise


def open_run(job: Job, *, continued: Run | None = None) -> Journal:
    """Start a run before any work is done, or continue one that did not finish.

    Raises:
        TrackingError: The store cannot be reached.
    """
    opened = _begin(job, continued)
    if opened.trouble:
        opened.delete()
        raise TrackingError(opened.trouble)
    return opened


def _begin(job: Job, continued: Run | None) -> Journal:
    """Start or continue a run. If the store does not answer, the run is created when it is uploaded."""
    store, now = job.tracking, int(time.time() * 1000)
    name = shortened_with_digest(job.name, LONGEST_MLFLOW_NAME)
    artifacts = absolute_artifacts(store.artifacts)
    opened = Journal(absolute(store.uri), artifacts, store.experiment, name, tags_of(job.tags), now)
    opened.folder = job.folder
    if continued:
        opened.started, opened.run_id = continued.info.start_time, continued.info.run_id
        opened.key = continued.data.tags.get(KEY, opened.key)
    OPEN.add(opened)  # first: if opening is interrupted, the run may be in the store already
    try:
        _begin_in_store(opened)
    except (TrackingError, *UNREACHABLE) as error:
        if is_refusal(error):
            OPEN.discard(opened) if continued else opened.delete()
            raise refused(error, opened.folder) from error
        opened.trouble = reason(error)
        with suppress(OSError):  # a full disk; then the work will fail
            opened.write(opened.folder)
    return opened


def _begin_in_store(opened: Journal) -> None:
    client, opened.experiment_id = open_store(opened.uri, opened.experiment, opened.artifacts)
    if opened.run_id is None:
        opened.run_id = create_run(client, opened.experiment_id, opened)
        client.check_run(opened.run_id)
        return
    client.check_run(opened.run_id)
    tags = [RunTag(*tag) for tag in (opened.tags | {KEY: opened.key}).items()]
    client.log_batch(opened.run_id, tags=tags)  # first: an open run without its process is closed
    client.update_run(opened.run_id, "RUNNING", opened.name)
    opened.named = opened.name
    with suppress(*UNREACHABLE):  # it may not have this tag
        client.delete_tag(opened.run_id, "error")


def _earlier_run(job: Job) -> Run | None:
    """The run of this job that an earlier process began, for example before a cluster queued the job again."""
    if not job.may_resume:
        return None
    with suppress(TrackingError, *UNREACHABLE):
        client, experiment_id = open_configured(job.tracking)
        mine = f"{tagged(PARENT, job.parent_run_id)} AND {tagged(NUMBER, job.number)}"
        runs = client.search_runs([experiment_id], f"{mine} AND attributes.status != 'FINISHED'", max_results=1)
        return runs[0] if runs else None
    return None


@contextmanager
def earlier_start(job: Job) -> Iterator[Run | None]:
    """The parent run of the latest earlier start of this sweep, which the caller opens again within the block.

    If several processes on this machine resume a sweep at once, one continues it and the others get an error.

    Raises:
        TrackingError: Another process is running the sweep.
    """
    with locked_store(job.tracking.uri):
        client, experiment_id = open_configured(job.tracking)
        measured = search(client, tagged(DIGEST, job.digest), [experiment_id])
        starts = [run for run in measured if PARENT not in run.data.tags and _is_ours(run)]
        ids = {run.info.run_id for run in starts}
        for run in search(client, RUNNING):
            has_live_worker = run.data.tags.get(PARENT) in ids and has_ended(run.data.tags.get(PROCESS)) is False
            if run.info.run_id in ids or has_live_worker:  # a worker can outlive its sweep
                raise _is_being_run(run, job.tracking.uri)
        yield next(iter(starts), None)


def _is_being_run(run: Run, uri: str) -> TrackingError:
    process, run_id = run.data.tags.get(PROCESS), run.info.run_id
    text = f"tracking.resume: this sweep is being run by {described(process)} (run {run_id}); wait until it has ended"
    if has_ended(process) is False:
        text += ", or end that process"
    else:  # its end cannot be known
        end = f"from mlflow import MlflowClient; MlflowClient({absolute(uri)!r}).set_terminated({run_id!r}, 'KILLED')"
        text += f", or where you know that it is gone, close its run: {shlex.join(['python', '-c', end])}"
    return TrackingError(text)


def _is_ours(run: Run) -> bool:
    started = run.info.start_time or 0
    return 0 < started < LAST and bool(re.fullmatch(r"[0-9]{8}_[0-9]{6}_[0-9]+", run.data.tags.get("sweep.id", "")))


def finished_before(job: Job) -> Mapping[str, float] | None:
    """The metrics of a finished run that has measured the same as this job would. The sweep then reuses that run.

    It is a run of the same job, for example if a cluster starts a job twice; or with `tracking.resume`, a run of
    another sweep. None if there is none or the store does not answer.
    """
    if not job.may_resume:
        return None
    with suppress(TrackingError, *UNREACHABLE):
        client, experiment_id = open_configured(job.tracking)
        measured = _finished(client, str(job.digest), experiment_id, job.race)
        own = [run for run in measured if run.data.tags.get(PARENT) == job.parent_run_id]
        joinable = [run for run in measured if run not in own] if job.tracking.resume and not job.race else []
        run = next((run for run in own if run.data.tags.get(NUMBER) == str(job.number)), next(iter(joinable), None))
        if run is None:
            return None
        note_uploaded(job.folder, run.info.run_id)
        if run in joinable:
            joined = {"run_id": run.info.run_id, "name": job.name, "swept": job.swept}
            client.set_tag(job.parent_run_id, f"{JOINED}{job.number}", json_tag(joined))
        metrics: Mapping[str, float] = run.data.metrics
        return metrics
    return None


def finished_with(tracking: DictConfig, digest: str, experiment: str) -> Run | None:
    """The latest finished run with this digest in an experiment."""
    with suppress(*UNREACHABLE):
        client = existing_store(tracking.uri)
        if group := client.get_experiment_by_name(experiment):
            return next(iter(_finished(client, digest, group.experiment_id)), None)
    return None


def _finished(client: MlflowClient, digest: str, experiment_id: str, race: str | None = None) -> list[Run]:
    """The finished runs of an experiment that have measured what has this digest, or dropped out so; latest first."""
    of_schema = f"{tagged(DIGEST, digest)} AND {tagged(SCHEMA, RUN_SCHEMA)}"
    finished = search(client, f"{of_schema} AND attributes.status = 'FINISHED'", [experiment_id])
    return [run for run in finished if (run.data.tags.get(RACE) == race if race else is_measured(run))]


def end_failed(opened: Journal, error: BaseException) -> None:
    """Close a run that did not finish, with its error as a tag. An error while closing does not hide the first one."""
    if opened not in OPEN:
        return
    interrupted = isinstance(of_signal() or error, KeyboardInterrupt | SystemExit)
    try:
        with suppress(Exception):
            if opened.status == "RUNNING":  # else it was interrupted while it was uploaded
                opened.tag({"error": "".join(traceback.format_exception_only(error)).strip()[:LONGEST_ERROR]})
            if not interrupted:
                folder = opened.folder / "error"
                folder.mkdir(exist_ok=True)
                (folder / "traceback.txt").write_text("".join(traceback.format_exception(error)), encoding="utf-8")
                opened.add("error")
    finally:  # also after a second signal
        with suppress(Exception):
            opened.close("KILLED" if interrupted else "FAILED")


def close_orphans(tracking: DictConfig) -> None:
    """Close the runs that killed processes of this host have left open, as KILLED."""
    client, _ = open_configured(tracking)
    with locked_store(tracking.uri):  # otherwise we could close a run that another process has just resumed
        for run in search(client, RUNNING):
            if has_ended(run.data.tags.get(PROCESS)):
                with suppress(*UNREACHABLE):  # it may belong to another user, or be deleted by now
                    client.set_tag(run.info.run_id, "error", "the process ended without closing the run")
                    client.set_terminated(run.info.run_id, "KILLED")


def close_open(job: Job, parent: Journal) -> None:
    """Close the runs that are still open when the sweep is over, as KILLED. Their workers have ended."""
    with suppress(TrackingError, *UNREACHABLE):
        client = existing_store(job.tracking.uri)
        for run in search(client, f"{tagged(PARENT, parent.run_id)} AND {RUNNING}"):
            with suppress(*UNREACHABLE):
                client.set_terminated(run.info.run_id, "KILLED")
