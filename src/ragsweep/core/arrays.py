"""Types of arrays that cross rooms."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Milliseconds = npt.NDArray[np.float64]
StageTimes = npt.NDArray[np.float64]  # in milliseconds, shape [stages, queries]

NOTHING = -1  # in a ranking, at the ranks after the last passage that was retrieved
