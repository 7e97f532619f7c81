"""Hydra's launchers for Ray and Submitit. They go on after a killed job, and end their jobs when interrupted."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from itertools import repeat
from textwrap import shorten
from typing import Any

from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, JobStatus
from omegaconf import OmegaConf

from ragsweep.app.job import start_no_more_jobs
from ragsweep.core.errors import JobFailed

RAY_OUTPUT = {"RAY_DISABLE_WORKER_LOG_PREFIX": "1", "RAY_DEDUP_LOGS": "0", "RAY_FLUSH_DRIVER_LOGS": "1"}  # verbatim


class Waiting:
    """Starts all jobs and waits for every one; the plugins' own launchers stop at the first one that was killed."""

    def launch(self: Any, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> list[JobReturn]:
        """The result of each job; a killed job has failed."""
        returned = []
        with ExitStack() as endings:
            jobs = self._start([*map(list, job_overrides)], initial_job_idx, endings)
            endings.callback(start_no_more_jobs)  # it runs first: no job opens its run after all are closed
            for job, overrides in zip(jobs, job_overrides, strict=True):
                try:
                    returned.append(self._result(job))
                except Exception as error:  # a job's own errors are in what it returns
                    reason = shorten(f"{' '.join(overrides)}: {error}", 300)
                    print(f"ragsweep: {reason}", file=sys.stderr)
                    returned.append(JobReturn(overrides, status=JobStatus.FAILED, _return_value=JobFailed(reason)))
            endings.pop_all()
        return returned


with suppress(ImportError):  # Hydra imports this file also without the extras
    from hydra_plugins.hydra_ray_launcher import ray_launcher

    class RayLauncher(Waiting, ray_launcher.RayLauncher):
        """Jobs as tasks of Ray, on this machine or on a cluster."""

        def _start(self, jobs: list[list[str]], first: int, endings: ExitStack) -> list[Any]:
            os.environ.update(RAY_OUTPUT)  # before Ray is imported
            import ray
            from hydra_plugins.hydra_ray_launcher._launcher_util import launch_job_on_ray

            endings.callback(ray.shutdown)
            terminate = signal.getsignal(signal.SIGTERM)
            ray.init(**OmegaConf.to_container(self.ray_cfg.init, resolve=True))  # type: ignore[arg-type]
            signal.signal(signal.SIGTERM, terminate)  # Ray has set its own
            task, started = (self.task_function, Singleton.get_state()), []
            for number, overrides in enumerate(jobs, first):
                numbered = [*overrides, f"hydra.job.num={number}", f"hydra.job.id='{number}'"]
                config = self.hydra_context.config_loader.load_sweep_config(self.config, numbered)
                started.append(launch_job_on_ray(self.hydra_context, self.ray_cfg.remote, config, *task))
            return started

        def _result(self, job: Any) -> Any:
            return job.future().result()  # ray.get would give SystemExit another status


with suppress(ImportError):
    from hydra_plugins.hydra_submitit_launcher import config, submitit_launcher

    class LocalLauncher(Waiting, submitit_launcher.BaseSubmititLauncher):
        """Jobs as processes of this machine, which are ended with all our child processes."""

        _EXECUTOR = "local"

        def _start(self, jobs: list[list[str]], first: int, endings: ExitStack) -> list[Any]:
            import submitit

            base = config.BaseQueueConf.__dataclass_fields__
            settings = {key if key in base else f"{self._EXECUTOR}_{key}": value for key, value in self.params.items()}
            initial = {key: settings.pop(key) for key in ["slurm_max_num_timeout"] if key in settings}
            executor = submitit.AutoExecutor(settings.pop("submitit_folder"), self._EXECUTOR, **initial)
            executor.update_parameters(**settings)
            numbers, state = range(first, first + len(jobs)), repeat(Singleton.get_state())
            started = executor.map_array(self, jobs, repeat("hydra.sweep.dir"), numbers, map(str, numbers), state)
            if self._EXECUTOR == "slurm":
                array = started[0].job_id.partition("_")[0]
                endings.callback(subprocess.run, ["scancel", "--signal=KILL", array], check=False)
                print(f"waiting for Slurm: squeue --jobs={array} shows the state of each job", file=sys.stderr)
            return list(started)

        def _result(self, job: Any) -> Any:
            job.wait()
            for printed, stream in ((job.stdout(), sys.stdout), (job.stderr(), sys.stderr)):
                print(*re.findall(r"(?m)^\d+/(?:\d+|\?) .*\n", printed or ""), sep="", end="", file=stream, flush=True)
            return job.results()[0]

    class SlurmLauncher(LocalLauncher):
        """Jobs as an array of Slurm."""

        _EXECUTOR = "slurm"
