"""Dynamic k: a ranking ends where its scores drop most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ragsweep.core.arrays import NOTHING
from ragsweep.core.errors import ConfigError
from ragsweep.core.limits import Between
from ragsweep.retrieval.kinds import Reranker
from ragsweep.retrieval.ranking import Ranking, Search, first_of


@dataclass(frozen=True)
class GapCutoff(Reranker):
    """Cuts the ranking of each query at the largest drop between neighbouring scores, as Weaviate's autocut does.

    Where all scores are equal, or no drop is large enough, the whole ranking is kept.

    Attributes:
        least: The fewest passages that are kept.
        most: The most passages that are kept before the drop.
        ratio: The smallest drop that counts, as a share of the range of the first `most + 1` scores.
    """

    least: Annotated[int, Between(1)] = 1
    most: Annotated[int, Between(1)] = 20
    ratio: Annotated[float, Between(0, 1)] = 0.0

    def __post_init__(self) -> None:
        if self.least > self.most:
            raise ConfigError(f"least: found {self.least}, expected at most {self.most} (most)")

    def rerank(self, search: Search, ranking: Ranking, depth: int) -> Ranking:
        """The first passages of a ranking, up to the drop and at most `depth` of them."""
        scores = ranking.scores[:, : self.most + 1]
        retrieved = ranking.passages[:, : self.most + 1] != NOTHING
        drops = np.zeros(scores.shape)  # behind each rank
        np.subtract(scores[:, :-1], scores[:, 1:], out=drops[:, :-1], where=retrieved[:, 1:])
        needed = self.ratio * drops.sum(axis=1)
        drops[:, : self.least - 1] = 0
        largest = drops.argmax(axis=1)
        drop = drops.max(axis=1)
        found = (drop > 0) & (drop >= needed)
        return first_of(ranking, np.where(found, largest + 1, ranking.passages.shape[1]), depth)
