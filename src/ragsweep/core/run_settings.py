"""Settings that several rooms read back from records, so that they mean the same in all of them."""

from __future__ import annotations

from typing import Annotated

from ragsweep.core.constraints import Between

Cutoff = Annotated[int, Between(1, 1000)]  # every cutoff up to k is measured and logged
Seed = Annotated[int, Between(0, 2**63 - 1)]
Resamples = Annotated[int, Between(100, 100_000)]

DEFAULT_RESAMPLES, DEFAULT_SEED = 10_000, 0  # where a task records none
