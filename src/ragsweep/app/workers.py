"""The processes of a launcher: what they need to know, and how they end."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from contextlib import suppress
from functools import cache
from importlib.util import find_spec

import psutil
from omegaconf import DictConfig, OmegaConf, open_dict

from ragsweep import tracking
from ragsweep.core.errors import ConfigError
from ragsweep.core.project import for_hydra
from ragsweep.core.terminal import TERMINATED, end
from ragsweep.tracking.store_address import SETTING, VARIABLE

SECONDS_TO_END = 0.5  # for a worker that the sweep ends, before it is killed
SECONDS_TO_END_ALONE = 5  # for a worker whose driver is gone
EXTRAS = {"joblib": "parallel", "submitit": "slurm", "ray": "ray"}  # what installs a launcher
PLUGINS = {"JoblibLauncher": "joblib", "LocalLauncher": "submitit", "SlurmLauncher": "submitit", "RayLauncher": "ray"}


def check_launcher(target: str) -> None:
    """Raise `ConfigError` that says what to install if the plugin of the launcher is missing."""
    name = PLUGINS.get(target.rpartition(".")[2], "")
    if name and find_spec(f"hydra_plugins.hydra_{name}_launcher") is None:
        install = f"run pip install 'ragsweep[{EXTRAS[name]}]'"
        raise ConfigError(f"hydra.launcher: hydra_{name}_launcher is not installed here; {install}")


def tell_workers(config: DictConfig, *variables: str) -> None:
    """Set these environment variables in every job, by overrides that Hydra itself carries to its workers."""
    overrides = [f"hydra.sweep.dir={for_hydra(config.hydra.sweep.dir)}"]
    if (uri := os.environ.get(VARIABLE)) and uri == OmegaConf.select(config, SETTING):  # which has been checked
        variables = (*variables, VARIABLE)
    overrides += [f"+hydra.job.env_set.{name}={for_hydra(os.environ[name])}" for name in variables]
    with open_dict(config):
        config.hydra.overrides.hydra = [*config.hydra.overrides.hydra, *overrides]


def end_workers() -> None:
    """End the processes that a launcher has started."""
    workers = psutil.Process().children(recursive=True)
    for end_worker in (psutil.Process.terminate, psutil.Process.kill):
        for worker in workers:
            with suppress(psutil.Error):
                if "resource_tracker" not in " ".join(worker.cmdline()):  # ends by itself after the others
                    end_worker(worker)
        _, workers = psutil.wait_procs(workers, SECONDS_TO_END)


def end_killed(sweep: tracking.OpenSweep) -> None:
    """End the workers of an interrupted sweep, and close the runs that they leave open."""
    end_workers()
    sweep.parent.close("KILLED")
    tracking.close_open(sweep.job, sweep.parent)
    finished = f"{tracking.finished_jobs(sweep.job)} of {len(sweep.planned) or 'some'} jobs had finished in this start"
    print(f"{finished}; the same command with tracking.resume=true goes on from there", file=sys.stderr)
    tracking.print_missing_runs(sweep)


@cache
def begin_worker(driver: int, identity: str) -> None:
    """Prepare a worker: leave Ctrl-C to its driver, a process of this identity, and end soon after that is gone."""
    from ragsweep.tracking.run_owner import has_ended

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all processes
    if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end)  # Ray's looks like sys.exit in a retriever, Submitit's does nothing
    if has_ended(identity):  # before this worker was ready
        os._exit(TERMINATED)
    if driver in {parent.pid for parent in psutil.Process().parents()}:
        threading.Thread(target=_end_after, args=[os.pidfd_open(driver)], daemon=True).start()


def _end_after(alive: int) -> None:
    select.select([alive], [], [])  # until the driver is gone
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(SECONDS_TO_END_ALONE)
    os._exit(TERMINATED)  # a library holds the main thread
