"""The settings of the group `tracking`."""

from __future__ import annotations

from dataclasses import dataclass

from ragsweep.core.constraints import Text


@dataclass(frozen=True)
class TrackingSettings:
    """Where runs are recorded, and what another start of the same sweep does.

    Attributes:
        uri: The tracking store.
        artifacts: The folder or cloud address of a new experiment's artifacts; None for those of a server.
        experiment: The experiment's name.
        resume: Whether finished runs of earlier sweeps count.
        fail_fast: Whether no job starts after a failed one.
    """

    uri: Text
    artifacts: Text | None
    experiment: Text
    resume: bool
    fail_fast: bool
