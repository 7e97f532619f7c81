"""How often a judge errs, from pairs that were asked for twice, and what that leaves of a decision."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import beta, norm

from ragsweep.statistics.intervals import LEVEL
from ragsweep_audit.judging.race import Race


def kappa(first: Sequence[object], second: Sequence[object]) -> float | None:
    """Cohen's kappa of two series of judgments; None where chance alone makes all of them agree."""
    count = len(first)
    same = sum(one == other for one, other in zip(first, second, strict=True)) / count
    by_chance = sum(first.count(grade) * second.count(grade) for grade in {*first, *second}) / count**2
    return None if by_chance == 1 else (same - by_chance) / (1 - by_chance)


def error_rate(differed: float, repeats: int) -> tuple[float, float]:
    """The share of wrong answers, and what it is at most at 5 %, by Clopper and Pearson.

    Two answers that are wrong independently with a share e differ with a share 2e(1 - e).
    """
    at_most = float(beta.ppf(1 - LEVEL, differed + 1, repeats - differed)) if differed < repeats else 1.0
    rate, most = ((1 - np.sqrt(max(1 - 2 * share, 0))) / 2 for share in (differed / repeats, at_most))
    return float(rate), float(most)


def loss_by_the_truth(race: Race, errors: float) -> float:
    """What a leader that loses less than the margin by the judgments loses at most by the truth, at the level.

    A judge who takes relevant for not relevant, and the other way, with a share `errors` makes each difference smaller
    by a factor of 1 - 2 `errors`, adds what the leader ranks more of, and adds noise.
    """
    apart = race.weights[race.leader] - race.weights
    favoured = errors * max(float(apart.sum(axis=1).max()), 0.0)
    variance = errors * (1 - errors) * float((apart**2).sum(axis=1).max())
    noise = float(norm.isf(race.level / (len(apart) - 1))) * np.sqrt(variance)
    return float((race.margin + favoured + noise) / (1 - 2 * errors)) if errors < 1 / 2 else np.inf
