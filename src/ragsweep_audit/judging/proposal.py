"""The chances with which pairs are drawn, until they are computed anew."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import Indices
from ragsweep.statistics.intervals import Array

LEAST_GAP = 0.5  # of the largest estimated gap, without a margin; nearer ones get no larger share of the judgments
BLIND_SHARE = 0.1  # of the chance of a pair that does not depend on what is guessed
BLIND_SHARE_WITH_MARGIN = 0.4  # bets on a margin are limited by the worst that could be drawn, which this share bounds
BLOCK = 8192  # pairs at a time: what is computed of them fits in a processor's cache


@dataclass(frozen=True, eq=False)
class Draw:
    """A pair that is asked, with what was known of its draw.

    Attributes:
        pair: Its position.
        chance: Its chance to be drawn.
        running: The configurations that were in the race, shape [configurations in the race].
        opponents: For each of them the position, among them, of the one that it is compared with: the leader, and for
            the leader the second.
        leader: Position of the leader among them.
        apart: By how much the pair counts more for the opponent than for each of them.
        lowest: What could have been drawn at worst for each opponent: the difference divided by the chance, at most 0.
        variance: The guessed variance of what is drawn.
        size: The largest sum of differences to the leader, over all pairs that could be drawn.
        covered: Of which of them each pair that tells it from its opponent could be drawn, so that one may bet.
    """

    pair: int
    chance: float
    running: Indices
    opponents: Indices
    leader: int
    apart: Array
    lowest: Array
    variance: Array
    size: float
    covered: npt.NDArray[np.bool_]


@dataclass(eq=False)
class Proposal:
    """Chances in proportion to fixed numbers, over the pairs that are left, with the sums that a bet needs.

    A drawn pair is taken out of all of them, so that a draw costs no pass over configurations times pairs.

    Attributes:
        running: As of `Draw`.
        opponents: As of `Draw`.
        place: Position of the leader among those that run.
        apart: As of `Draw`, for each pair, shape [configurations in the race, pairs]; 0 for pairs that are not left.
        scores: The numbers that chances are in proportion to, shape [pairs].
        shares: The guessed share of relevant ones among such pairs, shape [pairs].
        covered: As of `Draw`.
    """

    running: Indices
    opponents: Indices
    place: int
    apart: Array
    scores: Array
    shares: Array
    covered: npt.NDArray[np.bool_]

    def __post_init__(self) -> None:
        inverse = np.divide(1.0, self.scores, out=np.zeros_like(self.scores), where=self.scores > 0)
        rows = range(len(self.running))
        self._inverse = inverse
        self._worst = np.empty(len(self.running), dtype=np.intp)  # the pair that is worst for each opponent
        self._lowest = np.zeros(len(self.running))
        self._worst_of(rows)
        self._expected = self.apart @ self.shares
        weighted = self.shares * inverse
        self._squares = np.zeros(len(self.running))
        self._sizes = np.zeros(len(self.running))
        for start in range(0, len(self.scores), BLOCK):
            block = self.apart[:, start : start + BLOCK]
            self._squares += block**2 @ weighted[start : start + BLOCK]
            self._sizes += np.abs(block).sum(axis=1)

    @classmethod
    def of(
        cls,
        weights: Array,
        *,
        running: Indices,
        left: npt.NDArray[np.bool_],
        shares: Array,
        estimates: Array,
        near: npt.NDArray[np.bool_],
        margin: float,
        leader: int,
    ) -> Proposal:
        """A proposal that prefers the pairs that tell most between configurations still in the race.

        Args:
            weights: As of `Race`.
            running: As of `Draw`.
            left: The pairs that may be drawn, shape [pairs].
            shares: As above.
            estimates: The estimated metric of each configuration.
            near: The configurations that need no more judgments while this leader leads.
            margin: As of `Race`.
            leader: The leader.
        """
        place = int(np.searchsorted(running, leader))
        behind = np.abs(estimates[leader] - estimates[running]) + margin
        behind[place] = np.inf
        second = int(np.argmin(behind))
        opponents = np.full(len(running), place)
        opponents[place] = second
        behind[place] = 0.0
        least = margin or LEAST_GAP * behind.max() or 1.0
        urgency = np.maximum(behind, least) ** -2.0
        urgency[near[running]] = 0.0
        urgency[place] = 0.0
        if not urgency.any():  # all are near to this leader
            urgency[:] = 1.0
        asked = urgency > 0
        all_asked = asked.sum() == len(running) - 1 and asked[second]  # the leader differs from the second alike
        apart = np.empty((len(running), len(left)))
        told_apart, blind = np.empty(len(left)), np.empty(len(left))
        for start in range(0, len(left), BLOCK):
            block = slice(start, start + BLOCK)
            of_block = weights[:, block] if len(running) == len(weights) else weights[running, block]
            difference = np.subtract(of_block[place], of_block, out=apart[:, block])
            difference *= left[block]
            difference[place] = -difference[second]
            squares = difference**2
            told_apart[block] = urgency @ squares
            blind[block] = (squares if all_asked else squares[asked]).max(axis=0, initial=0.0)
        blind = np.sqrt(blind)
        told_apart = np.sqrt(shares * told_apart)  # the smallest sum of relative variances
        scores = np.zeros(len(left))
        if blind.any():  # a chance below its share of the differences would let a single pair cost much
            mixed = BLIND_SHARE_WITH_MARGIN if margin else BLIND_SHARE
            scores = (1 - mixed) * told_apart / told_apart.sum() + mixed * blind / blind.sum()
        covered = np.ones(len(running), dtype=bool)
        for row in np.flatnonzero(~asked).tolist():  # nothing is asked for the sake of these
            covered[row] = not apart[row, scores == 0].any()
        apart *= scores > 0
        return cls(running, opponents, place, apart, scores, shares, covered)

    @property
    def leader(self) -> int:
        """The configuration that led."""
        return int(self.running[self.place])

    @property
    def is_empty(self) -> bool:
        """Whether no pair is left."""
        return not self.scores.any()

    def draw(self, at: float) -> Draw:
        """Draw the pair at this share, from 0 to 1, of the sum of all scores."""
        reached = np.cumsum(self.scores)
        total = float(reached[-1])
        pair = min(int(np.searchsorted(reached, at * total, side="right")), int(np.flatnonzero(self.scores)[-1]))
        apart, share = self.apart[:, pair].copy(), float(self.shares[pair])
        variance = np.maximum(self._squares * total - self._expected**2, 0)
        facts = self._lowest * total, variance, float(self._sizes.max()), self.covered
        drawn = Draw(pair, float(self.scores[pair]) / total, self.running, self.opponents, self.place, apart, *facts)
        self._squares -= apart**2 * share * self._inverse[pair]
        self._expected -= apart * share
        self._sizes -= np.abs(apart)
        self.scores[pair] = 0.0
        self.apart[:, pair] = 0.0
        self._worst_of(np.flatnonzero(self._worst == pair).tolist())
        return drawn

    def _worst_of(self, rows: range | list[int]) -> None:
        for row in rows:
            ratio = self.apart[row] * self._inverse
            self._worst[row] = ratio.argmin()
            self._lowest[row] = min(ratio[self._worst[row]], 0.0)
