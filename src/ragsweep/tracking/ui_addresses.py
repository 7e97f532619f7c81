"""Addresses of runs in MLflow's UI, and the command that serves it."""

from __future__ import annotations

import shlex
from urllib.parse import quote

from omegaconf import DictConfig

from ragsweep.core.project import project
from ragsweep.tracking.address import SQLITE, is_server

UI = "http://127.0.0.1:5000"  # where `ragsweep ui` serves a local store


def run_address(tracking: DictConfig, experiment_id: str, run_id: str) -> str:
    """The address of a run in the UI."""
    run = f"experiments/{quote(experiment_id, safe='')}/runs/{quote(run_id, safe='')}"
    return f"{ui_of(tracking.uri)}/#/{run}?workflowType=machine_learning"


def server_hint(tracking: DictConfig) -> str:
    """The command that serves the UI at the printed address, if `ragsweep ui` alone does not."""
    if is_server(tracking.uri) or tracking.uri == f"{SQLITE}{project() / 'mlruns' / 'mlflow.db'}":
        return ""
    return f" (served by: ragsweep ui --uri {shlex.quote(tracking.uri)})"


def look(tracking: DictConfig) -> list[str]:
    """A line with the command after which a printed address can be opened; none for a server."""
    if is_server(tracking.uri):
        return []
    own = tracking.uri == f"{SQLITE}{project() / 'mlruns' / 'mlflow.db'}"
    return [f"to see it in MLflow: ragsweep ui{'' if own else f' --uri {shlex.quote(tracking.uri)}'}, then open"]


def ui_of(uri: str) -> str:
    """The address of a store's UI."""
    return uri.rstrip("/") if is_server(uri) else UI
