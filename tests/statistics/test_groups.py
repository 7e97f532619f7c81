"""Queries in groups: compared with slow loops, with copies of single queries, with scipy, and on simulated sweeps."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import permutation_test
from simulated import FIVES, TENS, UNEQUAL, alike, at_most, in_groups, mean_f1, sweep

from ragsweep.statistics import (
    Groups,
    against_baseline,
    certify,
    compare_with_best,
    compare_with_reference,
    confidence_intervals,
    effective_queries,
    flipped_p,
    mcnemar_of_pairs,
    mcnemar_p,
    not_worse_than_best,
    randomisation_test,
    shown_to_beat,
    standings,
)
from ragsweep.statistics.all_pairs import compare_all_pairs
from ragsweep.statistics.bounded_mean import p_above
from ragsweep.statistics.intervals import wilson

LEVEL = 0.05
SIZES = {"fives": FIVES, "tens": TENS, "unequal": UNEQUAL}
with_groups = pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
NAMES = ["a", "b", "a", None, "c", "b", "", "a"]


# Against definitions


def test_groups_are_numbered_by_their_first_queries_and_a_query_without_a_name_is_alone():
    groups = Groups.named(NAMES)
    assert groups.of.tolist() == [0, 1, 0, 2, 3, 1, 4, 0]
    assert (groups.number, groups.queries, groups.sizes.tolist()) == (5, 8, [3, 2, 1, 1, 1])
    assert groups.queries_in(5) == 8
    assert groups.queries_in(6) == 10
    assert Groups.named(["", "", None, None]).number == 4


@given(arrays(float, (3, len(NAMES)), elements=st.floats(-1, 1)))
def test_totals_are_sums_by_group_whose_mean_is_that_of_the_queries(values):
    groups = Groups.named(NAMES)
    sums = [sum(values[:, row] for row in range(8) if groups.of[row] == group) for group in range(5)]
    assert groups.totals(values) == pytest.approx(np.transpose(sums) * 5 / 8)
    assert groups.totals(values).mean(axis=1) == pytest.approx(values.mean(axis=1))
    assert np.abs(groups.totals(values)).max() <= groups.widest(1) + 1e-12 == 3 * 5 / 8 + 1e-12


def test_a_flip_by_group_flips_all_of_its_queries_and_is_the_permutation_test_of_group_sums():
    """Every pattern of signs of the groups, repeated for their queries."""
    values, groups = np.random.default_rng(1).normal(0.3, 1, 8), Groups.named(NAMES)
    means = [np.mean(np.array(signs)[groups.of] * values) for signs in product([1, -1], repeat=5)]
    expected = np.mean(np.abs(means) >= abs(values.mean()) - 1e-12)
    assert randomisation_test(groups.totals(values[None])) == pytest.approx(expected)
    scores, groups = in_groups(np.random.default_rng(2), alike(2), [3, 1, 4, 2, 2, 5, 1, 3])
    sums = [sum(scores[:, groups.of == group].T) for group in range(8)]
    settings = {"permutation_type": "samples", "n_resamples": np.inf}
    expected = permutation_test(np.transpose(sums), lambda one, other: one.sum() - other.sum(), **settings).pvalue
    assert compare_with_reference(scores, 1, groups=groups).p[0] == pytest.approx(expected)


@pytest.mark.usefixtures("long_work")
def test_intervals_are_those_of_drawn_groups():
    """By hand: draw groups, put their queries together, take the mean."""
    scores, groups = in_groups(np.random.default_rng(3), alike(1), UNEQUAL)
    rng, means = np.random.default_rng(4), []
    for _ in range(20_000):
        drawn = rng.integers(0, 26, 21)  # 25 x (1.96 / 2.15)^2: t of 14.6 equal groups, which these are worth
        means.append(np.concatenate([scores[0, groups.of == group] for group in drawn]).mean())
    interval = confidence_intervals(scores[0], groups=groups)
    assert interval == pytest.approx(np.quantile(means, [0.025, 0.975]), abs=0.006)


def test_the_design_effect_is_at_most_that_of_groups_that_agree():
    for names, expected in {"aabbccdd": 8 / 4, "abcdefgh": 1, "aaaaaabc": 38 / 8}.items():
        assert Groups.named(names).design_effect(np.ones(8)) == pytest.approx(expected), "equal values say nothing"
    pairs = Groups.named("aabbccdd")
    agree = np.array([0.1, 0.5, 0.2, 0.9])[pairs.of]
    assert pairs.design_effect(agree) == pytest.approx(2 * 7 / 6), "2, but for n - 1 in both variances"


def test_the_design_effect_is_a_ratio_of_variances():
    groups, rng = Groups(np.repeat(np.arange(40), 5)), np.random.default_rng(5)
    means, effects = [], []
    for _ in range(2_000):
        values = rng.standard_normal(40)[groups.of] + rng.standard_normal(200)
        means.append(values.mean())
        effects.append(groups.design_effect(values))
    assert np.mean(effects) == pytest.approx(3, abs=0.1), "1 + (5 - 1) x 0.5"
    assert np.var(means) == pytest.approx(3 * 2 / 200, rel=0.1)


@given(st.lists(st.lists(st.integers(-4, 4), min_size=6, max_size=6), min_size=1, max_size=4))
def test_the_exact_flips_are_all_patterns(rows):
    patterns = np.array([*product([1, -1], repeat=6)])
    sums = np.abs(np.array(rows) @ patterns.T)
    expected = (sums >= np.abs(np.sum(rows, axis=1))[:, None]).mean(axis=1)
    assert flipped_p(np.array(rows)) == pytest.approx(expected, abs=1e-9)


def test_exact_flips_of_single_queries_are_mcnemars_test():
    for first, second in ((0, 0), (3, 1), (12, 2), (40, 9)):
        flips = np.array([[1] * first + [-1] * second])
        assert flipped_p(flips) == pytest.approx(mcnemar_p([first], [second]), abs=1e-9)


# Copies of a query tell no more than the query, and a query alone tells what it did

TYPES = ["x", "y"] * 20


def everything(scores, groups, types):
    """The results of every statistic, as numbers."""
    n, one = scores.shape[1], standings(scores, types, groups=groups, baseline=0)
    units, widest = groups.totals(scores), groups.widest(1)
    gate = against_baseline(scores[1] - scores[0], 0.1, 1, groups=groups)
    cost = groups.totals(np.abs(scores - 0.3))
    return {
        "p": one.with_best.p,
        "wins": one.wins,
        "baseline": one.baseline.p_holm,
        "expected": [one.selection.expected, *(selection.expected for selection in one.by_type.by_type), one.by_type.p],
        "power": [one.power.detectable, one.power.differing, one.power.needed(0.5) * groups.number / n],
        "margin": not_worse_than_best(units, 0.2, widest),
        "gate": [gate.p_not_worse, gate.p_worse, gate.p_equivalent, gate.least * groups.number / n],
        "front": shown_to_beat(units, cost, margin=0.1, span=widest),
        "front by flips": shown_to_beat(units, cost, tolerance=0.02),
        "pairs": mcnemar_of_pairs(np.round(scores), groups).p,
        "all pairs": [compare_all_pairs(scores, groups=groups).corrected],
        "student": [compare_all_pairs(scores, groups=groups, test="t").corrected],
    }


@pytest.mark.usefixtures("long_work")
def test_copies_of_each_query_in_a_group_change_nothing_and_queries_that_are_alone_not_the_last_bit():
    scores = sweep(configurations=4, queries=40, seed=3)
    copied, groups = np.repeat(scores, 3, axis=1), Groups(np.repeat(np.arange(40), 3))
    types = np.repeat(TYPES, 3).tolist()
    alone = everything(scores, Groups.named([f"q{row}" for row in range(40)]), TYPES)
    single, several = everything(scores, Groups.none(40), TYPES), everything(copied, groups, types)
    for name, values in single.items():
        assert several[name] == pytest.approx(np.array(values, dtype=float), rel=1e-9), name
        assert np.array_equal(alone[name], values), name
    naive = everything(copied, Groups.none(120), types)
    assert (naive["p"] < single["p"]).any(), "which copies would do without groups"

    assert np.array_equal(standings(scores, TYPES).with_best.p, alone["p"])
    for groups in (None, Groups.none(40)):
        assert np.array_equal(confidence_intervals(scores, groups=groups), confidence_intervals(scores))


def test_one_group_can_show_nothing_and_types_that_one_fold_holds_are_chosen_for_by_all_queries():
    scores, groups = sweep(configurations=3, queries=40), Groups.named(["all"] * 40)
    decision = standings(scores, TYPES, groups=groups, baseline=0)
    assert decision.with_best.tied.all()
    assert (decision.baseline.p == 1).all()
    assert decision.selection is decision.power is None
    assert effective_queries(scores, groups).tolist() == [1, 1, 1]
    fives = Groups(np.repeat(np.arange(8), 5))
    selections = standings(scores, ["rare"] * 5 + ["usual"] * 35, groups=fives).by_type
    rare = selections.by_type[0].per_query
    assert rare == pytest.approx(selections.for_all.per_query[:5]), "all rare ones are one group"


# On simulated sweeps


@with_groups
@pytest.mark.parametrize("configurations", [2, 8])
def test_equal_configurations_are_rarely_told_apart(sizes, configurations, times):
    """As independent queries, two are told apart in 18 % (fives) to 33 % (tens) of sweeps."""
    sweeps, rng, wrong, naive = times(600), np.random.default_rng(6), 0, 0
    for _ in range(sweeps):
        scores, groups = in_groups(rng, alike(configurations), sizes)
        wrong += not compare_with_best(groups.totals(scores), resamples=499).tied.all()
        naive += compare_with_reference(scores, 0, resamples=499).p_holm.min() <= LEVEL
    assert wrong / sweeps <= at_most(LEVEL, sweeps)
    assert naive / sweeps > 0.12


@with_groups
def test_intervals_of_groups_hold_the_mean(sizes, times):
    sweeps, rng, hold, mean = times(600), np.random.default_rng(7), np.zeros(3), mean_f1(0.6)
    for _ in range(sweeps):
        scores, groups = in_groups(rng, alike(2), sizes)
        low, high = confidence_intervals(np.array([scores[0], scores[1] - scores[0]]), groups=groups, resamples=2_000)
        naive = confidence_intervals(scores[0], resamples=2_000)
        hold += [low[0] <= mean <= high[0], low[1] <= 0 <= high[1], naive[0] <= mean <= naive[1]]
    assert (hold[:2] / sweeps >= 0.95 - 2.6 * np.sqrt(0.95 * 0.05 / sweeps) - 0.015).all()
    assert hold[2] / sweeps < 0.8, "which intervals of independent queries are too narrow for"


@with_groups
def test_wilsons_intervals_and_certificates_of_groups_keep_their_promise(sizes, times):
    sweeps, rng, hold, broken = times(600), np.random.default_rng(8), 0, 0
    truth = np.mean([(in_groups(rng, alike(1), sizes)[0] > 0).mean() for _ in range(2_000)])
    for _ in range(sweeps):
        hits, groups = in_groups(rng, alike(1), sizes)
        succeeded = (hits[0] > 0).astype(float)
        queries = effective_queries(succeeded, groups)
        low, high = wilson(succeeded.mean() * queries, queries)
        hold += low <= truth <= high
        certificate = certify([int(succeeded.mean() * int(queries) + 1e-6)], int(queries), truth)
        broken += certificate.cutoff is not None
    assert hold / sweeps >= 0.95 - 2.6 * np.sqrt(0.95 * 0.05 / sweeps) - 0.01
    assert broken / sweeps <= at_most(LEVEL, sweeps)


@with_groups
def test_a_margin_that_is_the_true_loss_is_rarely_kept(sizes, times):
    """As independent queries, a claim that is false is made of 11 to 17 % of sets."""
    sweeps, rng, shift = times(300), np.random.default_rng(9), np.array([0, -1.5])
    pool, _ = in_groups(np.random.default_rng(1), alike(2), [5] * 20_000, shift=shift)
    margin, false, naive = float(-np.diff(pool.mean(axis=1))[0]), 0, 0
    for _ in range(sweeps):
        scores, groups = in_groups(rng, alike(2), sizes, shift=shift)
        difference = scores[1:] - scores[:1]
        false += p_above(groups.totals(difference), margin, groups.widest(1))[0] <= LEVEL
        naive += p_above(difference, margin, 1)[0] <= LEVEL
    assert false / sweeps <= LEVEL
    assert naive / sweeps > LEVEL


def test_groups_that_do_not_matter_cost_no_power(times):
    """At a design effect of 1: 30 draws know their variance less well than 300; nothing else is lost (85 of 90 %)."""
    sweeps, rng, shown = times(600), np.random.default_rng(10), np.zeros(2)
    for _ in range(sweeps):
        scores, groups = in_groups(rng, alike(2), TENS, correlation=0, shift=np.array([0, -0.16]))
        difference = scores[:1] - scores[1:]
        tested = difference, groups.totals(difference)
        shown += [randomisation_test(values, resamples=499)[0] <= LEVEL for values in tested]
    assert 0.7 < shown[0] / sweeps < 0.95
    assert shown[1] >= 0.9 * shown[0]


@with_groups
def test_the_detectable_difference_is_found_as_often_as_said(sizes, times):
    sweeps, rng, detectable, shown = times(300), np.random.default_rng(11), [], 0
    for _ in range(20):
        scores, groups = in_groups(rng, alike(2), sizes)
        detectable.append(standings(scores, [None] * groups.queries, groups=groups, resamples=200).power.detectable)
    for _ in range(sweeps):
        scores, groups = in_groups(rng, alike(2), sizes)
        difference, span = groups.totals(scores[:1] - scores[1:] + np.median(detectable)), np.ptp(groups.totals(scores))
        p = max(randomisation_test(difference, resamples=499)[0], p_above(difference, 0.0, span)[0])
        shown += p <= LEVEL
    most = 0.9 if groups.effective > 0.9 * groups.number else 1.0  # of unequal groups, a safe number is said
    assert 0.65 <= shown / sweeps <= most, "80 % by an approximation"
