"""Begins the run of a job, in MLflow where that answers, and closes it with the right status, also after a kill."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from mlflow.entities import Run, RunTag
from omegaconf import DictConfig

from ragsweep.core.digest import shortened_with_digest
from ragsweep.core.endings import end_if_signalled, of_signal
from ragsweep.core.errors import RagsweepError, RefusedError, TrackingError, UnusableError
from ragsweep.tracking.address import absolute
from ragsweep.tracking.client import absolute_artifacts, reason
from ragsweep.tracking.journal import KEY, OPEN, Journal, create_run, refused
from ragsweep.tracking.names import LONGEST_MLFLOW_NAME, tagged, tags_of
from ragsweep.tracking.process import is_gone
from ragsweep.tracking.tracked_job import NUMBER, PARENT, PROCESS, Job
from ragsweep.tracking.tracking_store import (
    UNREACHABLE,
    is_refusal,
    locked_store,
    open_configured,
    open_store,
    search,
)

LONGEST_ERROR = 5000  # characters of a tag


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
            end_failed(_begin(job, _begun(job)), error)
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
    opened = open_run(job) if job.parent_run_id is None else _begin(job, _begun(job))
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


def _begun(job: Job) -> Run | None:
    """The run of this job that an earlier process began, for example before a cluster queued the job again."""
    if not job.may_resume:
        return None
    with suppress(TrackingError, *UNREACHABLE):
        client, experiment_id = open_configured(job.tracking)
        mine = f"{tagged(PARENT, job.parent_run_id)} AND {tagged(NUMBER, job.number)}"
        found = client.search_runs([experiment_id], f"{mine} AND attributes.status != 'FINISHED'", max_results=1)
        return found[0] if found else None
    return None


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
        for run in search(client, "attributes.status = 'RUNNING'"):
            if is_gone(run.data.tags.get(PROCESS)):
                with suppress(*UNREACHABLE):  # it may belong to another user, or be deleted by now
                    client.set_tag(run.info.run_id, "error", "the process ended without closing the run")
                    client.set_terminated(run.info.run_id, "KILLED")


def close_open(job: Job, parent: Journal) -> None:
    """Close the runs that are still open when the sweep is over, as KILLED. Their workers have ended."""
    with suppress(TrackingError, *UNREACHABLE):
        client, _ = open_configured(job.tracking)
        for run in search(client, f"{tagged(PARENT, parent.run_id)} AND attributes.status = 'RUNNING'"):
            with suppress(*UNREACHABLE):
                client.set_terminated(run.info.run_id, "KILLED")
