"""Starts scripts in processes that have the libraries loaded already, and so has the process that draws for them.

Importing MLflow, Hydra, pandas and scipy takes most of the time of a small run. Python's fork server imports them once
per test session, and computes the digests of our code, which every run asks for. Every start is still a process of its
own, with its own arguments, environment, folder, streams, signals and exit status. Five things differ from a new
interpreter: all processes share one seed for the hashes of strings, variables that the interpreter or a library reads
while it starts have no effect, slow work prints no lines, which would depend on how busy the machine is, Hydra does not
compose the configuration once more beforehand, to ask it for a mode that only our experiments set, and charts, which
take a third of the time of a small sweep, are drawn only for those who ask by `**CHARTS`.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from functools import cache
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[1]
OF_PLUGINS = (
    *("ragsweep_answers.answering.recorded_answers", "ragsweep_answers.measuring.answers_task"),
    *("ragsweep_audit.audit_check", "ragsweep_engines", "ragsweep_generate"),
)
LOADED = (
    "alembic.command",
    "alembic.config",
    "antlr4.LL1Analyzer",
    "encodings.utf_8_sig",
    "hydra._internal.core_plugins.bash_completion",
    "hydra._internal.core_plugins.basic_launcher",
    "hydra._internal.core_plugins.basic_sweeper",
    "hydra._internal.core_plugins.file_config_source",
    "hydra._internal.core_plugins.fish_completion",
    "hydra._internal.core_plugins.importlib_resources_config_source",
    "hydra._internal.core_plugins.structured_config_source",
    "hydra._internal.core_plugins.zsh_completion",
    "hydra._internal.logging_config",
    "hydra_plugins.hydra_joblib_launcher.config",
    "hydra_plugins.hydra_joblib_launcher.joblib_launcher",
    "hydra_plugins.hydra_ray_launcher.ray_aws_launcher",
    "hydra_plugins.hydra_ray_launcher.ray_launcher",
    "hydra_plugins.hydra_submitit_launcher.submitit_launcher",
    "hydra_plugins.ragsweep_conf",
    "hydra_plugins.ragsweep_launchers",
    "hydra_plugins.ragsweep_sweeper",
    "jinja2",
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
    "mlflow.data.meta_dataset",
    "mlflow.store.tracking.sqlalchemy_workspace_store",
    "multiprocessing.synchronize",
    "omegaconf._impl",
    "pandas.io.formats.csvs",
    "PIL.BmpImagePlugin",
    "PIL.GifImagePlugin",
    "PIL.JpegImagePlugin",
    "PIL.PpmImagePlugin",
    "pyarrow.pandas_compat",
    "pyarrow.vendored.version",
    "pydantic._internal._serializers",
    "pydantic.dataclasses",
    "pypdfium2",
    "ragsweep.app.cli",
    "ragsweep.app.main",
    "ragsweep.evaluation",
    "ragsweep.experiment",
    "ragsweep.models.encoders.token_counts",
    "ragsweep.replay.comparing",
    "ragsweep.report.report_page",
    "ragsweep.tasks.ranking.ranking_charts",
    "ragsweep.tasks.ranking.ranking_task",
    "ragsweep.tasks.ranking.spans.span_metrics",
    "ragsweep.tracking.sweep_end",
    "ragsweep.tracking.sweep_runs",
    "ragsweep.tracking.tracked_job",
    "safetensors",
    "scipy.sparse.csgraph",
    "scipy.special",
    "scipy.stats",
    "sklearn.feature_extraction.text",
    "sklearn.linear_model",
    "sklearn.model_selection",
    "sqlalchemy.dialects.sqlite",
    "Stemmer",
    "tokenizers",
    "zstandard",
    *(OF_PLUGINS if os.environ.get("RAGSWEEP_DISABLE_PLUGINS") != "1" else ()),
    "fork_server_caches",  # last, since it reads what has been loaded
)
STDIN, STDOUT, STDERR = 0, 1, 2
CHARTS = {"DRAW_CHARTS": "yes"}  # in the environment of a start whose charts a test looks at
NO_CHARTS: dict[str, Callable[..., Any]] = {
    "ragsweep.app.sweep.start_drawing": lambda: None,
    "ragsweep.core.drawing.save_charts": lambda *_: [],
}
MAY_SET_MODE = ("experiment", "hydra.mode", "hydra.searchpath", "--config")  # so begins an argument that may say -m

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload([*LOADED])


@cache
def _start_fork_server() -> dict[str, str]:
    """The environment in which the libraries are loaded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(PROJECT / "tests"))  # where it finds the last of what it loads
        forkserver.ensure_running()
        return dict(os.environ)


