"""Pins the decision of a sweep to the top of its experiment."""

from __future__ import annotations

from datetime import datetime

from omegaconf import DictConfig

from ragsweep.core.errors import TrackingError
from ragsweep.tracking.description import Decided, pin
from ragsweep.tracking.fetching import reading
from ragsweep.tracking.finishing import HEADLINE


def pin_sweep(tracking: DictConfig, sweep_id: str, *, remove: bool = False) -> tuple[str, str]:
    """Keep the decision of a sweep at the top of its experiment, or no longer.

    Args:
        tracking: The `tracking` group of the configuration.
        sweep_id: The parent run of the sweep.
        remove: Whether to pin it no longer.

    Returns:
        The name of the sweep, and that of its experiment.

    Raises:
        TrackingError: The store cannot be reached or written, has no such sweep, or the description is a user's.
    """
    with reading(tracking, sweep_id) as client:
        run = client.get_run(sweep_id)
        if HEADLINE not in run.data.tags:
            raise TrackingError(f"{sweep_id}: expected the id of a sweep that has ended in one decision")
        start = datetime.fromtimestamp(run.info.start_time / 1000)
        decided = Decided(sweep_id, run.info.run_name, run.data.tags[HEADLINE], start)
        pin(client, run.info.experiment_id, decided, remove=remove)
        return run.info.run_name, client.get_experiment(run.info.experiment_id).name
