"""Repeats: the parts of the variance against slow sums, and intervals and tests on simulated sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from simulated import at_most

from ragsweep.statistics import Groups, randomisation_test
from ragsweep.statistics.repeats import Components, components, mean_intervals

SETS = 1_000
VALUES = arrays(float, (3, 8), elements=st.floats(0, 1, width=16))


def simulated(rng, questions, repeats, parts, sets=SETS):
    """Values of a metric with the mean 0 in sets of questions and repeats, shape [sets, repeats, questions]."""
    shapes = ((sets, 1, questions), (sets, repeats, 1), (sets, repeats, questions))
    return sum(rng.normal(0, np.sqrt(part), shape) for part, shape in zip(parts, shapes, strict=True))


def right_or_wrong(rng, questions, repeats, spread, sets=SETS):
    """Answers that are right with a probability of each question, 0.6 on average."""
    probability = rng.beta(0.6 * spread, 0.4 * spread, (sets, 1, questions))
    return (rng.random((sets, repeats, questions)) < probability).astype(float)


def interval(values, *, share=False):
    drawn = {"groups": Groups.none(values.shape[1]), "resamples": 500, "seed": 0, "repeats": len(values)}
    low, high = mean_intervals(values.mean(axis=0)[None], np.array([share]), **drawn)
    return float(low[0]), float(high[0])


# Against definitions


@given(VALUES)
def test_the_parts_are_those_of_the_mean_squares(values):
    repeats, questions = values.shape
    mean = values.mean()
    of_question = sum(repeats * (values[:, q].mean() - mean) ** 2 for q in range(questions)) / (questions - 1)
    of_repeat = sum(questions * (values[r].mean() - mean) ** 2 for r in range(repeats)) / (repeats - 1)
    total = sum((values[r, q] - mean) ** 2 for r in range(repeats) for q in range(questions))
    left = (total - of_question * (questions - 1) - of_repeat * (repeats - 1)) / ((questions - 1) * (repeats - 1))
    parts = components(values)
    assert parts.residual == pytest.approx(left, abs=1e-12)
    assert parts.question == pytest.approx(max(0, (of_question - left) / repeats), abs=1e-12)
    assert parts.repeat == pytest.approx(max(0, (of_repeat - left) / questions), abs=1e-12)


@given(VALUES)
def test_groups_are_the_questions_of_the_parts(values):
    """Groups of one size whose questions have the same values tell as much as one question of each."""
    doubled, groups = np.repeat(values, 2, axis=1), Groups.named(np.repeat(range(8), 2).tolist())
    assert vars(components(doubled, groups)) == pytest.approx(vars(components(values)), abs=1e-12)


def test_as_many_questions_that_are_asked_once_have_a_mean_with_the_same_variance():
    parts = Components(question=0.05, repeat=0.0, residual=0.2, questions=64, repeats=5)
    assert parts.of_mean == pytest.approx((0.05 + 0.2 / 5) / 64)
    assert (parts.question + parts.residual) / parts.asked_once == pytest.approx(parts.of_mean)
    assert round(parts.asked_once) == 178
    assert Components(0.05, 0.1, 0.2, 64, 5).asked_once is None  # one repeat never has so small an error


# On simulated sets


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("questions", "repeats", "parts"), [(64, 5, (1, 0.2, 1)), (30, 3, (0.5, 0.5, 2)), (200, 5, (1, 0.05, 0.5))]
)
def test_the_parts_are_within_a_tenth_of_the_truth_on_average(questions, repeats, parts):
    sets = simulated(np.random.default_rng(0), questions, repeats, parts, 2_000)
    estimates = np.array([(one.question, one.repeat, one.residual) for one in map(components, sets)])
    assert estimates.mean(axis=0) == pytest.approx(np.array(parts), rel=0.1)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("questions", "repeats", "parts"),
    [(64, 5, (1, 0, 1)), (64, 3, (1, 0, 1)), (200, 10, (0.2, 0, 1)), (64, 2, (0.2, 0, 0.5))],
)
def test_intervals_cover_the_mean_of_other_questions_and_repeats(questions, repeats, parts):
    sets = simulated(np.random.default_rng(1), questions, repeats, parts)
    covered = [low <= 0 <= high for low, high in map(interval, sets)]
    assert 0.92 <= np.mean(covered) <= 0.97  # a percentile bootstrap of 64 values covers 94 %


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(("questions", "repeats", "spread"), [(64, 5, 2), (200, 3, 5), (64, 10, 1)])
def test_wilsons_intervals_cover_a_share(questions, repeats, spread):
    sets = right_or_wrong(np.random.default_rng(2), questions, repeats, spread)
    low, high = np.transpose([interval(values, share=True) for values in sets])
    assert 0.93 <= np.mean((low <= 0.6) & (high >= 0.6)) <= 0.975


@pytest.mark.usefixtures("long_work")
def test_two_equal_configurations_are_called_different_in_one_of_twenty_sets():
    rng = np.random.default_rng(3)
    hardness = simulated(rng, 64, 1, (1, 0, 0))
    one, other = (hardness + simulated(rng, 64, 5, (0, 0, 1)) for _ in range(2))
    wrong = randomisation_test(one.mean(axis=1) - other.mean(axis=1), resamples=200) <= 0.05
    assert 0.02 <= np.mean(wrong) <= at_most(0.05, SETS)


@pytest.mark.usefixtures("long_work")
def test_where_whole_repeats_shift_it_is_wrong_four_times_as_often():
    """Which is why a run says where more than a tenth of the variance lies there."""
    rng = np.random.default_rng(4)
    one, other = (simulated(rng, 64, 5, (1, 0.2, 1), 300) for _ in range(2))
    wrong = randomisation_test(one.mean(axis=1) - other.mean(axis=1), resamples=200) <= 0.05
    assert np.mean(wrong) > 0.2
