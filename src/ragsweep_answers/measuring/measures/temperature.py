"""Turns the scores of options into probabilities, with a temperature that is fitted on other questions.

This is for answerers that return `scores`, such as `evidence`, whose similarities are no probabilities at any known
temperature. A model's log-likelihoods of the letters are: the answerers of models return `probabilities`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragsweep.statistics.groups import Groups
from ragsweep.statistics.intervals import Array, Indices

LOWEST, HIGHEST = 1e-3, 1e3  # temperature, in the unit of the scores


def temperature_scaled(
    scores: Sequence[Sequence[float]],
    correct: Indices,
    *,
    groups: Groups | None = None,
    folds: int = 5,
    seed: int = 0,
) -> Array:
    """Probabilities of the options: softmax(scores / temperature), with the temperature fitted on other questions.

    The questions are divided into folds at random. The temperature of a fold is fitted on the other folds, so that no
    probability depends on the correct answer of its own question.

    Args:
        scores: Score of each option of each question, higher is better; at least one of a question is finite, and -inf
            means impossible. Questions may have different numbers of options.
        correct: Position of the correct option, shape [questions].
        groups: Those of the questions; a fold holds whole groups.
        folds: Number of folds, at least 2.
        seed: Seed of the division.

    Returns:
        Probabilities that add up to 1 for each question, shape [questions, most options]. 0 for options that a question
        does not have.
    """
    from scipy.special import softmax

    padded = _padded(scores)
    if groups is None or groups.number < 2:  # a fold must leave questions to fit on
        groups = Groups.none(len(scores))
    fold = np.random.default_rng(seed).permutation(np.arange(groups.number) % folds)[groups.of]
    temperatures = [fit_temperature(padded[fold != number], correct[fold != number]) for number in range(folds)]
    probabilities: Array = softmax(padded / np.array(temperatures)[fold, None], axis=1)
    return probabilities


def scaled_by_others(scores: Sequence[Sequence[float]], others: Sequence[Sequence[float]], correct: Indices) -> Array:
    """Probabilities of the options of questions that have no answer, with the temperature fitted on all others.

    Args:
        scores: As for `temperature_scaled`.
        others: The scores of the questions that have an answer.
        correct: Position of their correct option, shape [others].
    """
    from scipy.special import softmax

    temperature = fit_temperature(_padded(others), correct) if len(others) else HIGHEST
    probabilities: Array = softmax(_padded(scores) / temperature, axis=1)
    return probabilities


def _padded(scores: Sequence[Sequence[float]]) -> Array:
    """Scores of questions with different numbers of options, shape [questions, most options]."""
    padded = np.full((len(scores), max(map(len, scores))), -np.inf)
    for row, of_question in zip(padded, scores, strict=True):
        row[: len(of_question)] = of_question
    return padded


def fit_temperature(scores: Array, correct: Indices) -> float:
    """The temperature at which the correct options are most likely (Guo et al. 2017).

    Args:
        scores: Score of each option, shape [questions, options]; -inf for options that a question does not have.
            Questions whose correct option has -inf are left out, as they are impossible at every temperature.
        correct: Position of the correct option, shape [questions].

    Returns:
        From `LOWEST` (all correct options have the highest score) to `HIGHEST` (the scores say nothing about which
        option is correct, or there are no questions).
    """
    from scipy.optimize import brentq
    from scipy.special import softmax

    of_correct = np.take_along_axis(scores, correct[:, None], axis=1)
    possible = np.isfinite(of_correct[:, 0])
    ahead = scores[possible] - of_correct[possible]  # of the correct option
    finite = np.where(np.isfinite(ahead), ahead, 0)

    def slope(log_temperature: float) -> float:
        """Derivative of the negative log-likelihood by 1 / temperature. It rises with 1 / temperature."""
        return float((softmax(ahead / np.exp(log_temperature), axis=1) * finite).sum())

    if slope(np.log(HIGHEST)) >= 0:
        return HIGHEST
    if slope(np.log(LOWEST)) <= 0:
        return LOWEST
    return float(np.exp(brentq(slope, np.log(LOWEST), np.log(HIGHEST))))
