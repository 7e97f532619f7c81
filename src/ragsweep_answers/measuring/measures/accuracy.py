"""How many questions are answered correctly, how sure that is, and whether it is more than guessing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ragsweep.statistics import Groups, effective_queries, paired_p
from ragsweep.statistics.bounded_mean import p_above
from ragsweep.statistics.intervals import COVERAGE, LEVEL, Array, Indices, wilson

NOT_ANSWERED, WITHHELD = -1, -2  # in place of the position of the chosen option


def at_most(count: int, n: int) -> float:
    """The largest rate that `count` events among n do not rule out: a one-sided 95 % bound (Clopper and Pearson 1934).

    0 of 50 is not a rate of 0: it is at most 5.8 %. 1 if n is 0.
    """
    from scipy.special import betaincinv

    return 1.0 if count == n else float(betaincinv(count + 1, n - count, COVERAGE))


class Share(NamedTuple):
    """A share of questions, such as the accuracy.

    Attributes:
        value: The share.
        low: Lower bound of its 95 % Wilson interval.
        high: Upper bound.
        n: Number of questions.
    """

    value: float
    low: float
    high: float
    n: int


def share(correct: Array, groups: Groups | None = None) -> Share:
    """The share of the questions with the value 1.

    Args:
        correct: 0 or 1, shape [questions], at least one.
        groups: Those of the questions.
    """
    questions = float(effective_queries(correct, groups or Groups.none(len(correct))))
    low, high = wilson(correct.sum() * (questions / len(correct)), questions)
    return Share(float(correct.mean()), float(low), float(high), len(correct))


class AgainstChance(NamedTuple):
    """The accuracy compared with guessing.

    Attributes:
        accuracy: Share of correct answers; one that could not be read counts as wrong.
        chance: The accuracy of guessing, on average.
        p: Two-sided p-value: twice the probability that guessing gives at least as many correct answers, or at most as
            many if that is less likely.
        p_better: One-sided p-value: the probability that guessing gives at least as many correct answers.
        p_worse: P-value of being worse than guessing: as `p`, if all answers that could not be read were correct; 1 if
            the accuracy would then not be below that of guessing.
        unread: How many answers could not be read.
    """

    accuracy: Share
    chance: float
    p: float
    p_better: float
    p_worse: float
    unread: int

    @property
    def verdict(self) -> str:
        """`better than guessing`, `worse than guessing`, or `no better than guessing` if p is above 0.05.

        Answers are not worse than guessing if those that could not be read could explain it.
        """
        if self.worse:
            return "worse than guessing"
        return f"{'better' if self.better else 'no better'} than guessing"

    @property
    def better(self) -> bool:
        """Whether more is correct than by guessing, and that is no chance."""
        return self.p <= LEVEL and self.accuracy.value > self.chance

    @property
    def worse(self) -> bool:
        """Whether less is correct than by guessing, however the unread answers count, and that is no chance."""
        return self.p_worse <= LEVEL


def against_chance(
    correct: Array, chance: Array, unread: Array | None = None, groups: Groups | None = None
) -> AgainstChance:
    """Test whether another number of questions is answered correctly than by guessing. The test is exact.

    It is two-sided, as the interval is: answers can be worse than guesses, too. The number of lucky guesses has a
    binomial distribution, or a Poisson binomial one if questions have different numbers of options (Hong 2013). An
    answerer that guesses alike for the questions of a group guesses once, so that groups are tested by `bounded_mean`.

    Args:
        correct: 0 or 1, shape [questions], at least one.
        chance: Probability that a guess is correct, 1 / options, strictly between 0 and 1, shape [questions].
        unread: Whether there is no answer that could be read, or none is given, so that it is not known to be wrong, 0
            or 1, shape [questions]; None if there are none of these.
        groups: Those of the questions.
    """
    groups, unread = groups or Groups.none(len(correct)), np.zeros(len(correct)) if unread is None else unread
    if groups.in_use:
        off = groups.totals(np.array([correct - chance, chance - correct, chance - correct - unread]))
        at_least, at_most, at_most_if_read = p_above(off, 0.0, groups.widest(1)).tolist()
    else:
        lucky, right, missing = _lucky_guesses(chance), int(correct.sum()), int(unread.sum())
        at_least, at_most = float(lucky[right:].sum()), float(lucky[: right + 1].sum())
        at_most_if_read = float(lucky[: right + missing + 1].sum())
    expected, p = float(chance.mean()), min(1.0, 2 * min(at_least, at_most))
    below = correct.sum() + unread.sum() < expected * len(correct)
    p_worse = min(1.0, 2 * at_most_if_read) if below else 1.0
    return AgainstChance(share(correct, groups), expected, p, min(1.0, at_least), p_worse, int(unread.sum()))


class Difference(NamedTuple):
    """The difference between the accuracies of two answerers on the same questions.

    Attributes:
        value: First minus second.
        low: Lower bound of its 95 % interval.
        high: Upper bound.
        only_first: Number of questions that only the first answers correctly.
        only_second: Number of questions that only the second answers correctly.
        p: P-value of McNemar's exact test, or of flips by group.
    """

    value: float
    low: float
    high: float
    only_first: int
    only_second: int
    p: float


def difference(first: Array, second: Array, groups: Groups | None = None) -> Difference:
    """The difference between the accuracies of two answerers, with Newcombe's interval for pairs.

    It is method 10 of Newcombe (1998, "Improved confidence intervals for the difference between binomial proportions
    based on paired data"): the distances from the shares to their Wilson bounds, with the correlation of the pairs.
    Unlike a bootstrap, it is not too short for few questions, and needs no seed.

    Args:
        first: Whether the first answers correctly, 0 or 1, shape [questions], at least one.
        second: The same for the second.
        groups: Those of the questions.
    """
    n, value = len(first), float(first.mean() - second.mean())
    one, other = share(first, groups), share(second, groups)
    agreed = float(first @ second)  # questions that both answer correctly
    neither = n - first.sum() - second.sum() + agreed
    only_first, only_second = int(first.sum() - agreed), int(second.sum() - agreed)
    surplus = agreed * neither - only_first * only_second
    if surplus > 0:
        surplus = max(0.0, surplus - n / 2)  # correction for continuity
    spread = float(np.sqrt(np.prod([correct.sum() * (n - correct.sum()) for correct in (first, second)])))
    correlation = surplus / spread if spread else 0.0

    def distance(of_first: float, of_second: float) -> float:
        return float(np.sqrt(max(0.0, of_first**2 - 2 * correlation * of_first * of_second + of_second**2)))

    return Difference(
        value,
        value - distance(one.value - one.low, other.high - other.value),
        value + distance(one.high - one.value, other.value - other.low),
        only_first,
        only_second,
        float(paired_p(first[None], second[None], groups)[0]),
    )


def counted_otherwise(correct: Indices, answered: Indices, chance: Array) -> tuple[Array, Array]:
    """How much of each question is right if an unreadable answer counts as the first option, and as a guess.

    Some harnesses fall back to the first option.

    Args:
        correct: Position of the correct option, shape [questions].
        answered: Position of the chosen option, or `NOT_ANSWERED`, shape [questions].
        chance: Probability that a guess is correct, 1 / options, shape [questions].

    Returns:
        Two arrays, each of shape [questions].
    """
    missing, right = answered == NOT_ANSWERED, (correct == answered).astype(float)
    return np.where(missing, correct == 0, right).astype(float), np.where(missing, chance, right)


def _lucky_guesses(chance: Array) -> Array:
    """The probability of each number of correct guesses, shape [questions + 1].

    Small probabilities stay exact, since nothing is subtracted; Fourier methods lose those below 1e-15.
    """
    from scipy.special import gammaln, xlogy

    distribution = np.ones(1)
    for probability, n in zip(*np.unique(chance, return_counts=True), strict=True):
        right = np.arange(n + 1)
        ways = gammaln(n + 1) - gammaln(right + 1) - gammaln(n - right + 1)
        distribution = np.convolve(
            distribution, np.exp(ways + xlogy(right, probability) + xlogy(n - right, 1 - probability))
        )
    return distribution
