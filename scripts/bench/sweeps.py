"""Whole sweeps, as processes, compared with a sweep of Hydra and MLflow that measures nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np
from mlflow import MlflowClient
from mlflow.entities import Run

from bench.timing import Rows, Timing, time_both

CLONE = Path(__file__).resolve().parents[2]
FIFTEEN = ["-m", "retriever.alpha=0,0.3,0.5,0.7,1", "k=3,5,10"]
SIX = ["-m", "retriever.alpha=0.3,0.5,0.7", "k=3,10"]
THOUSAND = ["-m", "retriever.alpha=range(0,1,0.02)", "k=range(1,21)"]


@dataclass(frozen=True)
class Place:
    """A folder for the stores and files of sweeps."""

    folder: Path

    @property
    def uri(self) -> str:
        """The tracking store."""
        return f"sqlite:///{self.folder}/mlflow.db"

    def command(self, *arguments: str) -> list[str]:
        """The command of a ragsweep sweep."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return [
            sys.executable,
            str(CLONE / "run.py"),
            *arguments,
            f"tracking.uri={self.uri}",
            f"tracking.artifacts={self.folder}/artifacts",
            f"store.path={self.folder}/store",
            f"hydra.sweep.dir={self.folder}/outputs/${{sweep_id:}}",
        ]

    def sweep(self, *arguments: str) -> None:
        """Run a ragsweep sweep."""
        _run(self.command(*arguments), {})

    def shape(self) -> dict[str, str]:
        """How much the first run logged, as environment variables for the empty sweep."""
        [run, *_] = self.runs()
        logged = [file for file in (self.folder / "artifacts" / run.info.run_id).rglob("*") if file.is_file()]
        shape = {
            "PARAMS": len(run.data.params),
            "METRICS": sum(len(self.client().get_metric_history(run.info.run_id, name)) for name in run.data.metrics),
            "FILES": len(logged),
            "FILE_BYTES": sum(file.stat().st_size for file in logged),
        }
        return {name: str(value) for name, value in shape.items()}

    def empty_sweep(self, shape: dict[str, str], *arguments: str) -> None:
        """Run an empty sweep with runs that log as much."""
        self.folder.mkdir(parents=True, exist_ok=True)
        environment = {**shape, "URI": self.uri, "ARTIFACTS": f"{self.folder}/artifacts"}
        outputs = f"hydra.sweep.dir={self.folder}/outputs/{time.time_ns()}"
        added = [argument if argument.startswith("-") else f"+{argument}" for argument in arguments]
        _run([sys.executable, str(Path(__file__).with_name("empty_sweep.py")), *added, outputs], environment)

    def client(self) -> MlflowClient:
        """A client of the tracking store."""
        return MlflowClient(self.uri)

    def runs(self) -> list[Run]:
        """The runs of its sweeps, oldest first."""
        experiments = [experiment.experiment_id for experiment in self.client().search_experiments()]
        runs = self.client().search_runs(experiments, max_results=10_000, order_by=["attributes.start_time ASC"])
        return [run for run in runs if "mlflow.parentRunId" in run.data.tags]


def rows(folder: Path, rounds: int, *, quick: bool) -> Rows:
    """A sweep with all stages stored, and `--help`. Unless quick, also a sweep with nothing stored."""
    runs, swept = ("six", SIX) if quick else ("15", FIFTEEN)
    ours, theirs = Place(folder / "ours"), Place(folder / "empty")
    ours.sweep(*swept)
    shape = ours.shape()
    yield time_both(
        f"warm sweep of {runs} runs, bundled dataset",
        "empty Hydra + MLflow sweep",
        1 / 1.6,
        lambda: ours.sweep(*swept),
        lambda: theirs.empty_sweep(shape, *swept),
        rounds=rounds,
        note="whole processes; the empty one composes nothing of ours and logs as much",
        warm_up=not quick,
    )
    if not quick:
        fresh = count()
        yield time_both(
            "cold sweep of 15 runs, bundled dataset",
            "empty Hydra + MLflow sweep",
            1 / 2.6,
            lambda: Place(folder / f"cold{next(fresh)}").sweep(*FIFTEEN),
            lambda: Place(folder / f"empty{next(fresh)}").empty_sweep(shape, *FIFTEEN),
            rounds=max(1, rounds // 2),
            note="nothing stored and no tracking store: extracts, chunks, encodes, indexes",
        )
    yield time_both(
        "python run.py --help",
        "empty Hydra program",
        0.5,
        lambda: _run([sys.executable, str(CLONE / "run.py"), "--help"], {}),
        lambda: _run([sys.executable, str(CLONE / "scripts" / "bench" / "empty_sweep.py"), "--help"], {}),
        rounds=rounds,
    )


def thousand(folder: Path) -> Rows:
    """Seconds per run, and memory, in a sweep of 1,000 runs. Neither may grow."""
    place = Place(folder / "thousand")
    place.sweep(*FIFTEEN)
    memory = []
    with subprocess.Popen(place.command(*THOUSAND), stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            memory.append((time.time() * 1000, _resident_mb(process.pid)))
            time.sleep(0.5)
    if process.returncode:
        raise RuntimeError(f"the sweep ended with exit status {process.returncode}")
    ends = np.array([run.info.end_time for run in place.runs()[-1000:]], dtype=float)
    seconds = np.diff(ends, prepend=ends[0] - (ends[1] - ends[0])) / 1000
    at, resident = np.array(memory).T
    during = [float(np.median(resident[(at >= ends[low]) & (at <= ends[high])])) for low, high in ((0, 99), (-100, -1))]
    for what, last, first, unit in (
        ("time of a run", float(np.median(seconds[-100:])), float(np.median(seconds[:100])), "s"),
        ("memory", during[1], during[0], "MB"),
    ):
        work = f"sweep of 1,000 runs: {what} in the last hundred"
        yield Timing(work, "the first hundred", 1 / 1.1, [last], [first], unit=unit)


def _run(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:3])} ended with exit status {done.returncode}: {done.stderr[-2000:]}")


def _resident_mb(process: int) -> float:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (FileNotFoundError, IndexError):
        return float("nan")
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
