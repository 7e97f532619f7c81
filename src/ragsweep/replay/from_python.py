"""Sweeps and their decisions from Python."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Sequence
from datetime import datetime
from itertools import takewhile
from os import getpid

from ragsweep.core.errors import ConfigError, RagsweepError
from ragsweep.core.parsing import MalformedError, from_json, read_text
from ragsweep.core.project import project
from ragsweep.core.terminal import BAD_INPUT
from ragsweep.replay.comparing import compare_runs
from ragsweep.report.notebook import SweepDecision
from ragsweep.sweeps import DecisionSettings

LARGEST_SUMMARY_MB = 100
SUMMARY = "the sweep took"  # begins what is printed of the decision, which is returned


def decision(sweep_id: str, *overrides: str, uri: str | None = None) -> SweepDecision:
    """Decide a finished sweep, by the metric that it recorded unless another one is given.

    What is not set of `decision` is as the sweep was decided.

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
    return SweepDecision(compare_runs([sweep_id], [*overrides, *places]), sweep_id)


def sweep(overrides: Sequence[str], *, uri: str | None = None) -> SweepDecision:
    """Run a sweep in a process of its own, show its jobs as they end, and decide it.

        >>> ragsweep.sweep(["retriever.alpha=0,0.5,1", "k=3,5"])

    Args:
        overrides: The arguments of `ragsweep run -m`, one string each.
        uri: The tracking store; None for the project's own.

    Raises:
        ConfigError: The arguments are wrong, as the last line says that was printed; nothing was run.
        RagsweepError: No job finished, or the sweep has several datasets. Where only some finished, that is a warning.
    """
    folder = project() / "outputs" / f"{datetime.now():%Y%m%d_%H%M%S}_{getpid()}_python"
    arguments = [*overrides, *([f"tracking.uri={uri}"] if uri else [])]
    command = [sys.executable, "-m", "ragsweep", "run", "-m", *arguments, f"hydra.sweep.dir={folder}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            for line in takewhile(lambda line: not line.startswith(SUMMARY), process.stdout or ()):
                print(line, end="", flush=True)
            process.communicate()
        except BaseException:  # interrupted: the sweep closes its runs before it ends
            process.terminate()
            process.wait()
            raise
    if process.returncode == BAD_INPUT:
        raise ConfigError("the sweep was refused: the last line that it printed says why")
    try:
        record = from_json(read_text(folder / "summary" / "decision.json", LARGEST_SUMMARY_MB))
        if "across_datasets" in record:
            page = folder / "summary" / "report.html"
            raise RagsweepError(f"the sweep has several datasets: {page} has the decision")
        sweep_id, settings = str(record["sweep"]), DecisionSettings(**record["settings"])
        lost, runs = len(record["unfinished"]), len(record["rows"])
    except (OSError, MalformedError, KeyError, TypeError, ValueError) as error:
        raise RagsweepError("the sweep ended without a decision: the lines that it printed say why") from error
    if process.returncode:
        why = f"{lost} of {lost + runs} runs did not finish" if lost else "the lines that it printed say why"
        warnings.warn(f"the sweep ended with exit status {process.returncode}: {why}", stacklevel=2)
    places = [argument for argument in arguments if argument.lstrip("+").startswith("tracking")]
    return SweepDecision(compare_runs([sweep_id], places, settings=settings), sweep_id)
