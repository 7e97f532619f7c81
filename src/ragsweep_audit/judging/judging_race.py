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
from ragsweep.statistics.question_race import log_growth
from ragsweep_audit.judging.new_queries import FEWEST_QUERIES, Evidence, largest_lead
from ragsweep_audit.judging.proposal import BLOCK, Draw, Proposal

ROUNDING = 1e-12  # sums that differ by less are the same, added in another order
DOUBTED = 10.0  # judgments after which an estimated gap is half believed
RENEWED = 1.05  # times the judgments of the last proposal: when the next one is made
STAYS = 0.5  # of the margin: how far another configuration must be ahead until it is taken for the leader


@dataclass(eq=False)
class Race:
    """The state of a race, from draw to draw.

    Attributes:
        weights: What a fully relevant unit adds to the metric, shape [configurations, pairs].
        judged: Grades from 0 to 1 that are known at the start, NaN for the others, shape [pairs].
        margin: How much worse than the best still counts as good enough; 0 decides only by who is best.
        level: The probability with which the best one may drop out; and with which the leader, once it is said to be
            good enough, may lose more than the margin.
        seed: Of the draws.
        queries: Position of the query of each pair, shape [pairs]; None if nothing is said about new queries.
        of_all: How many queries there are, if some have no pair.
        guessed: What somebody guesses about relevance, from 0 to 1, shape [pairs], NaN where nothing; it only
            steers what is drawn.
    """

    weights: Array
    judged: Array
    margin: float = 0.0
    level: float = LEVEL
    seed: int = 42
    queries: Indices | None = None
    of_all: int = 0
    guessed: Array | None = None
    drawn: int = 0
    learnt: int = 0
    running: npt.NDArray[np.bool_] = field(init=False)
    leader: int = field(init=False)

    def __post_init__(self) -> None:
        configurations = len(self.weights)
        is_judged = ~np.isnan(self.judged)
        self.running = np.ones(configurations, dtype=bool)
        self._open = ~is_judged  # what may be judged, or is being judged
        self._left = ~is_judged  # what may still be drawn
        self.grades = np.where(is_judged, self.judged, 0.0)  # 0 where nothing is known
        self._certain = self.weights @ self.grades
        self._unsure: list[int] = []  # pairs that the judge could not tell
        self._sums, self._total = np.zeros(configurations), 0.0
        self._first_precision = 0.0
        self._leads = np.zeros((configurations, configurations))  # on new queries, of those that dropped out
        self._squares = np.zeros((configurations, configurations))  # of what the draws showed, around the estimate
        self._from, self._once = np.zeros(len(self.judged)), np.zeros(len(self.judged))  # see `counted`
        self._against_best = np.zeros(configurations)  # log of the capital against "this one is the best"
        self._against_loss = np.zeros((configurations, configurations))  # "the first loses the margin to the second"
        self._guess = RelevanceGuess(self.weights, self.judged, self.guessed)
        self._proposal: Proposal | None = None
        self._renew_at = 0.0
        self._compared: tuple[int, Array] | None = None  # the one with most that is known, what others could gain on it
        self.leader = int(np.argmax(self._certain))

    @property
    def estimates(self) -> Array:
        """The estimated metric of each configuration, up to a constant that all in the race share."""
        return self._sums / self._total if self._total else self._certain

    @property
    def largest_value(self) -> float:
        """The metric of a configuration that ranks nothing but fully relevant units."""
        return float(self.weights.sum(axis=1).max())

    @property
    def counted(self) -> Array:
        """How often each judged pair counts, so that the pairs' weights times grades add up to the estimates.

        A drawn pair counts for those that were not drawn when it was, and once in all estimates after it.
        """
        if not self._total:
            return np.ones(len(self.judged))
        return np.where(self._once > 0, self._once + self._total - self._from, self._total) / self._total

    def _evidence(self, queries: Indices, *, exact: bool) -> Evidence:
        """What the judgments show; exact if every pair that tells between those in the race is judged."""
        total = 0.0 if exact else self._total
        counted = self.counted if total else np.ones(len(self.grades))
        is_known = exact or self.learnt > 0
        unknown = np.array(self._unsure, dtype=np.intp) if is_known else np.flatnonzero(self._open)
        squares = self._squares / total**2 if total else np.zeros_like(self._squares)
        first = self._first_precision / total**2 if total else 0.0
        of_all = max(self.of_all, int(queries.max()) + 1)
        return Evidence(self.weights, queries, of_all, self.grades, counted, unknown, squares, first, self.level)

    @property
    def loss_on_new_queries(self) -> float | None:
        """What the leader loses at most to the best one on new queries; negative if it is the best by as much.

        None if there are too few queries, or nothing is known.
        """
        exact = self.differing == 0
        if self.queries is None or int(self.queries.max()) + 1 < FEWEST_QUERIES:
            return None
        if not self.grades.any() or not (exact or self.learnt):
            return None
        shown = self._evidence(self.queries, exact=exact)
        rivals = [place for place in range(len(self.running)) if place != self.leader]
        leads = [largest_lead(shown, place) if self.running[place] else self._leads[place] for place in rivals]
        return float(max(lead[self.leader] for lead in leads))

    @property
    def differing(self) -> int:
        """How many pairs without an answer can change a difference between configurations in the race."""
        return int((np.ptp(self.weights[self.running][:, self._open], axis=0) > 0).sum())

    @property
    def is_settled(self) -> bool:
        """Whether every pair that tells between those in the race is judged, and the judge could tell."""
        unsure = self.weights[self.running][:, self._unsure]
        return self.differing == 0 and not (len(self._unsure) and bool((np.ptp(unsure, axis=0) > 0).any()))

    @property
    def is_close_enough(self) -> bool:
        """Whether the leader is shown to lose less than the margin to each other one in the race."""
        rivals = self.running & (np.arange(len(self.running)) != self.leader)
        return bool(self._is_near(self.leader)[rivals].all())

    def _is_near(self, leader: int) -> npt.NDArray[np.bool_]:
        """Whether the leader is shown to lose less than the margin to each one; whichever leads, at one level."""
        near: npt.NDArray[np.bool_] = self._against_loss[leader] >= np.log(len(self.running) / self.level)
        return near

    def draw(self) -> Draw | None:
        """Draw the next pair to judge; None if no pair is left that can change a difference."""
        proposal = self._proposal
        if proposal is None or proposal.leader != self.leader or self.learnt >= self._renew_at or proposal.is_empty:
            proposal = self._propose()
        if proposal.is_empty:
            return None
        self.drawn += 1
        draw = proposal.draw(np.random.default_rng([self.seed, self.drawn]).random())
        self._left[draw.pair] = False
        return draw

    def _propose(self) -> Proposal:
        """Compute the chances of the next draws."""
        self._proposal = Proposal.of(
            self.weights,
            running=np.flatnonzero(self.running),
            left=self._left,
            shares=self._guess.shares,
            estimates=self.estimates,
            near=self._is_near(self.leader) if self.margin else ~self.running,
            margin=self.margin,
            leader=self.leader,
        )
        self._renew_at = max(self.learnt + 1, self.learnt * RENEWED)
        return self._proposal

    def learn(self, draw: Draw, grade: float | None) -> list[int]:
        """Take a judgment in, in the order of the draws, and return the configurations that drop out.

        Args:
            draw: As it was drawn.
            grade: From 0 to 1; None if the judge cannot tell, which counts against whatever it could show.
        """
        running, opponents, apart = draw.running, draw.opponents, draw.apart
        unsure = self.weights[:, self._unsure][running]
        certain = self._certain[running]
        certain = certain[opponents] - certain - np.maximum(unsure - unsure[opponents], 0).sum(axis=1)
        lowest = _rounded(certain + draw.lowest)
        shown = _rounded(certain + (np.minimum(apart, 0) if grade is None else apart * grade) / draw.chance)
        estimates = self.estimates[running]
        gap = (estimates[opponents] - estimates) * self.learnt / (self.learnt + DOUBTED)
        growth = log_growth(shown, lowest, gap, draw.variance)
        self._against_best[running] += np.where(draw.covered, growth, 0)
        if self.margin:
            growth = log_growth(shown + self.margin, lowest + self.margin, gap + self.margin, draw.variance)
            growth[draw.leader] = 0.0
            self._against_loss[running[draw.leader], running] += np.where(draw.covered, growth, 0)
        self._count(draw, grade)
        return self.drop_out()

    def _count(self, draw: Draw, grade: float | None) -> None:
        """Update the certain part and the estimates by a judgment."""
        pair, given = draw.pair, grade or 0.0
        weights = self.weights[:, pair]
        precision = draw.size**-2.0
        shown = self._certain + weights * given / draw.chance
        away = precision * (shown - self.estimates)
        self._first_precision = self._first_precision or precision
        self._squares += np.outer(away, away)
        self._sums += precision * shown
        self._total += precision
        self._from[pair], self._once[pair] = self._total, precision / draw.chance
        self.grades[pair] = given
        self._certain = self._certain + weights * given
        self.learnt += 1
        self._open[pair] = False
        if grade is None:
            self._unsure.append(pair)
            return
        self._guess.learn(pair, grade)
        if self._compared is not None:
            best, gains = self._compared
            self._compared = best, gains - np.maximum(weights - weights[best], 0)

    def drop_out(self) -> list[int]:
        """End the race for those that are shown not to be the best, or lose whatever else is judged."""
        best = int(np.argmax(np.where(self.running, self._certain, -np.inf)))
        if self._compared is None or self._compared[0] != best:
            unknown = self._open.astype(float)
            unknown[self._unsure] = 1
            gains = np.zeros(len(self.weights))
            for start in range(0, len(unknown), BLOCK):
                block = self.weights[:, start : start + BLOCK]
                gains += np.maximum(block - block[best], 0) @ unknown[start : start + BLOCK]
            self._compared = best, gains
        loses = self._certain + self._compared[1] < self._certain[best] - ROUNDING
        out = self.running & (loses | (self._against_best >= np.log(1 / self.level)))
        first = int(np.argmax(np.where(self.running, self.estimates, -np.inf)))
        if (out == self.running).all():
            out[first] = False
        if self.queries is not None and out.any():
            shown = self._evidence(self.queries, exact=False)
            for loser in np.flatnonzero(out).tolist():
                self._leads[loser] = largest_lead(shown, loser)
        self.running &= ~out
        if out.any():
            self._proposal = None
        first = int(np.argmax(np.where(self.running, self.estimates, -np.inf)))
        ahead = self.estimates[first] - self.estimates[self.leader]
        if not self.running[self.leader] or ahead > STAYS * self.margin or not self._open.any():
            self.leader = first
        return np.flatnonzero(out).tolist()


