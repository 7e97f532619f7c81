"""Asks for what nobody has judged, what most configurations rank highest first: a pool, as of TREC. Decides nothing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ragsweep_audit.judging.proposal import Draw
from ragsweep_audit.judging.race import Race

DIGITS = 12  # of sums of weights, which are the same up to rounding on every machine


class Pooling(Race):
    """Every pair once, in the order of the sum of its weights; no configuration drops out."""

    def draw(self) -> Draw | None:
        """The next pair; None if none is left."""
        heights = np.where(self._left, self.weights.sum(axis=0).round(DIGITS), 0)
        if not heights.any():
            return None
        self.drawn += 1
        pair = int(np.argmax(heights))
        self._left[pair] = False
        running, nothing = np.flatnonzero(self.running), np.zeros(len(self.running))
        return Draw(pair, 1.0, running, running, 0, nothing, nothing, nothing, 0.0, self.running)

    def learn(self, draw: Draw, grade: float | None) -> list[int]:
        """Take a judgment in."""
        self.learnt += 1
        self._open[draw.pair] = False
        return []

    def drop_out(self) -> list[int]:
        """None drops out."""
        return []

    @property
    def differing(self) -> int:
        """How many pairs have no answer."""
        return int((self._open & self.weights.any(axis=0)).sum())


RACE, POOLING = "race", "pooling"
STRATEGIES: Mapping[str, type[Race]] = {RACE: Race, POOLING: Pooling}
