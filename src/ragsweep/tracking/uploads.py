"""Runs that the tracking store lacks: how many wait in a folder, and their upload."""

from __future__ import annotations

from pathlib import Path

from mlflow import MlflowClient

from ragsweep.errors import first_line
from ragsweep.tracking import journal as journals
from ragsweep.tracking.process import is_gone
from ragsweep.tracking.store import UNREACHABLE
from ragsweep.tracking.view import leave_view_of


def waiting(folder: Path) -> int:
    """How many runs below a folder the store does not have, or not as they ended."""
    return sum(not journal.uploaded for _, journal in journals.below(folder))


def push(folder: Path, uri: str | None = None) -> tuple[int, dict[Path, str]]:
    """Upload the runs below a folder that the store does not have as they ended.

    Args:
        folder: Of a run or of sweeps.
        uri: Only the runs of this store, whatever others are there.

    Returns:
        How many were uploaded, and why others were not, by their folders.

    Raises:
        TrackingError: The store is still out of reach.
    """
    uploaded = 0
    refused = {}
    parents = []
    for place, journal in journals.below(folder):
        if journal.uploaded or uri not in (None, journal.uri):
            continue
        if journal.status == "RUNNING":
            if not is_gone(journal.tags.get("process")):
                refused[place] = "is still running, or ran on another machine"
                continue
            journal.status = "KILLED"
        try:
            journals.upload(journal, place)
            uploaded += 1
            if not journal.metrics:  # the parent of a sweep, perhaps
                parents.append(journal)
        except UNREACHABLE as error:
            refused[place] = first_line(error)
    for parent in parents:  # only now: the sweep's runs may have been uploaded after it
        leave_view_of(MlflowClient(parent.uri), str(parent.run_id))
    return uploaded, refused
