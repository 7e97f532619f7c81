"""A race between configurations over questions in random order, which drops the best one with a bounded probability.

A gambler bets that a configuration is worse than the leader. If it is one of the best, nobody can expect to win, so the
capital passes 1 / level with a probability of at most the level, whenever one looks (Ville). So a configuration whose
capital passes it drops out, and no correction for the number of configurations is needed: only the bets against one of
the best can be a mistake. Bets: Waudby-Smith and Ramdas 2024, arXiv 2010.09686; without replacement: 2020, arXiv
2006.04347; sets of best models: Arnold et al. 2024, arXiv 2404.18678; averages: Vovk and Wang 2021, arXiv 1912.06116.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from ragsweep.statistics.intervals import LEVEL, Array

Promise = Literal["these", "new"]

SAFE_BET = 0.97  # of the bet with which everything could be lost
SAFE_BET_ON_QUESTIONS = 0.9
PRIOR_VARIANCE = 0.05  # of the differences between two configurations, counted as one question
LEAST_VARIANCE = 1e-4
WITHDRAWN = -1
ROUNDING = 1e-12  # of sums: what is smaller is 0


def log_growth(values: Array, lowest: Array, expected: Array, variance: Array, safe: float = SAFE_BET) -> Array:
    """Logarithm of what a bet on values above 0 returns; infinite where only values above 0 are possible.

    Args:
        values: As they were observed.
        lowest: The smallest values that were possible.
        expected: The means that are believed in.
        variance: Their variances.
        safe: The largest bet, as a share of the one with which everything could be lost.
    """
    bet = np.maximum(expected, 0) / np.maximum(variance + expected**2, np.finfo(float).tiny)
    risky = lowest < 0
    bet = np.where(risky, np.minimum(bet, safe / np.maximum(-lowest, np.finfo(float).tiny)), bet)
    growth: Array = np.where(lowest > 0, np.inf, np.log1p(np.where(lowest > 0, 0, bet * values)))
    return growth


@dataclass(eq=False)
class QuestionRace:
    """The state of a race. All configurations that are still in it have been measured on the same questions.

    Attributes:
        configurations: How many there are.
        questions: How many questions there are in all; a group of questions counts as one.
        level: The largest probability with which one of the best drops out.
        promise: Whether the best one is that of `these` questions, or of `new` ones of the same kind.
        margin: A configuration may also drop out if it is better than the leader, by at most this much.
        asked: How many questions have been observed.
        left_at: After how many questions each configuration dropped out, shape [configurations]; 0 while it is in, and
            `WITHDRAWN` if it could not be measured.
    """

    configurations: int
    questions: int
    level: float = LEVEL
    promise: Promise = "these"
    margin: float = 0.0
    asked: int = field(default=0, init=False)
    left_at: npt.NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        number = self.configurations
        self.left_at = np.zeros(number, dtype=np.int64)
        self.log_capital = np.zeros(number)  # against "this one is one of the best", shape [configurations]
        self._sums = np.zeros(number)
        self._squares = np.zeros((number, number))  # of the differences between two

    @property
    def running(self) -> npt.NDArray[np.bool_]:
        """Which configurations are in the race, shape [configurations]."""
        running: npt.NDArray[np.bool_] = self.left_at == 0
        return running

    @property
    def is_over(self) -> bool:
        """Whether at most one configuration is left, or no question."""
        return int(self.running.sum()) <= 1 or self.asked == self.questions

    @property
    def leader(self) -> int:
        """The configuration in the race with the best mean; the first one of several."""
        return int(np.argmax(np.where(self.running, self._sums, -np.inf)))

    def withdraw(self, configuration: int) -> None:
        """Take a configuration out that cannot be measured."""
        self.left_at[configuration] = WITHDRAWN

    def observe(self, values: Array) -> None:
        """Take the values of the next question in.

        Args:
            values: From 0 to 1, higher is better, shape [configurations]; of those that dropped out, anything.
        """
        running, leader, left = self.running, self.leader, self.questions - self.asked
        if self.asked:  # there is no leader before
            leads = self._sums[leader] - self._sums + self.asked * self.margin
            mean = leads / (1 + self.asked) + self.margin / (1 + self.asked)  # with a prior of mean 0 that counts once
            squares = PRIOR_VARIANCE + self._squares[leader]
            spread = (mean - self.margin) ** 2
            variance = np.maximum(squares / (1 + self.asked) - spread, LEAST_VARIANCE)
            needed = -leads / left if self.promise == "these" else np.zeros_like(leads)  # the mean of what is to come
            ahead = (self.questions * mean - leads) / left if self.promise == "these" else mean
            gains = values[leader] - values + self.margin - needed
            lowest = self.margin - 1 - needed
            lowest = np.where(np.abs(lowest) < ROUNDING, 0, lowest)
            growth = log_growth(gains, lowest, ahead - needed, variance, SAFE_BET_ON_QUESTIONS)
            self.log_capital += np.where(running & (np.arange(len(values)) != leader), growth, 0)
        values = np.where(running, values, 0)
        self._sums += values
        self._squares += (values[:, None] - values) ** 2
        self.asked += 1
        out = running & (self.log_capital >= -np.log(self.level))
        out[self.leader] &= not (out == running).all()
        self.left_at[out] = self.asked
