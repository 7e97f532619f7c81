"""Addresses of runs in MLflow's UI, and the command that serves it."""

from __future__ import annotations

import shlex
from urllib.parse import quote

from omegaconf import DictConfig

from ragsweep.core.project import project
from ragsweep.tracking.address import SQLITE, is_server

HOST, PORT = "127.0.0.1", 5000  # where `ragsweep ui` serves a local store


def ui_of(uri: str) -> str:
    """The address of a store's UI: that of its server, or where `ragsweep ui` serves it."""
    return uri.rstrip("/") if is_server(uri) else f"http://{HOST}:{PORT}"


def run_address(tracking: DictConfig, experiment_id: str, run_id: str) -> str:
    """The address of a run in the UI."""
    return f"{ui_of(tracking.uri)}/{_run(experiment_id, run_id)}?workflowType=machine_learning"


def link_to_report(experiment_id: str, run_id: str) -> str:
    """The address of a sweep's report within the UI, on whichever port it is served."""
    return f"{_run(experiment_id, run_id)}/artifacts/report.html"


def _run(experiment_id: str, run_id: str) -> str:
    return f"#/experiments/{quote(experiment_id, safe='')}/runs/{quote(run_id, safe='')}"


def how_to_open(tracking: DictConfig) -> list[str]:
    """A line with the command after which a printed address can be opened; none for a server."""
    if is_server(tracking.uri):
        return []
    own = tracking.uri == f"{SQLITE}{project() / 'mlruns' / 'mlflow.db'}"
    return [f"to see it in MLflow: ragsweep ui{'' if own else f' --uri {shlex.quote(tracking.uri)}'}, then open"]
