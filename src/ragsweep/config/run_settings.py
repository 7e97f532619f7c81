"""Settings that several rooms use or read back from records, so that they mean the same in all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ragsweep.core.limits import Between, Text

Cutoff = Annotated[int, Between(1, 1000)]  # every cutoff up to k is measured and logged
Budget = Annotated[int, Between(1, 1_000_000)]  # a cutoff, or a cost such as tokens
Seed = Annotated[int, Between(0, 2**63 - 1)]
MOST_REPEATS = 100
Repeats = Annotated[int, Between(1, MOST_REPEATS)]
Resamples = Annotated[int, Between(100, 100_000)]

DEFAULT_RESAMPLES, DEFAULT_SEED = 10_000, 0  # where a task records none


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
