"""The MLflow tracking store: opened, initialised, and addressed in the UI."""

from __future__ import annotations

import logging
import os
from pathlib import Path

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")  # 7 would mean minutes of silence
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")

import requests
from filelock import FileLock
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException
from omegaconf import DictConfig
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from ragsweep.config import PROJECT
from ragsweep.errors import TrackingError, first_line

SQLITE = "sqlite:///"
SECONDS_TO_ANSWER = 5
HOME = "database"  # tag of an experiment: the folder of the SQLite file when its artifacts were last found
UNREACHABLE = (
    MlflowException,
    SQLAlchemyError,
    OSError,
)  # what MLflow raises where its store is; requests' are OSErrors
UI = "http://127.0.0.1:5000"  # where `make ui` serves a local store


def open_store(uri: str, experiment: str, artifacts: str | None) -> tuple[MlflowClient, str]:
    """A client of a tracking store and the id of an experiment, which is made if it is new.

    An SQLite store is migrated by its first user while all others wait: two at once would break it.

    Args:
        uri: The store's address.
        experiment: The experiment's name.
        artifacts: Folder of a new experiment's artifacts; a server sees to its own.

    Raises:
        TrackingError: The store cannot be opened.
    """
    _quiet()
    try:
        _check_answers(uri)
        location = None if uri.startswith("http") or artifacts is None else Path(artifacts).resolve().as_uri()
        if not uri.startswith(SQLITE):
            return _opened(uri, experiment, location)
        database = Path(make_url(uri).database or "").resolve()
        database.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(database.with_suffix(".lock")):
            if not database.exists():
                _create(database)
            client, experiment_id = _opened(uri, experiment, location)
            _follow(client, database)
            client.set_experiment_tag(experiment_id, HOME, str(database.parent))
            return client, experiment_id
    except UNREACHABLE as error:
        raise _cannot_be_opened(uri, error) from error


def _create(database: Path) -> None:
    """Make an SQLite store whole or not at all: one whose making was interrupted could never be opened."""
    draft = database.with_suffix(".new")
    draft.unlink(missing_ok=True)
    MlflowClient(f"{SQLITE}{draft}").search_experiments()
    draft.replace(database)


def check_server(uri: str | None) -> None:
    """Raise `TrackingError` where a server is out of reach or refuses us; of a local store, opening it will tell."""
    if uri and uri.startswith("http"):
        try:
            existing_store(uri).search_experiments(max_results=1)
        except UNREACHABLE as error:
            raise _cannot_be_opened(uri, error) from error


def _cannot_be_opened(uri: str, error: Exception) -> TrackingError:
    reason = first_line(error)
    return TrackingError(f"tracking.uri: {uri} cannot be opened ({reason})")


def existing_store(uri: str) -> MlflowClient:
    """A client of a store that is there already; raises one of `UNREACHABLE` where it is not."""
    _quiet()
    _check_answers(uri)
    if not uri.startswith(SQLITE):
        return MlflowClient(uri)
    database = Path(make_url(uri).database or "").resolve()
    if not database.is_file():
        raise FileNotFoundError("there is no such file")
    client = MlflowClient(uri)
    with FileLock(database.with_suffix(".lock")):
        _follow(client, database)
    return client


def _quiet() -> None:
    for name in ("mlflow", "alembic", "urllib3"):
        logging.getLogger(name).setLevel(logging.ERROR if name == "urllib3" else logging.WARNING)


def _check_answers(uri: str) -> None:
    """Raise `OSError` where a server does not answer soon; MLflow itself would try for minutes."""
    if uri.startswith("http"):
        requests.get(f"{uri.rstrip('/')}/health", timeout=SECONDS_TO_ANSWER)


def _opened(uri: str, name: str, location: str | None) -> tuple[MlflowClient, str]:
    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name(name)
    if experiment is None:
        return client, client.create_experiment(name, location)
    if experiment.lifecycle_stage == "deleted":
        client.restore_experiment(experiment.experiment_id)
    return client, experiment.experiment_id


def _follow(client: MlflowClient, database: Path) -> None:
    """Find artifacts again that have moved with their database: MLflow keeps absolute locations."""
    here = str(database.parent)
    homes = {experiment.tags.get(HOME, here) for experiment in client.search_experiments()}
    for home in homes - {here}:
        _move(database, home, here)


def _move(database: Path, home: str, here: str) -> None:
    """Rewrite all locations below one folder as the same below another."""
    moved = {"old": f"{Path(home).as_uri()}/", "new": f"{Path(here).as_uri()}/"}
    with create_engine(f"{SQLITE}{database}").begin() as connection:
        for table, column in (("experiments", "artifact_location"), ("runs", "artifact_uri")):
            connection.execute(
                text(
                    f"UPDATE {table} SET {column} = :new || substr({column}, length(:old) + 1) "
                    f"WHERE substr({column}, 1, length(:old)) = :old"
                ),
                moved,
            )
        connection.execute(
            text("UPDATE experiment_tags SET value = :here WHERE key = :key AND value = :home"),
            {"here": here, "key": HOME, "home": home},
        )


def run_address(tracking: DictConfig, experiment_id: str, run_id: str) -> str:
    """Where the UI shows a run."""
    return f"{ui_of(tracking.uri)}/#/experiments/{experiment_id}/runs/{run_id}?workflowType=machine_learning"


def server_hint(tracking: DictConfig) -> str:
    """What serves the UI at the printed address, where `make ui` does not."""
    if tracking.uri.startswith("http") or tracking.uri == f"{SQLITE}{PROJECT / 'mlruns' / 'mlflow.db'}":
        return ""
    return f" (served by: mlflow server --backend-store-uri {tracking.uri})"


def ui_of(uri: str) -> str:
    """Where the UI of a store is served."""
    return uri.rstrip("/") if uri.startswith("http") else UI
