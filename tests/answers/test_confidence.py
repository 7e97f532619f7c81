"""What is known of the confidence of answers: its intervals by slow loops, and what they cover."""

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, roc_auc_score

from ragsweep.statistics.intervals import resample_weights
from ragsweep_answers.measuring.measures.calibration import auroc_of, brier_skill_of
from ragsweep_answers.measuring.measures.confidence import (
    AUROC,
    KNOWN_BRIER,
    MEASURES,
    SKILL,
    confidence_summary,
)

NAN = np.nan


def known(confidence, correct, *, bins=10, resamples=400, seed=0):
    arrays = np.array(confidence), np.array(correct, dtype=float)
    return confidence_summary(*arrays, bins=bins, resamples=resamples, seed=seed)


def answers(n, seed, *, skill=1.0):
    """Confidences that fit the accuracy; with `skill` 0 they say nothing about it."""
    rng = np.random.default_rng(seed)
    real = rng.beta(2, 2, n)
    stated = skill * real + (1 - skill) * rng.beta(2, 2, n)
    return stated, (rng.random(n) < real).astype(float)


def draws(n, resamples, seed):
    """The questions of each resample: how often each was drawn."""
    return np.random.default_rng((seed, 0)).multinomial(n, np.full(n, 1 / n), size=resamples)


def test_everything_is_measured_over_the_answers_with_a_confidence():
    confidence, correct = answers(40, 0)
    confidence[::4] = NAN
    some = ~np.isnan(confidence)
    found, alone = known(confidence, correct), known(confidence[some], correct[some])
    assert found.answers == some.sum() == 30
    for name in ("confidence", "accuracy", "aurc", "parts"):
        assert getattr(found, name) == getattr(alone, name)
    for metric in MEASURES:
        assert found.estimates[metric].value == alone.estimates[metric].value


@pytest.mark.usefixtures("long_work")
def test_intervals_are_percentiles_over_resamples_of_all_questions():
    confidence, correct = answers(60, 1)
    confidence[::3] = NAN
    found, values = known(confidence, correct, resamples=200), []
    for drawn in draws(60, 200, 0):
        rows = np.repeat(np.arange(60), drawn)
        rows = rows[~np.isnan(confidence[rows])]
        case = correct[rows], confidence[rows]
        brier = brier_score_loss(*case, labels=[0, 1], scale_by_half=True)
        values.append([brier, roc_auc_score(*case), 1 - brier / np.var(case[0])])
    low, high = np.quantile(values, [0.025, 0.975], axis=0)
    expected = [pytest.approx(each, rel=1e-9) for each in zip(low, high, strict=True)]
    assert [found.estimates[metric][1:] for metric in (KNOWN_BRIER, AUROC, SKILL)] == expected


def interval(statistic, n):
    """The interval of a statistic over the same 200 resamples for every sample."""
    [weights] = resample_weights(n, 200, 0)
    return np.quantile(statistic(weights), [0.025, 0.975])


@pytest.mark.parametrize("n", [50, 200])
def test_confidences_without_skill_are_called_better_than_a_constant_in_few_samples(n):
    rng = np.random.default_rng(0)
    better = 0
    for _ in range(400):
        real = rng.choice([0.3, 0.7], n)
        case = np.where(real > 0.5, 0.9, 0.1), (rng.random(n) < real).astype(float)  # the skill is 0 in truth
        better += interval(brier_skill_of(*case), n)[0] > 0
    assert better / 400 <= 0.025 + 3 * np.sqrt(0.025 * 0.975 / 400)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("n", [60, 200])
@pytest.mark.parametrize("skill", [0, 1])
def test_the_interval_of_the_auroc_covers_it_in_about_95_percent_of_samples(n, skill):
    true = roc_auc_score(*answers(200_000, 0, skill=skill)[::-1])
    found = [interval(auroc_of(*answers(n, seed, skill=skill)), n) for seed in range(1, 401)]
    covered = np.mean([low <= true <= high for low, high in found])
    assert covered >= 0.94 - 3 * np.sqrt(0.95 * 0.05 / 400)  # a percentile interval is a little short