class Process:
    """A script that has been started, with those members of `subprocess.Popen` that the tests use."""

    def __init__(
        self, script: Path, arguments: list[str], folder: Path, environment: dict[str, str], stdin: int | None = None
    ) -> None:
        inherited = _start_fork_server()
        names = {*inherited, *environment}
        changed = {name: environment.get(name) for name in names if environment.get(name) != inherited.get(name)}
        unheard = [name for name in changed if name.endswith("_NUM_THREADS") or name == "PYTHONHASHSEED"]
        assert not unheard, f"{unheard} have an effect in a new interpreter only"
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  # communicate() closes it
        reading, writing = multiprocessing.Pipe(duplex=False)
        streams = {STDOUT: writing, STDERR: Connection(os.dup(self._errors.fileno()), readable=False)}
        if stdin is not None:
            streams[STDIN] = Connection(os.dup(stdin), writable=False)
        self._process = _context.Process(target=_run, args=(script, arguments, folder, changed, streams))
        self._process.start()
        for stream in streams.values():
            stream.close()
        self.stdout = os.fdopen(os.dup(reading.fileno()))
        reading.close()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Wait for the end of the process: what it has printed since the last read, and all of its standard error."""
        rest: list[str] = []
        reader = threading.Thread(target=lambda: rest.append(self.stdout.read()), daemon=True)
        reader.start()
        reader.join(timeout)
        self._process.join(0 if reader.is_alive() else timeout)
        if reader.is_alive() or self.returncode is None:
            raise TimeoutExpired(self._process.name, timeout or 0)
        self.stdout.close()
        with self._errors:
            self._errors.seek(0)
            return rest[0], self._errors.read()


def sets_mode(arguments: Sequence[str]) -> bool:
    """Whether an argument, or a file that it chooses, may set Hydra's mode, for which Hydra composes once more."""
    return any(argument.lstrip("+").startswith(MAY_SET_MODE) for argument in arguments)


def kill_all() -> None:
    """End what a failed test has left running, which would keep the session from ending."""
    for process in multiprocessing.active_children():
        process.kill()


def _run(
    script: Path, arguments: list[str], folder: Path, changed: dict[str, str | None], streams: dict[int, Connection]
) -> None:
    """Do what `python SCRIPT ARGUMENTS` does."""
    from hydra._internal.hydra import Hydra

    from ragsweep.core import drawing

    for number, stream in streams.items():
        os.dup2(stream.fileno(), number)
        stream.close()
    # The inherited objects still describe the files of the fork server.
    if STDIN in streams:
        sys.stdin = sys.__stdin__ = os.fdopen(STDIN, closefd=False)
    sys.stdout = sys.__stdout__ = os.fdopen(STDOUT, "w", closefd=False)
    sys.stderr = sys.__stderr__ = os.fdopen(STDERR, "w", 1, errors="backslashreplace", closefd=False)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has what it runs in the background ignore it
    multiprocessing.set_start_method(None, force=True)
    drawing.get_context = lambda _: _context
    if not sets_mode(arguments):
        Hydra.get_mode = lambda *_, **__: None  # as it answers; this takes a quarter of a small run
    forkserver._forkserver.ensure_running = lambda: None  # it runs, but a process that it started does not know
    for name, value in changed.items():  # variables that the libraries have set stay
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    if not CHARTS.items() <= os.environ.items():
        for place, function in NO_CHARTS.items():
            module, _, name = place.rpartition(".")
            setattr(sys.modules[module], name, function)
    os.chdir(folder)
    sys.argv = [str(script), *arguments]
    of_pytest = {str(PROJECT / name) for name in ("", "tests", "scripts")}
    own = [str(script.parent), *filter(None, os.environ.get("PYTHONPATH", "").split(":"))]
    sys.path[:] = [*own, *(place for place in sys.path if place not in of_pytest)]
    try:
        runpy.run_path(str(script), run_name="__main__")
    finally:
        threading._shutdown()  # the interpreter does both of these when it ends, multiprocessing only the first
        atexit._run_exitfuncs()
