"""The sweeper of ragsweep; Hydra finds its plugins in this package and nowhere else."""

from __future__ import annotations

from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper


class CheckedSweeper(BasicSweeper):
    """Hydra's own sweeper, for jobs that `SweepCallback` has already composed and built.

    All jobs are one batch: between two, Hydra would stop at a job that failed.
    """

    def __init__(self, params: dict[str, str] | None = None) -> None:
        super().__init__(max_batch_size=None, params=params)

    def validate_batch_is_legal(self, batch: Any) -> None:
        """Hydra would compose every job here, and a second time when it starts."""
