"""The settings of a run that belong to no group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ragsweep.core.constraints import Between


@dataclass(frozen=True)
class RunSettings:
    """What every run has.

    Attributes:
        k: The cutoff: how many passages go into the prompt.
        seed: Of every random draw.
    """

    k: Annotated[int, Between(1, 1000)]  # every cutoff up to k is measured and logged
    seed: Annotated[int, Between(0, 2**63 - 1)]
