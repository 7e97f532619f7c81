"""The MLflow tracking store: opened, initialised, and addressed in the UI."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from urllib.parse import quote, urlencode

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")  # 7 would mean minutes of silence
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")

from filelock import FileLock
from mlflow import MlflowClient
from mlflow.exceptions import MlflowException
from omegaconf import DictConfig
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from ragsweep.config import PROJECT
from ragsweep.errors import TrackingError

SQLITE = "sqlite:///"
UI = "http://127.0.0.1:5000"  # where `make ui` serves a local store


def open_store(tracking: DictConfig) -> tuple[MlflowClient, str]:
    """A client of the configured store and the id of the configured experiment, which is made if it is new.

    An SQLite store is migrated by its first user while all others wait: two at once would break it.
    """
    for name in ("mlflow", "alembic", "urllib3"):
        logging.getLogger(name).setLevel(logging.ERROR if name == "urllib3" else logging.WARNING)
    artifacts = Path(tracking.artifacts).resolve().as_uri()
    try:
        if not tracking.uri.startswith(SQLITE):
            return _opened(tracking, None if tracking.uri.startswith("http") else artifacts)
        database = Path(make_url(tracking.uri).database or "").resolve()
        database.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(database.with_suffix(".lock")):
            return _opened(tracking, artifacts)
    except (MlflowException, SQLAlchemyError, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise TrackingError(f"tracking.uri: {tracking.uri} cannot be opened ({reason})") from error


def _opened(tracking: DictConfig, artifact_location: str | None) -> tuple[MlflowClient, str]:
    client = MlflowClient(tracking.uri)
    experiment = client.get_experiment_by_name(tracking.experiment)
    if experiment is None:
        return client, client.create_experiment(tracking.experiment, artifact_location)
    if experiment.lifecycle_stage == "deleted":
        client.restore_experiment(experiment.experiment_id)
    return client, experiment.experiment_id


def run_address(tracking: DictConfig, experiment_id: str, run_id: str) -> str:
    """Where the UI shows a run."""
    return f"{_base(tracking.uri)}/#/experiments/{experiment_id}/runs/{run_id}?workflowType=machine_learning"


def sweep_address(tracking: DictConfig, experiment_id: str, parent_run_id: str) -> str:
    """Where the UI shows the runs of a sweep: best F1 first, as charts.

    Sorted by a metric, MLflow lists child runs flat; sorted by time it would hide them below their parent.
    """
    view = {
        "workflowType": "machine_learning",
        "searchFilter": f"tags.`mlflow.parentRunId` = '{parent_run_id}'",
        "orderByKey": "metrics.`f1`",
        "orderByAsc": "false",
        "compareRunsMode": "CHART",
    }
    return f"{_base(tracking.uri)}/#/experiments/{experiment_id}/runs?{urlencode(view, quote_via=quote)}"


def server_hint(tracking: DictConfig) -> str:
    """What serves the UI at the printed address, where `make ui` does not."""
    if tracking.uri.startswith("http") or tracking.uri == f"{SQLITE}{PROJECT / 'mlruns' / 'mlflow.db'}":
        return ""
    return f" (served by: mlflow server --backend-store-uri {tracking.uri})"


def _base(uri: str) -> str:
    return uri.rstrip("/") if uri.startswith("http") else UI
