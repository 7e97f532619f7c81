"""Servers that tests start for themselves, on loopback: MLflow with a login, and PostgreSQL."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from application import Application
from mlflow import MlflowClient
from mlflow.entities import Run
from werkzeug.security import generate_password_hash

USER, PASSWORD = "admin", "a long passphrase of ours"
POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
needs_postgres = pytest.mark.skipif(not POSTGRES, reason="PostgreSQL is not installed")


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def as_postgres(*command) -> list:
    """PostgreSQL does not run as root."""
    return ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else list(command)


@contextmanager
def database() -> Iterator[str | None]:
    """The address of a database on a PostgreSQL server of our own; None where it is not installed."""
    if not POSTGRES:
        yield None
        return
    port = free_port()
    tools, place = POSTGRES[-1], ["-h", "127.0.0.1", "-p", str(port)]
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres")
        data = f"{folder}/data"
        subprocess.run(as_postgres(tools / "initdb", "-D", data, "-A", "trust", "-U", "mlflow"), check=True)
        command = as_postgres(tools / "postgres", "-D", data, "-k", folder, *place)
        server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            for _ in range(100):
                if subprocess.run([tools / "pg_isready", *place], check=False).returncode == 0:
                    break
                time.sleep(0.1)
            subprocess.run([tools / "createdb", *place, "-U", "mlflow", "mlflow"], check=True)
            yield f"postgresql://mlflow@127.0.0.1:{port}/mlflow"
        finally:
            subprocess.run(as_postgres(tools / "pg_ctl", "stop", "-m", "immediate", "-D", data), check=True)
            server.wait(30)


@dataclass
class TrackingServer:
    """`mlflow server` as conf/tracking/server.yaml says to start it: with a login, and all artifacts go through it.

    Attributes:
        folder: Where it keeps artifacts and its log.
        database: Its backend store; SQLite in its folder where none is given.
    """

    folder: Path
    database: str | None
    port: int = field(default_factory=free_port)
    process: subprocess.Popen | None = None

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def login(self) -> dict[str, str]:
        """What a client needs in its environment."""
        return {"MLFLOW_TRACKING_USERNAME": USER, "MLFLOW_TRACKING_PASSWORD": PASSWORD}

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = self.folder / "auth.ini"
        settings.write_text(
            f"[mlflow]\ndefault_permission = EDIT\ndatabase_uri = sqlite:///{self.folder}/auth.db\n"
            f"admin_username = {USER}\nadmin_password = {PASSWORD}\n"
            "authorization_function = mlflow.server.auth:authenticate_request_basic_auth\n"
        )
        environment = {
            "MLFLOW_AUTH_CONFIG_PATH": str(settings),
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "MLFLOW_FLASK_SERVER_SECRET_KEY": "any long random text",
            "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        }
        command = ["mlflow", "server", "--backend-store-uri", self.database or f"sqlite:///{self.folder}/mlflow.db"]
        command += ["--artifacts-destination", str(self.folder / "artifacts"), "--host", "127.0.0.1"]
        command += ["--port", str(self.port), "--workers", "1", "--app-name", "basic-auth"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", *command],
            env={**os.environ, **environment},
            stdout=subprocess.DEVNULL,
            stderr=(self.folder / "log").open("ab"),
            start_new_session=True,
        )
        for _ in range(1800):
            try:
                urllib.request.urlopen(f"{self.uri}/health", timeout=1)
                return self._hash_cheaply()
            except OSError:
                assert self.process.poll() is None, (self.folder / "log").read_text()
                time.sleep(0.1)
        pytest.fail("mlflow server does not answer")

    def _hash_cheaply(self) -> None:
        """Keep a hash of the password that takes no time: MLflow checks it twice a request, .1 s each by default."""
        with closing(sqlite3.connect(self.folder / "auth.db")) as users, users:
            cheap = generate_password_hash(PASSWORD, "pbkdf2:sha256:1")
            users.execute("UPDATE users SET password_hash = ? WHERE username = ?", [cheap, USER])

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        if self.is_running:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@dataclass(frozen=True)
class Client(Application):
    """`python run.py` on a tracking server."""

    server: TrackingServer

    @property
    def uri(self) -> str:
        return self.server.uri

    @property
    def places(self) -> dict[str, object]:
        return {"tracking.uri": self.uri, "store.path": self.cache}

    def of(self, experiment: str) -> tuple[MlflowClient, list[Run], list[Run]]:
        """A client, and the parents and children of the runs of one experiment, as the server tells."""
        client = MlflowClient(self.uri)
        named = client.get_experiment_by_name(experiment)
        runs = client.search_runs([named.experiment_id], max_results=1000) if named else []
        parents = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
        return client, parents, [run for run in runs if run not in parents]

    def summary(self, experiment: str) -> list[str]:
        """The tables of an experiment's only sweep."""
        client, [parent], _ = self.of(experiment)
        folder = Path(client.download_artifacts(parent.info.run_id, "results"))
        return [file.read_text() for file in sorted(folder.iterdir())]
