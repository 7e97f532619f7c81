"""Answers to questions in groups: each statistic takes a group of copies as the one question that it is."""

import numpy as np
import pytest

from ragsweep.statistics import Groups
from ragsweep_answers.measuring.measures.accuracy import against_chance, difference, share
from ragsweep_answers.measuring.measures.confidence import AUROC, confidence_scores, confidence_summary

COPIES = 5
SINGLE = np.random.default_rng(1).permutation(np.repeat([1.0, 0.0], [22, 18]))
OTHER = np.random.default_rng(2).permutation(np.repeat([1.0, 0.0], [12, 28]))
COPIED, OTHERS = np.repeat(SINGLE, COPIES), np.repeat(OTHER, COPIES)
GROUPS = Groups(np.repeat(np.arange(40), COPIES))


def test_an_accuracy_of_copies_is_as_sure_as_that_of_the_questions():
    single, copied = share(SINGLE), share(COPIED, GROUPS)
    assert copied.value == single.value
    assert (copied.low, copied.high) == pytest.approx((single.low, single.high), abs=0.02)
    assert share(COPIED).low > copied.low + 0.05


def test_the_difference_of_copies_has_the_p_of_the_questions():
    single, copied = difference(SINGLE, OTHER), difference(COPIED, OTHERS, GROUPS)
    assert copied.p == pytest.approx(single.p)
    assert difference(COPIED, OTHERS).p < single.p / 100


def test_guesses_that_are_copied_are_not_better_than_guessing():
    """One lucky question in four, in groups: 18 of 40 questions right, five times."""
    correct = np.repeat(np.arange(40) < 15, COPIES).astype(float)
    alone, copied = (against_chance(correct, np.full(200, 0.25), groups=groups) for groups in (None, GROUPS))
    assert (alone.verdict, copied.verdict) == ("better than guessing", "no better than guessing")
    wrong = against_chance(np.zeros(200), np.full(200, 0.25), groups=GROUPS)
    assert wrong.verdict == "worse than guessing"
    assert against_chance(np.zeros(200), np.full(200, 0.25), np.ones(200), GROUPS).p_worse == 1


def test_guessing_by_groups_keeps_its_level(times):
    sets, rng = times(900), np.random.default_rng(3)
    guesses = (np.repeat((rng.random(40) < 0.25).astype(float), COPIES) for _ in range(sets))
    p = [against_chance(each, np.full(200, 0.25), groups=GROUPS).p for each in guesses]
    assert np.mean(np.array(p) <= 0.05) <= 0.05


def test_calibration_is_resampled_by_groups():
    confidence = np.repeat(np.random.default_rng(4).uniform(0.3, 0.9, 40), COPIES)
    settings = {"bins": 10, "resamples": 1_000, "seed": 0}
    alone, grouped = (confidence_scores(confidence, COPIED, groups=each, **settings) for each in (None, GROUPS))
    for one, other in zip(alone, grouped, strict=True):
        assert one.value == other.value
        assert other.high - other.low > 1.5 * (one.high - one.low)
    widths = [
        confidence_summary(confidence, COPIED, groups=each, **settings).estimates[AUROC] for each in (None, GROUPS)
    ]
    assert widths[1].high - widths[1].low > 1.5 * (widths[0].high - widths[0].low)
