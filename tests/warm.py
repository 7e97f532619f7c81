"""Starts scripts in processes that have the libraries loaded already.

Importing MLflow, Hydra, pandas and scipy takes most of the time of a small run. Python's fork server imports them once
a test session. Every start is still a process of its own, with its own arguments, environment, folder, streams,
signals and exit status. Tests of what happens while libraries load start the interpreter instead.
"""

from __future__ import annotations

import atexit
import os
import runpy
import sys
import tempfile
import threading
from functools import cache
from multiprocessing import active_children, forkserver, get_context
from multiprocessing.reduction import DupFd
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

LOADED = (
    "mlflow.data.meta_dataset",
    "mlflow.store.tracking.sqlalchemy_store",
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
    "ragsweep.cli",
    "ragsweep.comparison",
    "ragsweep.experiment",
    "ragsweep.report.run_charts",
)
STDOUT, STDERR = 1, 2

_forking = get_context("forkserver")
_forking.set_forkserver_preload([*LOADED])


@cache
def _start_fork_server() -> dict[str, str]:
    """The environment in which the libraries are loaded."""
    forkserver.ensure_running()
    return dict(os.environ)


class Process:
    """A script that has been started, with those members of `subprocess.Popen` that the tests use."""

    def __init__(self, script: Path, arguments: list[str], folder: Path, environment: dict[str, str]) -> None:
        before = _start_fork_server()
        changed = {name: environment.get(name) for name in {*before, *environment}}
        changed = {name: value for name, value in changed.items() if value != before.get(name)}
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  # communicate() closes it
        reading, writing = os.pipe()
        streams = {STDOUT: DupFd(writing), STDERR: DupFd(self._errors.fileno())}
        self._process = _forking.Process(target=_run, args=(script, arguments, folder, changed, streams))
        self._process.start()
        os.close(writing)
        self.stdout = os.fdopen(reading)

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What the process still prints, and all of its standard error."""
        out = self.stdout.read()
        self._process.join(timeout)
        if self.returncode is None:
            raise TimeoutExpired(self._process.name, timeout or 0)
        self.stdout.close()
        with self._errors:
            self._errors.seek(0)
            return out, self._errors.read()


def kill_all() -> None:
    """End what a failed test has left running, which would keep the session from ending."""
    for process in active_children():
        process.kill()


def _run(
    script: Path, arguments: list[str], folder: Path, changed: dict[str, str | None], streams: dict[int, Any]
) -> None:
    """Do what `python SCRIPT ARGUMENTS` does."""
    for number, stream in streams.items():
        os.dup2(stream.detach(), number)
    sys.stdout = sys.__stdout__ = os.fdopen(STDOUT, "w", closefd=False)  # the fork server's took them for files
    sys.stderr = sys.__stderr__ = os.fdopen(STDERR, "w", 1, errors="backslashreplace", closefd=False)
    for name, value in changed.items():  # and leave alone what the libraries have set
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    os.chdir(folder)
    sys.argv = [str(script), *arguments]
    sys.path[:0] = [str(script.parent), *filter(None, os.environ.get("PYTHONPATH", "").split(":"))]
    try:
        runpy.run_path(str(script), run_name="__main__")
    finally:
        threading._shutdown()  # these two as the interpreter does when it ends; multiprocessing leaves the second out
        atexit._run_exitfuncs()
