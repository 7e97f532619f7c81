"""Runs and sweeps of earlier starts that have measured, or begun to measure, what is asked for now."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress

from mlflow.entities import Run
from omegaconf import DictConfig

from ragsweep.core.errors import TrackingError
from ragsweep.core.names import json_tag
from ragsweep.tracking.conditions import tagged
from ragsweep.tracking.job import DIGEST, NUMBER, PARENT, Job
from ragsweep.tracking.journal import LAST
from ragsweep.tracking.members import JOINED
from ragsweep.tracking.store import UNREACHABLE, existing_store, open_configured, search

LATEST = "attributes.start_time DESC"


def unfinished_sweep(job: Job) -> Run | None:
    """The latest parent run of a sweep of the same jobs that nobody is working on."""
    client, experiment_id = open_configured(job.tracking)
    ended = f"{tagged(DIGEST, job.digest)} AND attributes.status != 'RUNNING'"
    found = client.search_runs([experiment_id], ended, order_by=[LATEST])
    return next((run for run in found if PARENT not in run.data.tags and _is_ours(run)), None)


def _is_ours(run: Run) -> bool:
    started = run.info.start_time or 0
    return 0 < started < LAST and bool(re.fullmatch(r"[0-9]{8}_[0-9]{6}_[0-9]+", run.data.tags.get("sweep.id", "")))


def finished_before(job: Job) -> Mapping[str, float] | None:
    """The metrics of a finished run that has measured what the job would, which counts as the job's from now on.

    It is the job's own of this sweep, such as one that a cluster has started twice, or, with `tracking.resume`, one of
    another sweep. None where there is none or the store is out of reach.
    """
    if not job.may_resume:
        return None
    with suppress(TrackingError, *UNREACHABLE):
        client, experiment_id = open_configured(job.tracking)
        finished = client.search_runs([experiment_id], _finished_with(str(job.digest)), order_by=[LATEST])
        found: list[Run] = [run for run in finished if run.data.metrics]
        own = [run for run in found if run.data.tags.get(PARENT) == job.parent_run_id]
        others = [run for run in found if run not in own] if job.tracking.resume else []
        run = next((run for run in own if run.data.tags.get(NUMBER) == str(job.number)), next(iter(others), None))
        if run is None:
            return None
        if run in others:
            joined = {"run_id": run.info.run_id, "name": job.name, "swept": job.swept}
            client.set_tag(job.parent_run_id, f"{JOINED}{job.number}", json_tag(joined))
        metrics: Mapping[str, float] = run.data.metrics
        return metrics
    return None


def finished_with(tracking: DictConfig, digest: str) -> Run | None:
    """The latest finished run, in any experiment, with this digest of all that decides its results."""
    with suppress(*UNREACHABLE):
        finished = search(existing_store(tracking.uri), _finished_with(digest))
        return next((run for run in finished if run.data.metrics), None)
    return None


def _finished_with(digest: str) -> str:
    return f"{tagged(DIGEST, digest)} AND attributes.status = 'FINISHED'"