def _rounded(values: Array) -> Array:
    """The values, 0 where nothing but a rounding error is left of them."""
    return np.where(np.abs(values) < ROUNDING, 0.0, values)


LEAST_SHARE = 0.02  # and 1 minus it is the largest
AT_FIRST = -2.2, 0.5, 0.5  # one in ten; more of what is ranked high, and of what is guessed
STEPS = 3  # of Newton's, from the last coefficients


class RelevanceGuess:
    """A logistic regression on what is judged, drawn towards what is expected at first.

    It only steers what is drawn, so that a wrong guess costs judgments, and makes no error more likely.
    """

    def __init__(self, weights: Array, judged: Array, guessed: Array | None) -> None:
        columns = [np.ones(len(judged)), _standardized(np.log(weights.mean(axis=0).clip(np.finfo(float).tiny)))]
        if guessed is not None:
            inside = np.nan_to_num(guessed, nan=0.5).clip(LEAST_SHARE, 1 - LEAST_SHARE)  # 0.5 says nothing
            columns.append(np.log(inside / (1 - inside)))
        self._features = np.array(columns)
        self._prior = np.array(AT_FIRST[: len(columns)])
        self._coefficients = self._prior
        self._pairs = np.flatnonzero(~np.isnan(judged)).tolist()
        self._grades = judged[self._pairs].tolist()

    def learn(self, pair: int, grade: float) -> None:
        """Take a judgment in."""
        self._pairs.append(pair)
        self._grades.append(grade)

    @property
    def shares(self) -> Array:
        """The guessed share of relevant ones among pairs like each, shape [pairs]."""
        judged, grades = self._features[:, self._pairs], np.array(self._grades)
        for _ in range(STEPS):
            expected = _logistic(self._coefficients @ judged)
            curvature = (judged * expected * (1 - expected)) @ judged.T + np.eye(len(judged))
            slope = judged @ (grades - expected) - (self._coefficients - self._prior)
            self._coefficients = self._coefficients + np.linalg.solve(curvature, slope)
        return _logistic(self._coefficients @ self._features).clip(LEAST_SHARE, 1 - LEAST_SHARE)


def _standardized(values: Array) -> Array:
    centred: Array = values - values.mean()
    return centred / (centred.std() or 1.0)


def _logistic(values: Array) -> Array:
    curve: Array = 1 / (1 + np.exp(-values.clip(-30, 30)))
    return curve
