"""Submitit's launchers. They go on if a job is killed, and end their jobs when they are ended."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from itertools import repeat
from typing import TYPE_CHECKING

from hydra.core.singleton import Singleton
from hydra.core.utils import JobReturn, JobStatus

if TYPE_CHECKING:
    import submitit

if find_spec("hydra_plugins.hydra_submitit_launcher"):  # Hydra imports this module also without the extra
    from hydra_plugins.hydra_submitit_launcher.submitit_launcher import BaseSubmititLauncher

    # Of all that a job prints, what it says of its result.
    OWN_LINES = re.compile(r"^\d+/(?:\d+|\?) .*\n", re.MULTILINE)
    COMMON = set("timeout_min cpus_per_task gpus_per_node tasks_per_node mem_gb nodes name stderr_to_stdout".split())

    class LocalLauncher(BaseSubmititLauncher):
        """Jobs as processes of this machine."""

        _EXECUTOR = "local"

        def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
            """Submit all jobs and wait for every one: the plugin's own method stops at the first killed job."""
            from ragsweep.app.naming import start_no_more_jobs

            jobs = self._submit([list(overrides) for overrides in job_overrides], initial_job_idx)
            try:
                return [self._result(job, overrides) for job, overrides in zip(jobs, job_overrides, strict=True)]
            except BaseException:
                start_no_more_jobs()  # first: a job that is just starting would open its run after all are closed
                self.cancel(jobs)
                raise

        def _submit(self, job_overrides: list[list[str]], first: int) -> list[submitit.Job[JobReturn]]:
            import submitit

            settings = dict(self.params)
            folder = settings.pop("submitit_folder")
            retries = settings.pop("max_num_timeout", None)
            at_creation = {} if retries is None else {f"{self._EXECUTOR}_max_num_timeout": retries}
            executor = submitit.AutoExecutor(folder, cluster=self._EXECUTOR, **at_creation)
            executor.update_parameters(
                **{name if name in COMMON else f"{self._EXECUTOR}_{name}": value for name, value in settings.items()}
            )
            numbers = range(first, first + len(job_overrides))
            jobs: list[submitit.Job[JobReturn]] = executor.map_array(
                self,
                job_overrides,
                repeat("hydra.sweep.dir"),
                numbers,
                map(str, numbers),
                repeat(Singleton.get_state()),
            )
            return jobs

        def _result(self, job: submitit.Job[JobReturn], overrides: Sequence[str]) -> JobReturn:
            """What the job returned, or the error that ended it. Prints the job's line."""
            from submitit.core.utils import UncompletedJobError

            from ragsweep.core.errors import JobFailed

            job.wait()
            for printed, stream in ((job.stdout(), sys.stdout), (job.stderr(), sys.stderr)):
                print(*OWN_LINES.findall(printed or ""), sep="", end="", file=stream, flush=True)
            try:
                returned: JobReturn = job.results()[0]
            except UncompletedJobError:
                fate = f"{' '.join(overrides)}: ended without a result ({job.state}); see {job.paths.stderr}"
                print(f"ragsweep: {fate}", file=sys.stderr)
                returned = JobReturn(overrides, status=JobStatus.FAILED)
                returned.return_value = JobFailed(fate)
            return returned

        def cancel(self, jobs: Sequence[submitit.Job[JobReturn]]) -> None:
            """End the jobs. Jobs on this machine are child processes, which are ended elsewhere."""

    class SlurmLauncher(LocalLauncher):
        """Jobs as an array of Slurm."""

        _EXECUTOR = "slurm"

        def _submit(self, job_overrides: list[list[str]], first: int) -> list[submitit.Job[JobReturn]]:
            """Submit all jobs, and say what is waited for: nothing else tells of one that Slurm never starts."""
            jobs = super()._submit(job_overrides, first)
            array = _array_of(jobs)
            print(f"waiting for Slurm's job {array}; squeue --jobs={array} shows its state and why", file=sys.stderr)
            return jobs

        def cancel(self, jobs: Sequence[submitit.Job[JobReturn]]) -> None:
            """Cancel waiting jobs, and kill running ones, because submitit's jobs ignore a request to end."""
            with suppress(OSError):
                array = _array_of(jobs)
                for what in ("--state=PENDING", "--signal=KILL"):
                    subprocess.run(["scancel", what, array], check=False)

    def _array_of(jobs: Sequence[submitit.Job[JobReturn]]) -> str:
        """The number of the array in which Slurm has the jobs."""
        return str(jobs[0].job_id).partition("_")[0]
