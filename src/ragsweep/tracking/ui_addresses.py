"""Addresses of runs in MLflow's UI, and the command that serves it."""

from __future__ import annotations

import shlex
import socket
from functools import cache
from itertools import pairwise
from urllib.parse import quote

import psutil
from omegaconf import DictConfig

from ragsweep.core.project import project
from ragsweep.tracking.address import SQLITE, is_server

HOST = "127.0.0.1"  # where `ragsweep ui` serves a local store
PORTS = range(5000, 5010)  # of which it takes the first that is free
STORE, PORT = "--backend-store-uri", "--port"  # arguments of `mlflow server`


def run_address(tracking: DictConfig, experiment_id: str, run_id: str) -> str:
    """The address of a run in the UI."""
    return f"{ui_of(tracking.uri)}/{_run(experiment_id, run_id)}?workflowType=machine_learning"


def link_to_report(experiment_id: str, run_id: str) -> str:
    """The address of a sweep's report within the UI, on whichever port it is served."""
    return f"{_run(experiment_id, run_id)}/artifacts/report.html"


def _run(experiment_id: str, run_id: str) -> str:
    return f"#/experiments/{quote(experiment_id, safe='')}/runs/{quote(run_id, safe='')}"


def how_to_open(tracking: DictConfig) -> list[str]:
    """A line with the command after which a printed address can be opened; none where one is served."""
    command = _serve(tracking.uri)
    return [f"to see it in MLflow: {command}, then open"] if command else []


def _serve(uri: str) -> str:
    """The command that serves a store at its printed address; empty if it is served there."""
    if is_server(uri) or _served_port(uri):
        return ""
    port = usual_port()
    own = uri == f"{SQLITE}{project() / 'mlruns' / 'mlflow.db'}"
    more = ("" if port in (None, PORTS[0]) else f" --port {port}") + ("" if own else f" --uri {shlex.quote(uri)}")
    return f"ragsweep ui{more}"


@cache  # a report has the addresses of all its runs
def ui_of(uri: str) -> str:
    """The address of a store's UI: where it is served, or where `ragsweep ui` would serve it."""
    return uri.rstrip("/") if is_server(uri) else f"http://{HOST}:{_served_port(uri) or usual_port() or PORTS[0]}"


@cache
def _served_port(uri: str) -> int | None:
    """The port of a process on this machine that serves a store; None if there is none."""
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []  # None of a process that may not be read
        arguments = dict(pairwise(words))
        if arguments.get(STORE) == uri and arguments.get(PORT, "").isdecimal():
            return int(arguments[PORT])
    return None


@cache  # the command that is printed has the port of the addresses
def usual_port() -> int | None:
    """The port that `ragsweep ui` takes; None if all the usual ones are taken."""
    return next((port for port in PORTS if _is_free(port)), None)


def _is_free(port: int) -> bool:
    try:
        bind(port)
    except OSError:
        return False
    return True


def bind(port: int) -> int:
    """Take a port of this machine for a moment, and return it; 0 takes any one.

    Raises:
        OSError: It is taken, or may not be used.
        OverflowError: There is no such port.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((HOST, port))
        return int(probe.getsockname()[1])
