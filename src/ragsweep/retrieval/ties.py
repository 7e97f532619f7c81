"""Which of a ranker's scores are equal at the cutoff, so that something else than the score decides."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ragsweep.core.capability import Capability, offered_with
from ragsweep.retrieval.ranking import Search
from ragsweep.retrieval.stage_capabilities import RANKS


@offered_with(*RANKS)
@runtime_checkable
class KnowsTies(Capability, Protocol):
    """A ranker that can say for which queries equal scores stand on both sides of a cutoff."""

    @property
    def order_of_ties(self) -> str:
        """What decides the order of equal scores, as the end of a sentence."""
        ...

    def tied_at(self, search: Search, k: int) -> npt.NDArray[np.bool_]:
        """Whether the passages of each query at the ranks k and k + 1 have equal scores, shape [queries]."""
        ...
