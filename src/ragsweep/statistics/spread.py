"""Descriptive statistics: mean, standard deviation and quartiles."""

from __future__ import annotations

import numpy as np

from ragsweep.statistics.intervals import Array

STATISTICS = ["mean", "std", "min", "25%", "50%", "75%", "max"]


def spread(values: Array) -> dict[str, Array]:
    """Each statistic of the values over their last axis, by its name in `STATISTICS`."""
    deviation = values.std(axis=-1, ddof=1) if values.shape[-1] > 1 else np.full(values.shape[:-1], np.nan)
    quartiles = np.quantile(values, [0, 0.25, 0.5, 0.75, 1], axis=-1)
    return dict(zip(STATISTICS, [values.mean(axis=-1), deviation, *quartiles], strict=True))
