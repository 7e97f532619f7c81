"""Runs ragsweep as a user does, in a process of its own, on a store of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from mlflow import MlflowClient
from mlflow.entities import Run

PROJECT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Application:
    """`python run.py`, with its tracking store and folders below `home`; embeddings are shared in `cache`."""

    home: Path
    cache: Path

    @property
    def uri(self) -> str:
        return f"sqlite:///{self.home}/mlflow.db"

    def command(self, *arguments: str) -> list[str]:
        places = {
            "tracking.uri": self.uri,
            "tracking.artifacts": self.home / "artifacts",
            "store.path": self.cache,
            "hydra.run.dir": self.home / "outputs",
            "hydra.sweep.dir": self.home / "outputs",
        }
        own = [f"{name}={place}" for name, place in places.items() if not any(name in given for given in arguments)]
        return [sys.executable, str(PROJECT / "run.py"), *arguments, *own]

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.home,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=300)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def script(
        self, name: str, *arguments: str, project: Path = PROJECT, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run `scripts/NAME.py` on this store."""
        places = [
            f"tracking.uri={self.uri}",
            f"tracking.artifacts={self.home}/artifacts",
            f"store.path={self.cache}",
        ]
        command = [sys.executable, str(project / f"scripts/{name}.py"), *arguments, *places]
        environment = {**os.environ, **environment}
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.home, env=environment)

    def client(self) -> MlflowClient:
        return MlflowClient(self.uri)

    def runs(self) -> list[Run]:
        """Every run in the store, oldest first; none where there is no store."""
        if not (self.home / "mlflow.db").exists():
            return []
        client = self.client()
        experiments = [experiment.experiment_id for experiment in client.search_experiments()]
        return client.search_runs(experiments, max_results=1000, order_by=["attributes.start_time ASC"])

    def parents(self) -> list[Run]:
        return [run for run in self.runs() if "mlflow.parentRunId" not in run.data.tags]

    def children(self) -> list[Run]:
        return [run for run in self.runs() if "mlflow.parentRunId" in run.data.tags]

    def artifacts(self, run: Run) -> Path:
        """The folder of a run's artifacts."""
        return self.home / "artifacts" / run.info.run_id / "artifacts"
