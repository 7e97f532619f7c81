"""Runs that the tracking store lacks: how many wait in a folder, and their upload."""

from __future__ import annotations

from pathlib import Path

from mlflow import MlflowClient

from ragsweep.errors import first_line
from ragsweep.tracking import journal as journals
from ragsweep.tracking.process import is_gone
from ragsweep.tracking.run import PARENT
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
    sweeps = set()
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
            sweeps.add((journal.uri, journal.tags.get(PARENT, journal.run_id)))
        except UNREACHABLE as error:
            refused[place] = first_line(error)
    for store, parent in sweeps:  # only now: all runs of the sweep are there
        leave_view_of(MlflowClient(store), str(parent))
    return uploaded, refused
