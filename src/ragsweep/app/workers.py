"""Tells the processes of a launcher what they need to know, and ends them."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib.util import find_spec

import psutil
from omegaconf import DictConfig, open_dict

from ragsweep.core.errors import ConfigError
from ragsweep.core.quoting import for_hydra

SECONDS_TO_END = 0.5  # for a worker, before it is killed
LAUNCHERS = {"JoblibLauncher": "joblib", "LocalLauncher": "submitit", "SlurmLauncher": "submitit", "RayLauncher": "ray"}
EXTRAS = {"joblib": "parallel", "submitit": "slurm", "ray": "ray"}  # what installs a launcher


def check_launcher(target: str) -> None:
    """Raise `ConfigError` that says what to install if the plugin of the launcher is missing."""
    name = LAUNCHERS.get(target.rpartition(".")[2], "")
    package = f"hydra_{name}_launcher"
    if name and find_spec(f"hydra_plugins.{package}") is None:
        raise ConfigError(
            f"hydra.launcher: {package} is not installed here; run pip install 'ragsweep[{EXTRAS[name]}]'"
        )


def tell_workers(config: DictConfig, *variables: str) -> None:
    """Set these environment variables in every job, by overrides that Hydra itself carries to its workers."""
    overrides = [f"hydra.sweep.dir={for_hydra(config.hydra.sweep.dir)}"]
    overrides += [f"+hydra.job.env_set.{name}={for_hydra(os.environ[name])}" for name in variables]
    with open_dict(config):
        config.hydra.overrides.hydra = [*config.hydra.overrides.hydra, *overrides]


def end_workers() -> None:
    """End the processes that a launcher has started."""
    workers = [child for child in psutil.Process().children(recursive=True) if not _is_helper_process(child)]
    for worker in workers:
        with suppress(psutil.Error):
            worker.terminate()
    _, alive = psutil.wait_procs(workers, SECONDS_TO_END)
    for worker in alive:
        with suppress(psutil.Error):
            worker.kill()
    psutil.wait_procs(alive, SECONDS_TO_END)  # a killed process takes a moment to be gone


def _is_helper_process(process: psutil.Process) -> bool:
    """Whether this is a helper of multiprocessing or joblib, which ends by itself after the workers."""
    with suppress(psutil.Error):
        return "resource_tracker" in " ".join(process.cmdline())
    return False
