"""Where MLflow's UI shows a run, and what serves it."""

from __future__ import annotations

import shlex
from urllib.parse import quote

from omegaconf import DictConfig

from ragsweep.core.address import SQLITE, is_server
from ragsweep.core.project import project

UI = "http://127.0.0.1:5000"  # where `ragsweep ui` serves a local store


def run_address(tracking: DictConfig, experiment_id: str, run_id: str) -> str:
    """Where the UI shows a run."""
    run = f"experiments/{quote(experiment_id, safe='')}/runs/{quote(run_id, safe='')}"
    return f"{ui_of(tracking.uri)}/#/{run}?workflowType=machine_learning"


def server_hint(tracking: DictConfig) -> str:
    """What serves the UI at the printed address, where `ragsweep ui` alone does not."""
    if is_server(tracking.uri) or tracking.uri == f"{SQLITE}{project() / 'mlruns' / 'mlflow.db'}":
        return ""
    return f" (served by: ragsweep ui --uri {shlex.quote(tracking.uri)})"


def ui_of(uri: str) -> str:
    """Where the UI of a store is served."""
    return uri.rstrip("/") if is_server(uri) else UI
