"""What the answers cost: time and tokens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np


class Cost(NamedTuple):
    """What the answers cost, in the unit of the single costs, such as ms.

    Attributes:
        answers: Answers whose cost is known.
        mean: Mean over these answers.
        median: Median.
        p95: 95th percentile, interpolated linearly.
        total: Sum.
    """

    answers: int
    mean: float
    median: float
    p95: float
    total: float


def cost(values: Iterable[float | None]) -> Cost | None:
    """Summarise the costs of the answers that have one; None if none has."""
    known = np.array([value for value in values if value is not None], np.float64)
    if not len(known):
        return None
    median, p95 = np.quantile(known, [0.5, 0.95])
    return Cost(len(known), float(known.mean()), float(median), float(p95), float(known.sum()))
