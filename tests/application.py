"""Runs ragsweep as a user does, in a process of its own, on a store of its own."""

from __future__ import annotations

import copy
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import lru_cache
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import loaded_yaml
import pytest
import yaml
from warm import CHARTS, NO_CHARTS, Process, sets_mode

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run
    from omegaconf import DictConfig

PROJECT = Path(__file__).resolve().parents[1]
METRICS = tuple(yaml.safe_load((PROJECT / "conf/evaluation/default.yaml").read_text())["metrics"])  # all of ranking
COMMAND = Path(sys.executable).with_name("ragsweep")
PYTEST = Path(sys.executable).with_name("pytest")
OF_CLONE = {"RAGSWEEP_PROJECT": str(PROJECT)}


def _with_defaults(given: Sequence[str], defaults: Mapping[str, object]) -> list[str]:
    """The given arguments, and each default whose name does not appear in them."""
    return [*given, *(f"{name}={value}" for name, value in defaults.items() if not any(name in one for one in given))]


def _composed(name: str, overrides: Sequence[str] = (), *, return_hydra_config: bool = False) -> DictConfig:
    """What `hydra.compose` returns; composed once as long as no file of the project's own configuration changes."""
    folder = Path(os.environ["RAGSWEEP_PROJECT"])
    changed = max((file.stat().st_mtime_ns for file in folder.glob("conf/**/*")), default=0)
    return copy.deepcopy(_composed_once(name, tuple(overrides), return_hydra_config, str(folder), changed, Path.cwd()))


@lru_cache(maxsize=32)
def _composed_once(name: str, overrides: Sequence[str], with_hydra: bool, *_: object) -> DictConfig:
    from hydra.compose import compose

    return compose(name, list(overrides), return_hydra_config=with_hydra)


def _wait_for(process: Process) -> subprocess.CompletedProcess[str]:
    out, err = process.communicate(timeout=300)
    return subprocess.CompletedProcess([], process.returncode, out, err)


def printed_arguments(command: str) -> list[str]:
    """The arguments of a printed command of ragsweep, from its subcommand on."""
    return shlex.split(command.partition(" ragsweep ")[2])


def in_this_process(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Do in this process what `ragsweep ARGUMENTS` does in a folder."""
    from ragsweep.app.main import main

    out, err = StringIO(), StringIO()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr("sys.argv", ["ragsweep", *arguments])
        patch.setattr("ragsweep.app.cli.SweepCallback.sweep", None)  # of an earlier sweep
        patch.setattr("ragsweep.core.drawing._processes", [])
        patch.setattr("sys.path", [*sys.path])
        patch.setattr("omegaconf.OmegaConf.load", loaded_yaml.load)
        if not sets_mode(arguments):
            patch.setattr("hydra._internal.hydra.Hydra.get_mode", lambda *_, **__: None)
        for place, function in NO_CHARTS.items() if not CHARTS.items() <= environment.items() else ():
            patch.setattr(place, function)
        for changed in (sys, "unraisablehook"), (warnings, "formatwarning"):
            patch.setattr(*changed, getattr(*changed))  # to be put back
        for variable, value in ({"RAGSWEEP_PROJECT": str(folder)} | environment).items():  # else it sets this one
            patch.setenv(variable, value)
        for variable in ("HYDRA_FULL_ERROR", "RAGSWEEP_VERBOSE", "RAGSWEEP_COMMAND"):  # that main sets
            patch.setenv(variable, "")
            del os.environ[variable]
        patch.chdir(folder)
        with pytest.raises(SystemExit) as ended:
            main()
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return subprocess.CompletedProcess([], int(ended.value.code or 0), out.getvalue(), err.getvalue())


@dataclass(frozen=True)
class Application:
    """`python run.py`, with its tracking store and folders below `home`; embeddings are shared in `cache`."""

    home: Path
    cache: Path

    @property
    def uri(self) -> str:
        return f"sqlite:///{self.home}/mlflow.db"

    @property
    def places(self) -> dict[str, object]:
        """The settings that say where it records runs and keeps embeddings."""
        return {
            "tracking.uri": self.uri,
            "tracking.artifacts": self.home / "artifacts",
            "store.path": self.cache,
        }

    def arguments(self, *given: str) -> list[str]:
        """The arguments of `run.py`, with the places of this application where they name none."""
        outputs = self.home / "outputs"
        return _with_defaults(given, {**self.places, "hydra.run.dir": outputs, "hydra.sweep.dir": outputs})

    def start(self, *given: str, **environment: str) -> Process:
        return self._start(PROJECT / "run.py", self.arguments(*given), environment)

    def run(self, *given: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return _wait_for(self.start(*given, **environment))

    def begin(self, name: str, *given: str, stdin: int | None = None, **environment: str) -> Process:
        """Start `ragsweep NAME` on this store; `stdin` is the number of an open file."""
        return self._start(COMMAND, [name, *_with_defaults(given, self.places)], OF_CLONE | environment, stdin)

    def script(
        self, name: str, *given: str, keys: str | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run `ragsweep NAME` on this store; `keys` are its input."""
        with tempfile.TemporaryFile() as typed:
            typed.write((keys or "").encode())
            typed.seek(0)
            return _wait_for(self.begin(name, *given, stdin=None if keys is None else typed.fileno(), **environment))

    def script_here(self, name: str, *given: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Do in this process what `ragsweep NAME` does on this store; for tests that are not about processes."""
        return self.start_script_here(name, *_with_defaults(given, self.places), **environment)

    def start_script_here(self, name: str, *given: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Do in this process what `ragsweep NAME` does with these arguments alone."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("hydra.compose", _composed)  # this is most of what a command does on a few small runs
            return in_this_process(self.home, name, *given, **OF_CLONE | environment)

    def push(self) -> subprocess.CompletedProcess[str]:
        """Run `ragsweep push` on its outputs."""
        return self.start_script("push", f"{self.home}/outputs", "--uri", self.uri)

    def start_script(self, name: str, *given: str) -> subprocess.CompletedProcess[str]:
        """Run `ragsweep NAME` with these arguments alone."""
        return _wait_for(self._start(COMMAND, [name, *given], OF_CLONE))

    def in_new_interpreter(
        self, name: str, *given: str, project: Path = PROJECT, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run `ragsweep NAME` as a user does, with nothing loaded yet."""
        arguments = self.arguments(*given) if name == "run" else _with_defaults(given, self.places)
        command = [sys.executable, "-m", "ragsweep", name, *arguments]
        environment = {**os.environ, "RAGSWEEP_PROJECT": str(project), **environment}
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.home, env=environment)

    def _start(
        self, file: Path, arguments: list[str], environment: dict[str, str], stdin: int | None = None
    ) -> Process:
        return Process(file, arguments, self.home, {**os.environ, **environment}, stdin)

    def client(self) -> MlflowClient:
        from mlflow import MlflowClient

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


def succeeded(process: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str]:
    """A process that has ended well."""
    assert process.returncode == 0, process.stdout + process.stderr
    return process


def error_lines(stderr: str) -> list[str]:
    """The lines on standard error, but for what every run says of its dataset."""
    return [line for line in stderr.splitlines() if " read as: " not in line and "pages without text" not in line]


def assert_refused(process: subprocess.CompletedProcess[str], application: Application, expected: str) -> None:
    """One line that says it, exit status 2, no traceback, and nothing recorded."""
    assert process.returncode == 2, process.stderr
    assert process.stdout == ""
    [line] = error_lines(process.stderr)
    assert expected in line
    assert application.runs() == []
    assert not (application.home / "outputs").exists()
