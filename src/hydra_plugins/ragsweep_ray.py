"""Hydra's Ray launcher. It goes on if a job is killed, and ends its jobs when it is ended."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf, open_dict

if TYPE_CHECKING:
    import ray

VERBATIM = {  # prints the output of jobs as it is: no process id, no line left out or delayed
    "RAY_DISABLE_WORKER_LOG_PREFIX": "1",
    "RAY_DEDUP_LOGS": "0",
    "RAY_FLUSH_DRIVER_LOGS": "1",
}


class RayLauncher(Launcher):
    """Jobs as tasks of Ray, on this machine or on a cluster."""

    def __init__(self, ray: DictConfig) -> None:
        self.settings = ray

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Keep what the jobs need."""
        self.context, self.task, self.config = hydra_context, task_function, config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Start all jobs and wait for every one: the plugin's own method stops at the first killed job."""
        os.environ.update(VERBATIM)  # Ray reads it when it is imported
        import ray

        from ragsweep.app.naming import start_no_more_jobs

        terminate = signal.getsignal(signal.SIGTERM)
        arguments: Any = OmegaConf.to_container(self.settings.init, resolve=True)
        ray.init(**arguments)
        signal.signal(signal.SIGTERM, terminate)  # Ray has set its own
        try:
            numbered = enumerate(job_overrides, start=initial_job_idx)
            jobs = [self._start(overrides, number) for number, overrides in numbered]
            return [self._result(job, overrides) for job, overrides in zip(jobs, job_overrides, strict=True)]
        except BaseException:
            start_no_more_jobs()
            ray.shutdown()
            raise

    def _start(self, overrides: Sequence[str], number: int) -> ray.ObjectRef[JobReturn]:
        from hydra_plugins.hydra_ray_launcher._launcher_util import launch_job_on_ray

        config = self.context.config_loader.load_sweep_config(self.config, list(overrides))
        with open_dict(config):
            config.hydra.job.id, config.hydra.job.num = str(number), number
        return launch_job_on_ray(self.context, self.settings.remote, config, self.task, Singleton.get_state())

    def _result(self, job: ray.ObjectRef[JobReturn], overrides: Sequence[str]) -> JobReturn:
        """What the job returned, or the error that ended it after all of Ray's retries."""
        from ray.exceptions import RayError

        from ragsweep.core.errors import JobFailed

        try:
            returned: JobReturn = job.future().result()  # ray.get would give SystemExit another status
        except RayError as error:
            print(f"ragsweep: {' '.join(overrides)}: {' '.join(str(error).split())}", file=sys.stderr)
            returned = JobReturn(overrides, status=JobStatus.FAILED)
            returned.return_value = JobFailed(str(error))
        return returned
