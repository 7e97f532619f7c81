"""The sweeper of ragsweep; Hydra finds its plugins in this package and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


class CheckedSweeper(BasicSweeper):
    """Hydra's own sweeper, for jobs that `SweepCallback` has already composed and built.

    All jobs are one batch: between two, Hydra would stop at a job that failed.
    """

    def __init__(self, params: dict[str, str] | None = None) -> None:
        super().__init__(max_batch_size=None, params=params)

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Let jobs of this process share what Hydra composes."""
        if config.hydra.launcher._target_.endswith(".BasicLauncher"):
            from ragsweep.app.composing import sharing

            hydra_context = replace(hydra_context, config_loader=sharing(hydra_context.config_loader))
        super().setup(hydra_context=hydra_context, task_function=task_function, config=config)

    def validate_batch_is_legal(self, batch: Any) -> None:
        """Hydra would compose every job here, and a second time when it starts."""
