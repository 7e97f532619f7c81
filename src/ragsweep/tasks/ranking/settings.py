"""The settings of the group `evaluation`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ragsweep.core.constraints import Between
from ragsweep.tasks.ranking.judging import Collapse
from ragsweep.tasks.ranking.metrics import Gain


@dataclass(frozen=True)
class EvaluationSettings:
    """What is measured, and how repeated units and grades count; its metrics are components of their own.

    Attributes:
        collapse: Whether a cutoff counts passages or distinct units, as `judge` says.
        relevance_level: The lowest grade that counts as relevant.
        gain: Of NDCG.
        resamples: Of the bootstrap behind the confidence intervals, and of every test.
    """

    collapse: Collapse
    relevance_level: Annotated[int, Between(1, 2**31)]
    gain: Gain
    resamples: Annotated[int, Between(100, 100_000)]
