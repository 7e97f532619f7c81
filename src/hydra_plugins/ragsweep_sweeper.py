"""The sweeper of ragsweep; Hydra finds its plugins in this package and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import replace
from functools import partial
from io import StringIO
from typing import Any

from hydra.core.plugins import Plugins
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


class CheckedSweeper(Sweeper):
    """Runs the jobs that `SweepCallback` has planned.

    All jobs are one batch: between two, Hydra would stop at a job that failed.
    """

    def __init__(self, params: Mapping[str, str] | None = None, zip: Sequence[str] = ()) -> None:
        """Take what Hydra passes on; the plan has read it from the configuration."""
        self.launcher: Launcher | None = None

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Let the jobs of a process share what Hydra composes."""
        from ragsweep.config.composing import sharing

        hydra_context = replace(hydra_context, config_loader=sharing(hydra_context.config_loader))  # type: ignore[arg-type]
        self.hydra_context, self.config = hydra_context, config
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> Any:
        """Run the jobs, and raise the error of the first one that failed."""
        from ragsweep.app.sweep import SweepCallback

        assert self.launcher is not None
        self.prepare()
        results = self.launcher.launch([job.overrides for job in SweepCallback.plan.jobs], initial_job_idx=0)
        with redirect_stderr(StringIO()):  # of Hydra's, as the job has said why it failed
            for result in results:
                _ = result.return_value  # raises what the job raised
        return [results]

    def prepare(self) -> None:
        """Prepare the sweep before its jobs run."""


class RaceSweeper(CheckedSweeper):
    """Drops configurations that are shown not to be the best; the others run like the jobs of any sweep."""

    def __init__(self, **settings: Any) -> None:
        """Take what Hydra passes on; the plan has read it from the configuration."""
        super().__init__()

    def prepare(self) -> None:
        """Race. The jobs of those that drop out record that."""
        from ragsweep.app.sweep import SweepCallback

        assert self.launcher is not None
        SweepCallback.run_race(partial(self.launcher.launch, initial_job_idx=0))
