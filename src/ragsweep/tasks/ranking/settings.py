"""The settings of the group `evaluation`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from ragsweep.core.constraints import Between, Group
from ragsweep.core.run_settings import Resamples
from ragsweep.tasks.ranking.evaluation import RankingMetric
from ragsweep.tasks.ranking.judging import Collapse
from ragsweep.tasks.ranking.metrics import Gain


@dataclass(frozen=True)
class EvaluationSettings(Group):
    """What is measured, and how repeated units and grades count.

    Attributes:
        collapse: Whether a cutoff counts passages or distinct units, as `judge` says.
        relevance_level: The lowest grade that counts as relevant.
        gain: Of NDCG.
        resamples: Of the bootstrap behind the confidence intervals, and of every test.
        metrics: By name, in the order of tables and charts.
    """

    collapse: Collapse
    relevance_level: Annotated[int, Between(1, 2**31)]
    gain: Gain
    resamples: Resamples
    metrics: Mapping[str, RankingMetric]
