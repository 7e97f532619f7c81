"""Sweeps and their decisions from Python."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Sequence
from datetime import datetime
from os import getpid
from threading import Thread
from typing import IO

from ragsweep.core.errors import ConfigError, RagsweepError
from ragsweep.core.parsing import MalformedError, from_json, read_text
from ragsweep.core.project import project
from ragsweep.core.terminal import BAD_INPUT
from ragsweep.replay.comparing import CompareRequest, compare_runs
from ragsweep.report.notebook import SweepDecision
from ragsweep.sweeps import DecisionSettings

LARGEST_SUMMARY_MB = 100
OURS = "ragsweep: "  # begins the line that refuses arguments
SUMMARY = "the sweep took "  # begins the first line of it


def decision(sweep_id: str, *overrides: str, uri: str | None = None) -> SweepDecision:
    """Decide a finished sweep, by the metric that it recorded unless another one is given.

    Other settings of `decision` are not taken from the sweep: repeat them.

        >>> ragsweep.decision("3f0c...", "decision.metric=recall", "decision.at=10")

    Args:
        sweep_id: Run id of the sweep's parent run.
        *overrides: `name=value`: settings of the group `decision`.
        uri: The tracking store; None for the project's own.

    Raises:
        ConfigError: A setting is wrong, or the sweep has fewer than two finished runs that can be compared.
        TrackingError: The sweep cannot be read.
    """
    places = [f"tracking.uri={uri}"] if uri else []
    return SweepDecision(compare_runs(CompareRequest([sweep_id], None, [*overrides, *places])), sweep_id)


def sweep(overrides: Sequence[str], *, uri: str | None = None) -> SweepDecision:
    """Run a sweep in a process of its own, show its jobs as they end, and decide it.

        >>> ragsweep.sweep(["retriever.alpha=0,0.5,1", "k=3,5"])

    Args:
        overrides: The arguments of `ragsweep run -m`, one string each.
        uri: The tracking store; None for the project's own.

    Raises:
        ConfigError: The arguments are wrong; nothing was run.
        RagsweepError: No job finished, or the sweep has several datasets. A warning names jobs that did not finish
            beside others that did.
    """
    folder = project() / "outputs" / f"{datetime.now():%Y%m%d_%H%M%S}_{getpid()}_python"
    arguments = [*overrides, *([f"tracking.uri={uri}"] if uri else [])]
    command = [sys.executable, "-m", "ragsweep", "run", "-m", *arguments, f"hydra.sweep.dir={folder}"]
    print("starting the sweep ...", file=sys.stderr)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        printed: list[str] = []
        failures: list[str] = []
        reader = Thread(target=_show, args=(process.stderr, sys.stderr, failures), daemon=True)
        try:
            reader.start()
            _show(process.stdout, sys.stdout, printed)
            reader.join()
            process.wait()
        except BaseException:  # interrupted: the sweep closes its runs before it ends
            process.terminate()
            process.wait()
            reader.join()
            raise
    stderr = "".join(failures).strip()
    if process.returncode == BAD_INPUT:
        refused = (line for line in reversed(stderr.splitlines()) if line.startswith(OURS))  # others may warn before
        raise ConfigError(next(refused, stderr).removeprefix(OURS))
    try:
        record = from_json(read_text(folder / "summary" / "decision.json", LARGEST_SUMMARY_MB))
        if "across_datasets" in record:
            raise RagsweepError(
                f"the sweep has several datasets: {folder / 'summary' / 'report.html'} has the decision"
            )
        sweep_id, settings = str(record["sweep"]), DecisionSettings(**record["settings"])
    except (OSError, MalformedError, KeyError, TypeError) as error:
        raise RagsweepError(f"the sweep ended without a decision: {stderr or ''.join(printed).strip()}") from error
    if process.returncode:
        warnings.warn(stderr, stacklevel=2)
    places = [each for each in arguments if each.lstrip("+").startswith("tracking")]
    return SweepDecision(compare_runs(CompareRequest([sweep_id], None, places, settings)), sweep_id)


def _show(stream: IO[str] | None, screen: IO[str], kept: list[str]) -> None:
    """Keep the lines of a stream, and show them as they come, until the summary: it is what the sweep returns."""
    for line in stream or ():
        kept.append(line)
        if not any(each.startswith(SUMMARY) for each in kept):
            print(line, end="", file=screen, flush=True)
