"""The smooth calibration error: like that of `calibration`, but without bins. The arguments are as there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ragsweep.statistics.intervals import COVERAGE, Array
from ragsweep_answers.measuring.measures.calibration import Statistic, error_interval, one_by_one, sums_by

if TYPE_CHECKING:
    from scipy.sparse import csr_array

GRID_CELLS = 500
BANDWIDTH_TOLERANCE = 1e-6  # of the error


def smooth_ece_of(confidence: Array, correct: Array) -> Statistic:
    """Smooth calibration error (Blasiok and Nakkiran 2024, "Smooth ECE: principled reliability diagrams").

    Like the ECE, but without bins: the residuals confidence - correct are smoothed along the confidence by a Gaussian
    that is reflected at 0 and 1. Its bandwidth is the one that equals the resulting error; there is exactly one.

    The package relplot of the authors gives the same, except that its reflection counts a confidence of exactly 0 or 1
    half, and such confidences are common here.
    """
    cells = residual_cells(confidence, correct)
    return one_by_one(lambda weight: _bandwidth_of(float, cells @ weight))


def smooth_ece_at(confidence: Array, correct: Array, bandwidth: float) -> Statistic:
    """The smooth calibration error at a fixed bandwidth, in the unit of the confidence."""
    cells = residual_cells(confidence, correct)
    return lambda weight: _smoothed(_spectrum(cells @ weight), bandwidth)


def smooth_ece_interval(error: float, measured: Array, resampled: Array) -> tuple[float, float]:
    """The 95 % interval of the smooth calibration error, as `error_interval` defines it.

    The bandwidth of every resample need not be found. As each error falls with the bandwidth, the percentile of the
    resampled errors is the one bandwidth at which it equals the percentile of the errors.

    Args:
        error: The measured error.
        measured: The residuals of `residual_cells`, shape [GRID_CELLS].
        resampled: The residuals in each bootstrap resample, shape [GRID_CELLS, resamples].
    """
    noise = _smoothed(_spectrum(resampled - measured[:, None]), error)
    high = _bandwidth_of(lambda errors: float(np.quantile(errors, (1 + COVERAGE) / 2)), resampled)
    return error_interval(error, np.array([high]), noise)


def residual_cells(confidence: Array, correct: Array) -> csr_array:
    """A matrix from the weights to the residuals in cells along the confidence, shape [GRID_CELLS, questions].

    A residual is split between the two nearest cells.
    """
    place = (confidence * GRID_CELLS - 0.5).clip(0, GRID_CELLS - 1)  # 0 is the middle of the first cell
    lower, residual = np.minimum(place.astype(np.int64), GRID_CELLS - 2), confidence - correct
    to_upper = place - lower
    cells: csr_array = sums_by(lower, residual * (1 - to_upper), GRID_CELLS) + sums_by(
        lower + 1, residual * to_upper, GRID_CELLS
    )
    return cells


def _bandwidth_of(summary: Callable[[Array], float], residuals: Array) -> float:
    """The bandwidth that equals a summary of the errors at this bandwidth.

    Args:
        summary: Takes the smoothed errors, shape [...], and returns a number that falls if all of them fall.
        residuals: Shape [GRID_CELLS, ...].
    """
    from scipy.optimize import brentq

    # Smoothing keeps the sum and lets residuals cancel each other; twice, for what the grid adds to narrow kernels.
    low = max(0, summary(np.abs(residuals.sum(axis=0))) - BANDWIDTH_TOLERANCE)
    high = 2 * summary(np.abs(residuals).sum(axis=0)) + BANDWIDTH_TOLERANCE
    spectrum = _spectrum(residuals)
    return float(brentq(lambda width: summary(_smoothed(spectrum, width)) - width, low, high, xtol=BANDWIDTH_TOLERANCE))


def _spectrum(residuals: Array) -> Array:
    """The cosine transform: smoothing with reflection at both ends scales each cosine. Shape [GRID_CELLS, ...]."""
    from scipy.fft import dct

    return dct(residuals, axis=0)


def _smoothed(spectrum: Array, bandwidth: float) -> Array:
    """Sum of the absolute smoothed residuals, shape [...]."""
    from scipy.fft import idct

    # The next cosine is scaled by less than 1e-15.
    cosines = GRID_CELLS if bandwidth * GRID_CELLS <= 3 else int(3 / bandwidth)
    kernel = np.exp(-((np.pi * bandwidth * np.arange(cosines)) ** 2) / 2)
    smoothed = (spectrum[:cosines].T * kernel).T
    errors: Array = np.abs(idct(smoothed, n=GRID_CELLS, axis=0)).sum(axis=0)
    return errors
