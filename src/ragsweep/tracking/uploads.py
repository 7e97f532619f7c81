"""Counts and uploads runs that are not in the tracking store."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from mlflow import MlflowClient

from ragsweep.core.errors import TrackingError, first_line
from ragsweep.core.project import command
from ragsweep.tracking.address import absolute, is_server
from ragsweep.tracking.client import absolute_artifacts
from ragsweep.tracking.journal import Journal, journals_below, read_journals, upload
from ragsweep.tracking.process import is_gone
from ragsweep.tracking.sweep_runs import sweep_runs
from ragsweep.tracking.tracked_job import PARENT
from ragsweep.tracking.tracking_store import UNREACHABLE, check_uri, existing_store
from ragsweep.tracking.view import save_view


class Pushed(NamedTuple):
    """The result of an upload.

    Attributes:
        uploaded: How many runs were uploaded.
        refused: Runs that could not be uploaded, by folder, with the reason.
        elsewhere: Runs that belong to another store: their journals by folder.
    """

    uploaded: int
    refused: Mapping[Path, str]
    elsewhere: Mapping[Path, Journal]


def waiting(folder: Path) -> int:
    """How many runs below a folder are missing in the store or not complete there."""
    return sum(not journal.uploaded for _, journal in journals_below(folder))


def push_command(folder: Path, uri: str, artifacts: str | None) -> str:
    """The command that uploads the runs of a folder."""
    place = ["--artifacts", absolute_artifacts(artifacts)] if artifacts and not is_server(uri) else []
    return command("push", folder, "--uri", absolute(uri), *place)


def push(folder: Path, uri: str | None, artifacts: str | None) -> Pushed:
    """Upload the runs below a folder that are missing in a store or not complete there.

    The store is never taken from a journal, because anybody may have written it. The journal only says which store a
    run belongs to.

    Args:
        folder: The folder of a run, of a sweep, or of several.
        uri: The store. It gets only runs that belong to it. None uploads nothing.
        artifacts: Folder or cloud address for the artifacts of a new experiment in a local store.

    Raises:
        TrackingError: The store still does not answer.
    """
    ours: dict[Path, Journal] = {}
    refused: dict[Path, str] = {}
    elsewhere: dict[Path, Journal] = {}
    for place, journal in read_journals(folder):
        if isinstance(journal, TrackingError):
            refused[place] = str(journal)
        elif journal.uploaded:
            continue
        elif uri is None or absolute(journal.uri) != absolute(uri):
            elsewhere[place] = journal
        else:
            ours[place] = journal
    if uri is not None and ours:
        check_uri(uri, artifacts)
    parents = set()
    for place, journal in ours.items():
        try:
            _upload(journal, place, artifacts)
            parents.add(journal.tags.get(PARENT) or str(journal.run_id))
        except (TrackingError, *UNREACHABLE) as error:
            refused[place] = f"{place}: {first_line(error)}"
    for parent in parents:  # last, when all runs of the sweep are uploaded
        with suppress(TrackingError, ValueError, *UNREACHABLE):  # anybody may have written the runs
            save_view(str(uri), list(sweep_runs(MlflowClient(uri), parent)), parent)
    return Pushed(len(ours.keys() - refused.keys()), refused, elsewhere)


def _upload(journal: Journal, folder: Path, artifacts: str | None) -> None:
    if journal.status == "RUNNING":
        if not is_gone(journal.tags.get("process")):
            raise TrackingError("is still running, or ran on another machine")
        journal.status = "KILLED"
    journal.artifacts = artifacts
    if artifacts is None and not is_server(journal.uri) and not _has(journal.uri, journal.experiment):
        raise TrackingError(
            f"its experiment {journal.experiment!r} is new in {journal.uri}: --artifacts says where to keep its files"
        )
    upload(journal, folder)


def _has(uri: str, experiment: str) -> bool:
    """Whether a local store has this experiment."""
    try:
        return existing_store(uri).get_experiment_by_name(experiment) is not None
    except FileNotFoundError:
        return False
