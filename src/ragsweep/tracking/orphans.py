"""Closes runs that no process is working on any more."""

from __future__ import annotations

from contextlib import suppress

from omegaconf import DictConfig

from ragsweep.core.errors import TrackingError
from ragsweep.tracking.journal import Journal
from ragsweep.tracking.names import tagged
from ragsweep.tracking.process import is_gone
from ragsweep.tracking.tracked_job import PARENT, PROCESS, Job
from ragsweep.tracking.tracking_store import UNREACHABLE, locked_store, open_configured, search


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
