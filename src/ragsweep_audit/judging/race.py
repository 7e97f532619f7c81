"""A race between configurations, decided by few judgments, with an error that holds at every look.

A metric like DCG is a weighted sum over the relevant units that a configuration ranks. So the difference between two
configurations is a sum, over pairs of a query and a unit, of the difference of their weights times the grade. One pair
is drawn at a time, without replacement, with a chance that depends on what is known so far; what is judged already plus
the drawn pair's contribution divided by its chance is then, on average, exactly the difference (Shekhar et al. 2023,
arXiv 2305.04026). A gambler who bets on it, and can never lose more than what he has, gets rich only if the hypothesis
is wrong (Waudby-Smith and Ramdas 2024, arXiv 2010.09686): his capital passes 1 / level with a probability of at most
the level, whenever one looks, whoever proposes the pairs, and whatever is guessed about relevance.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ragsweep.core.arrays import Indices
from ragsweep.statistics.intervals import LEVEL, Array

CLASSES = 8  # of pairs by how high they are ranked; the share of relevant ones is estimated in each
FEW = 2.0  # judgments that the share of all pairs counts for in the estimate of a class
LEAST_SHARE = 0.02
LEAST_GAP = 0.5  # of the largest estimated gap; configurations nearer than that get no larger share of the judgments
BLIND_SHARE = 0.1  # of the chance of a pair that does not depend on what is guessed
SAFE_BET = 0.9  # of the bet with which everything could be lost
ROUNDING = 1e-12  # sums that differ by less are the same, added in another order
DOUBTED = 10.0  # judgments after which an estimated gap is half believed


@dataclass(frozen=True, eq=False)
class Draw:
    """A pair that is asked, as it was drawn.

    Attributes:
        pair: Its position.
        chances: The chance of each pair to be drawn, shape [pairs]; 0 for those that were judged, or drawn before.
        running: The configurations that were in the race, shape [configurations in the race].
        opponents: For each of them the position, among them, of the one that it is compared with: the leader, and for
            the leader the second.
        leader: Position of the leader among them.
    """

    pair: int
    chances: Array
    running: Indices
    opponents: Indices
    leader: int


@dataclass(eq=False)
class Race:
    """What is known while judging goes on.

    Attributes:
        weights: What a fully relevant unit adds to the metric, shape [configurations, pairs].
        judged: Grades from 0 to 1 that are known at the start, NaN for the others, shape [pairs].
        margin: How much worse than the best still counts as good enough; 0 decides only by who is best.
        level: The probability with which the best one may drop out; and with which the leader, once it is said to be
            good enough, may lose more than the margin.
        seed: Of the draws.
    """

    weights: Array
    judged: Array
    margin: float = 0.0
    level: float = LEVEL
    seed: int = 42
    drawn: int = 0
    learnt: int = 0
    running: npt.NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        configurations = len(self.weights)
        known = ~np.isnan(self.judged)
        self.running = np.ones(configurations, dtype=bool)
        self._open = ~known  # what may be judged, or is being judged
        self._left = np.where(known, 0.0, self.weights)  # weights of what may still be drawn
        self._known = self.weights[:, known] @ self.judged[known]
        self._unsure: list[int] = []
        self._sums, self._total = np.zeros(configurations), 0.0
        self._against_best = np.zeros(configurations)  # log of the capital against "this one is the best"
        self._against_loss = np.zeros((configurations, configurations))  # "the first loses the margin to the second"
        height = self.weights.mean(axis=0)
        edges = np.quantile(height[~known], np.linspace(0, 1, CLASSES + 1)[1:-1]) if not known.all() else []
        self._class = np.searchsorted(edges, height)
        self._relevant = np.bincount(self._class[known], self.judged[known], CLASSES)
        self._seen = np.bincount(self._class[known], minlength=CLASSES).astype(float)

    @property
    def estimates(self) -> Array:
        """The estimated metric of each configuration, up to what all that are in the race share."""
        return self._sums / self._total if self._total else self._known

    @property
    def shares(self) -> Array:
        """The estimated share of relevant units among pairs that are ranked as high, shape [pairs]."""
        of_all = (self._relevant.sum() + 0.5) / (self._seen.sum() + 5)
        of_class = (self._relevant + FEW * of_all) / (self._seen + FEW)
        shares: Array = of_class.clip(LEAST_SHARE, 1)[self._class]
        return shares

    @property
    def leader(self) -> int:
        """The configuration that leads."""
        return int(np.argmax(np.where(self.running, self.estimates, -np.inf)))

    @property
    def differing(self) -> int:
        """How many pairs without an answer can change a difference between configurations in the race."""
        return int((np.ptp(self.weights[self.running][:, self._open], axis=0) > 0).sum())

    @property
    def is_close_enough(self) -> bool:
        """Whether the leader is shown to lose less than the margin to each other one in the race."""
        leader = self.leader
        others = np.flatnonzero(self.running & (np.arange(len(self.running)) != leader))
        needed = np.log(len(self.running) / self.level)  # whichever leads
        return bool((self._against_loss[leader, others] >= needed).all())

    def draw(self) -> Draw | None:
        """Draw the next pair to judge; None if no pair is left that can change a difference."""
        running = np.flatnonzero(self.running)
        estimates, left = self.estimates[running], self._left[running]
        order = np.argsort(-estimates, kind="stable")
        leader = int(order[0])
        opponents = np.full(len(running), leader)
        opponents[leader] = order[min(1, len(order) - 1)]
        differences = np.abs(left[leader] - left)
        blind = differences.sum(axis=0)
        if not blind.any():
            return None
        gaps = estimates[leader] - estimates
        urgency = np.maximum(gaps, LEAST_GAP * gaps.max() or 1.0) ** -2.0
        told = np.sqrt(self.shares * (urgency @ differences**2))  # the smallest sum of relative variances
        chances = (1 - BLIND_SHARE) * told / told.sum() + BLIND_SHARE * blind / blind.sum()
        self.drawn += 1
        pair = int(np.random.default_rng([self.seed, self.drawn]).choice(len(chances), p=chances))
        self._left[:, pair] = 0.0
        return Draw(pair, chances, running, opponents, leader)

    def learn(self, draw: Draw, grade: float | None) -> list[int]:
        """Take a judgment in, in the order of the draws, and return the configurations that drop out.

        Args:
            draw: As it was drawn.
            grade: From 0 to 1; None if the judge cannot tell, which counts against whatever it could show.
        """
        running, weights = draw.running, self.weights[draw.running]
        apart = weights[draw.opponents] - weights  # of the opponent, over each
        drawable = draw.chances > 0
        scaled = np.divide(apart, draw.chances, out=np.zeros_like(apart), where=drawable)
        gains, shares = scaled[:, draw.pair], self.shares
        known = self._known[running]
        known = known[draw.opponents] - known - np.maximum(-apart[:, self._unsure], 0).sum(axis=1)
        lowest = _rounded(known + np.minimum(scaled.min(axis=1), 0))
        seen = _rounded(known + (np.minimum(gains, 0) if grade is None else gains * grade))
        expected = np.where(drawable, apart * shares, 0)
        variance = (expected * scaled).sum(axis=1) - expected.sum(axis=1) ** 2
        estimates = self.estimates[running]
        gap = (estimates[draw.opponents] - estimates) * self.learnt / (self.learnt + DOUBTED)
        self._against_best[running] += _growth(seen, lowest, gap, variance)
        if self.margin:
            growth = _growth(seen + self.margin, lowest + self.margin, gap + self.margin, variance)
            growth[draw.leader] = 0.0
            self._against_loss[running[draw.leader], running] += growth
        self._count(draw, grade, float(np.abs(apart[:, drawable]).sum(axis=1).max()))
        return self.drop_out()

    def _count(self, draw: Draw, grade: float | None, size: float) -> None:
        """Add a judgment to what is known and estimated."""
        pair, given = draw.pair, grade or 0.0
        precision = size**-2.0
        self._sums += precision * (self._known + self.weights[:, pair] * given / draw.chances[pair])
        self._total += precision
        self._known = self._known + self.weights[:, pair] * given
        self.learnt += 1
        self._open[pair] = False
        if grade is None:
            self._unsure.append(pair)
        else:
            self._relevant[self._class[pair]] += grade
            self._seen[self._class[pair]] += 1

    def drop_out(self) -> list[int]:
        """End the race for those that are shown not to be the best, or lose whatever else is judged."""
        best = int(np.argmax(np.where(self.running, self._known, -np.inf)))
        unknown = self._open.astype(float)
        unknown[self._unsure] = 1
        most = np.maximum(self.weights - self.weights[best], 0) @ unknown
        loses = self._known + most < self._known[best] - ROUNDING
        out = self.running & (loses | (self._against_best >= np.log(1 / self.level)))
        if (out == self.running).all():
            out[self.leader] = False
        self.running &= ~out
        return np.flatnonzero(out).tolist()


def _rounded(values: Array) -> Array:
    """The values, 0 where nothing but a rounding error is left of them."""
    return np.where(np.abs(values) < ROUNDING, 0.0, values)


def _growth(seen: Array, lowest: Array, expected: Array, variance: Array) -> Array:
    """Logarithm of what a bet on values above 0 returns; infinite where only values above 0 are possible.

    Args:
        seen: The values.
        lowest: The smallest values that were possible.
        expected: The means that are believed in.
        variance: Their variances.
    """
    bet = np.maximum(expected, 0) / np.maximum(variance + expected**2, np.finfo(float).tiny)
    risky = lowest < 0
    bet = np.where(risky, np.minimum(bet, SAFE_BET / np.maximum(-lowest, np.finfo(float).tiny)), bet)
    growth: Array = np.where(lowest > 0, np.inf, np.log1p(np.where(lowest > 0, 0, bet * seen)))
    return growth
