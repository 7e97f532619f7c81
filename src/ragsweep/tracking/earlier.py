"""Finds earlier runs and sweeps that have measured, or begun to measure, the same."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from mlflow.entities import Run
from omegaconf import DictConfig

from ragsweep.core.digest import shortened_with_digest
from ragsweep.core.errors import TrackingError
from ragsweep.tracking.address import absolute
from ragsweep.tracking.journal import LAST, note_uploaded
from ragsweep.tracking.names import LONGEST_MLFLOW_NAME, json_tag, swept_metrics, tagged
from ragsweep.tracking.process import described, is_alive
from ragsweep.tracking.sweep_runs import JOINED
from ragsweep.tracking.tracked_job import DIGEST, NUMBER, PARENT, PROCESS, RUN_SCHEMA, SCHEMA, Job, is_measured
from ragsweep.tracking.tracking_store import UNREACHABLE, existing_store, locked_store, open_configured, search

LATEST = "attributes.start_time DESC"


@contextmanager
def earlier_start(job: Job) -> Iterator[Run | None]:
    """The parent run of the latest earlier start of this sweep, which the caller opens again within the block.

    If several processes on this machine resume a sweep at once, one continues it and the others get an error.

    Raises:
        TrackingError: Another process is running the sweep.
    """
    with locked_store(job.tracking.uri):
        client, experiment_id = open_configured(job.tracking)
        measured = client.search_runs([experiment_id], tagged(DIGEST, job.digest), order_by=[LATEST])
        starts = [run for run in measured if PARENT not in run.data.tags and _is_ours(run)]
        ids = {run.info.run_id for run in starts}
        for run in search(client, "attributes.status = 'RUNNING'"):
            has_live_worker = run.data.tags.get(PARENT) in ids and is_alive(run.data.tags.get(PROCESS))
            if run.info.run_id in ids or has_live_worker:  # a worker can outlive its sweep
                raise _is_being_run(run, job.tracking.uri)
        yield next(iter(starts), None)


def _is_being_run(run: Run, uri: str) -> TrackingError:
    process, run_id = run.data.tags.get(PROCESS), run.info.run_id
    text = f"tracking.resume: this sweep is being run by {described(process)} (run {run_id}); wait until it has ended"
    if is_alive(process):
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
        finished = client.search_runs([experiment_id], _finished_with(str(job.digest)), order_by=[LATEST])
        measured: list[Run] = [run for run in finished if is_measured(run)]
        own = [run for run in measured if run.data.tags.get(PARENT) == job.parent_run_id]
        others = [run for run in measured if run not in own] if job.tracking.resume else []
        run = next((run for run in own if run.data.tags.get(NUMBER) == str(job.number)), next(iter(others), None))
        if run is None:
            return None
        note_uploaded(job.folder, run.info.run_id)
        if run in others:
            joined = {"run_id": run.info.run_id, "name": job.name, "swept": job.swept}
            client.set_tag(job.parent_run_id, f"{JOINED}{job.number}", json_tag(joined))
            client.update_run(run.info.run_id, name=_with_settings(run.info.run_name, job.name))
            # They are as old as the run: a second time adds nothing.
            for (name, step), value in swept_metrics(job.swept).items():
                client.log_metric(run.info.run_id, name, value, run.info.start_time, step)
        metrics: Mapping[str, float] = run.data.metrics
        return metrics
    return None


def _with_settings(name: str, in_sweep: str) -> str:
    """The name of a reused run with the settings of this sweep that it lacks. One by a user stays as it is."""
    own = [] if name == "defaults" else name.split()
    more = [word for word in in_sweep.split() if word not in own]
    whole = shortened_with_digest(" ".join([*own, *more]), LONGEST_MLFLOW_NAME)
    return whole if all("=" in word for word in own) else name


def finished_with(tracking: DictConfig, digest: str, experiment: str) -> Run | None:
    """The latest finished run with this digest in an experiment."""
    with suppress(*UNREACHABLE):
        client = existing_store(tracking.uri)
        if there := client.get_experiment_by_name(experiment):
            finished = search(client, _finished_with(digest), [there.experiment_id])
            return next((run for run in finished if is_measured(run)), None)
    return None


def _finished_with(digest: str) -> str:
    return f"{tagged(DIGEST, digest)} AND {tagged(SCHEMA, RUN_SCHEMA)} AND attributes.status = 'FINISHED'"
