"""Repeats: the parts of the variance against slow sums, and intervals and tests on simulated sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import t as student
from scipy.stats import ttest_1samp
from simulated import at_most

from ragsweep.statistics import (
    Groups,
    against_baseline,
    compare_with_best,
    compare_with_reference,
    not_worse_than_best,
    pareto_front,
    standings,
    worse_for_any_spread,
)
from ragsweep.statistics.all_pairs import compare_all_pairs
from ragsweep.statistics.repeats import (
    Components,
    between_aggregates,
    between_repeats,
    components,
    mean_intervals,
    widened,
    with_repeats,
)

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


def added(values, groups=None):
    return between_repeats(components(values, groups).repeat, len(values))


def interval(values, *, share=False):
    of_repeats = {"between": np.array([added(values)]), "repeats": len(values)}
    drawn = {"groups": Groups.none(values.shape[1]), "resamples": 500, "seed": 0}
    low, high = mean_intervals(values.mean(axis=0)[None], np.array([share]), **of_repeats, **drawn)
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
    found = components(values)
    assert found.residual == pytest.approx(left, abs=1e-12)
    assert found.question == pytest.approx(max(0, (of_question - left) / repeats), abs=1e-12)
    assert found.repeat == pytest.approx(max(0, (of_repeat - left) / questions), abs=1e-12)


@given(VALUES)
def test_groups_are_the_questions_of_the_parts(values):
    """Groups of one size whose questions have the same values tell as much as one question of each."""
    doubled, groups = np.repeat(values, 2, axis=1), Groups.named(np.repeat(range(8), 2).tolist())
    assert vars(components(doubled, groups)) == pytest.approx(vars(components(values)), abs=1e-12)


def test_as_many_questions_that_are_asked_once_have_a_mean_with_the_same_variance():
    found = Components(question=0.05, repeat=0.0, residual=0.2, questions=64, repeats=5)
    assert found.of_mean == pytest.approx((0.05 + 0.2 / 5) / 64)
    assert (found.question + found.residual) / found.asked_once == pytest.approx(found.of_mean)
    assert round(found.asked_once) == 178
    assert Components(0.05, 0.1, 0.2, 64, 5).asked_once is None  # one repeat never has so small an error


@given(VALUES, st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_further_units_add_their_variance_to_each_difference_and_move_no_mean(values, noise):
    between = np.array(noise)
    units = with_repeats(values, between)
    assert units.mean(axis=1) == pytest.approx(values.mean(axis=1))
    for first, second in ((0, 1), (0, 2), (1, 2)):
        squares = ((values[first] - values[second]) ** 2).sum() / values.shape[1] ** 2
        with_noise = ((units[first] - units[second]) ** 2).sum() / units.shape[1] ** 2
        assert with_noise == pytest.approx(squares + between[first] + between[second])


@given(VALUES)
def test_what_adds_nothing_changes_no_bit(values):
    nothing, drawn = np.zeros(3), {"resamples": 200}
    assert with_repeats(values, nothing) is with_repeats(values, None) is values
    low, high = widened(values.mean(axis=1), values[:, 0], values[:, 1], nothing)
    assert (low.tolist(), high.tolist()) == (values[:, 0].tolist(), values[:, 1].tolist())
    one, other = (standings(values, [None] * 8, between=each, **drawn) for each in (None, nothing))
    assert one.with_best.p.tolist() == other.with_best.p.tolist()
    assert one.difference_low.tolist() == other.difference_low.tolist()
    for test in (
        lambda each: not_worse_than_best(values, 0.2, 1, between=each, **drawn),
        lambda each: not_worse_than_best(values, 0.2, np.inf, between=each, **drawn),
        lambda each: worse_for_any_spread(values, 1, each),
        lambda each: pareto_front(values, np.arange(3.0), between=each, **drawn),
    ):
        assert test(None).tolist() == test(nothing).tolist()


@pytest.mark.usefixtures("long_work")
def test_every_test_finds_less_where_repeats_add_variance():
    rng = np.random.default_rng(0)
    scores = np.clip(rng.normal([[0.8], [0.55], [0.5]], 0.2, (3, 60)), 0, 1)
    much, drawn = np.array([0.02, 0.02, 0.02]), {"resamples": 500}
    found = standings(scores, [None] * 60, between=much, **drawn)
    assert standings(scores, [None] * 60, **drawn).with_best.tied.tolist() == [True, False, False]
    assert found.with_best.tied.all()
    assert (found.difference_high > 0).tolist() == [False, True, True]
    assert worse_for_any_spread(scores, 1).tolist() == [False, True, True]
    assert not worse_for_any_spread(scores, 1, much).any()
    assert (compare_with_reference(scores, 0, **drawn).p_holm[1:] < 0.01).all()
    assert (compare_with_reference(scores, 0, between=much, **drawn).p_holm[1:] > 0.05).all()
    assert pareto_front(scores, np.array([0.0, 1, 2]), between=None, **drawn).tolist() == [True, False, False]
    assert pareto_front(-scores, np.array([0.0, 1, 2]), **drawn).sum() == 3
    for span in (1, np.inf):
        assert (not_worse_than_best(scores, 0.4, span, **drawn) <= 0.05).all()
        assert (not_worse_than_best(scores, 0.4, span, between=much, **drawn) > 0.05)[1:].all()
        sure, unsure = (against_baseline(scores[1] - scores[0], 0.4, span, between=each) for each in (0.0, 0.04))
        assert (sure.p_not_worse <= 0.05, unsure.p_not_worse <= 0.05) == (True, False)
        assert (sure.p_worse <= 0.05, unsure.p_worse <= 0.05) == (True, False)
        assert unsure.high - unsure.low > 2 * (sure.high - sure.low)


def test_pairs_count_the_repeats_of_both_sides():
    rng = np.random.default_rng(0)
    scores, noise = rng.normal(0, 0.2, (3, 40)), np.array([0.0, 0.001, 0.004])
    scores[2] += 0.2
    plain = compare_all_pairs(scores, resamples=2_000)
    wide = compare_all_pairs(scores, between=noise, resamples=2_000)
    assert (wide.corrected >= plain.corrected).all()
    assert wide.corrected[1] > plain.corrected[1] + 0.001
    tested = compare_all_pairs(scores, between=noise, test="t").paired.p
    difference = scores[0] - scores[2]
    error = np.sqrt(difference.var(ddof=1) / 40 + 0.004)
    assert tested[1] == pytest.approx(2 * student.sf(abs(difference.mean()) / error, 39))
    without = compare_all_pairs(scores, between=np.zeros(3), test="t").paired.p
    assert without == pytest.approx(ttest_1samp(scores[[0, 0, 1]] - scores[[1, 2, 2]], 0, axis=1).pvalue)


# On simulated sets


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("questions", "repeats", "parts"), [(64, 5, (1, 0.2, 1)), (30, 3, (0.5, 0.5, 2)), (200, 5, (1, 0.05, 0.5))]
)
def test_the_parts_are_within_a_tenth_of_the_truth_on_average(questions, repeats, parts):
    sets = simulated(np.random.default_rng(0), questions, repeats, parts, 2_000)
    found = np.array([(each.question, each.repeat, each.residual) for each in map(components, sets)])
    assert found.mean(axis=0) == pytest.approx(np.array(parts), rel=0.1)


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(
    ("questions", "repeats", "parts"),
    [
        (64, 5, (1, 0, 1)),
        (64, 5, (1, 0.02, 1)),
        (64, 3, (1, 0.1, 1)),
        (200, 10, (0.2, 0.05, 1)),
        (64, 5, (0.2, 1, 0.5)),
    ],
)
def test_intervals_cover_the_mean_of_other_questions_and_repeats(questions, repeats, parts):
    sets = simulated(np.random.default_rng(1), questions, repeats, parts)
    covered = [low <= 0 <= high for low, high in map(interval, sets)]
    assert 0.93 <= np.mean(covered) <= 0.97


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize(("questions", "repeats", "spread"), [(64, 5, 2), (200, 3, 5), (64, 10, 1)])
def test_wilsons_intervals_cover_a_share(questions, repeats, spread):
    sets = right_or_wrong(np.random.default_rng(2), questions, repeats, spread)
    found = np.array([interval(each, share=True) for each in sets])
    assert 0.93 <= np.mean((found[:, 0] <= 0.6) & (found[:, 1] >= 0.6)) <= 0.975


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("parts", [(1, 0, 1), (1, 0.02, 1), (1, 0.2, 1)])
def test_two_equal_configurations_are_called_different_in_one_of_twenty_sets(parts):
    rng = np.random.default_rng(3)
    hardness = simulated(rng, 64, 1, (1, 0, 0))
    one, other = (hardness + simulated(rng, 64, 5, (0, *parts[1:])) for _ in range(2))
    wrong = 0
    for pair in zip(one, other, strict=True):
        noise = np.array([added(each) for each in pair])
        wrong += not compare_with_best(with_repeats(np.mean(pair, axis=1), noise), resamples=200).tied.all()
    assert 0.02 <= wrong / SETS <= at_most(0.05, SETS)


@pytest.mark.usefixtures("long_work")
def test_without_the_repeats_the_same_test_is_wrong_four_times_as_often():
    """What one asking of each, or the means alone, would claim."""
    rng = np.random.default_rng(4)
    one, other = (simulated(rng, 64, 5, (1, 0.2, 1), 300) for _ in range(2))
    means = np.stack([one.mean(axis=1), other.mean(axis=1)], axis=1)
    wrong = np.mean([not compare_with_best(each, resamples=200).tied.all() for each in means])
    assert wrong > 0.2


@pytest.mark.usefixtures("long_work")
def test_the_variance_between_repeats_of_an_aggregate_is_that_of_the_mean_if_it_is_one():
    values = simulated(np.random.default_rng(5), 100, 5, (1, 0.3, 1), 40)
    weights = np.random.default_rng(6).multinomial(100, np.full(100, 0.01), 2_000).T / 100
    found = [between_aggregates(each.mean(axis=1), each @ weights) for each in values]
    assert found == pytest.approx([components(each).repeat for each in values], abs=0.01)
