"""Cross-validated selection compared with slow loops, and on simulated sweeps with known means."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import multinomial
from simulated import QUERIES, alike, f1_like, mean_f1, sweep

from ragsweep.statistics import select, select_by_type, win_frequency

VALUES = st.sampled_from([0.0, 1 / 3, 2 / 7, 0.5, 1.0])
SCORES = st.tuples(st.integers(1, 5), st.integers(2, 12)).flatmap(lambda shape: arrays(float, shape, elements=VALUES))
COUNTS = {"how": 70, "what": 40, "why": 23}
TYPES = [name for name, count in COUNTS.items() for _ in range(count)]
SWEEP = sweep(queries=QUERIES)


def leave_one_out(scores):
    """The score of each query under the configuration that all other queries choose."""
    held_out = []
    for query in range(scores.shape[1]):
        sums = [round(sum(row) - row[query], 9) for row in scores.tolist()]
        held_out.append(scores[sums.index(max(sums)), query])
    return held_out


# One configuration for all queries


@given(SCORES)
def test_with_a_fold_for_each_query_all_other_queries_choose(scores):
    assert select(scores, folds=12, repeats=3).per_query.tolist() == pytest.approx(leave_one_out(scores))


@pytest.mark.usefixtures("long_work")
def test_the_held_out_scores_are_those_of_a_plain_cross_validation():
    scores, rng, held_out = SWEEP, np.random.default_rng(3), []
    for _ in range(2000):
        for fold in np.array_split(rng.permutation(133), 5):
            choosing = np.setdiff1d(np.arange(133), fold)
            held_out.append(scores[scores[:, choosing].mean(axis=1).argmax(), fold].sum() / 133)
    assert select(scores, repeats=2000).expected == pytest.approx(np.sum(held_out) / 2000, abs=0.0005)


@pytest.mark.usefixtures("long_work")
def test_the_apparent_score_is_too_high_and_the_expected_score_is_right():
    rng = np.random.default_rng(7)
    selections = [select(f1_like(rng, alike(15)), repeats=20) for _ in range(500)]
    expected, apparent = np.transpose([(selection.expected, selection.apparent) for selection in selections])
    error = 3 * np.std(expected) / np.sqrt(500)
    assert np.mean(expected) == pytest.approx(mean_f1(0.6), abs=error)
    assert np.mean(apparent) > mean_f1(0.6) + 2 * error


def test_the_best_is_the_first_with_the_highest_mean_and_always_the_one_that_is_better_on_every_query():
    selection, means = select(SWEEP), SWEEP.mean(axis=1)
    assert (selection.best, selection.apparent) == (means.argmax(), means.max())
    assert select(np.array([SWEEP[0] - 0.1, SWEEP[0], SWEEP[0]])).best == 1
    scores = np.random.default_rng(1).random((3, 20))
    better = scores.max(axis=0) + 0.1
    selection = select(np.insert(scores, 2, better, axis=0))
    assert selection.best == 2
    assert selection.per_query == pytest.approx(better)
    assert selection.expected == pytest.approx(selection.apparent)


def test_folds_are_stratified_by_type():
    # With four rare queries in the choosing folds, the first configuration is better; with three it is not.
    rare = np.arange(25) < 5
    scores = np.where([rare, ~rare], [[1.0], [0.195]], 0)
    assert select(scores, ["rare" if one else "common" for one in rare]).per_query == pytest.approx(scores[0])
    assert select(scores).per_query != pytest.approx(scores[0])


@given(SCORES)
def test_where_less_is_better_the_same_is_chosen_as_of_negated_scores(scores):
    selection, of_negated = select(scores, repeats=4, sign=-1), select(-scores, repeats=4)
    assert (selection.best, selection.apparent) == (of_negated.best, -of_negated.apparent)
    assert (selection.per_query == -of_negated.per_query).all()


def test_too_few_queries_or_folds_are_an_error():
    for queries, folds in ((1, 5), (20, 1)):
        with pytest.raises(ValueError, match=f"{queries} queries cannot be split into {folds} folds"):
            select(np.ones((2, queries)), folds=folds)


# One configuration for each type


def test_a_configuration_for_each_type_wins_if_every_type_has_its_own_best():
    scores = np.array([[kind == best for kind in TYPES] for best in COUNTS], dtype=float)
    selections = select_by_type(scores, TYPES)
    assert [selection.best for selection in selections.by_type] == [0, 1, 2]
    assert selections.for_all.expected == pytest.approx(70 / 133)
    assert selections.gain == pytest.approx(63 / 133)
    assert selections.p == 1 / 10_001


def test_the_types_are_sorted_and_the_selections_have_their_queries_and_the_same_folds():
    selections, for_all = select_by_type(SWEEP, TYPES[::-1], seed=3), select(SWEEP, TYPES[::-1], seed=3)
    assert (selections.for_all.per_query == for_all.per_query).all()
    assert selections.types == ("how", "what", "why")
    assert [len(selection.per_query) for selection in selections.by_type] == [70, 40, 23]
    in_order = np.concatenate([selection.per_query for selection in selections.by_type[::-1]])
    assert selections.per_query == pytest.approx(in_order)


def test_types_of_few_queries():
    for few in (2, 3, 4):  # fewer than folds: held out one at a time
        scores, types = sweep(queries=QUERIES, seed=few), ["rare"] * few + ["common"] * (QUERIES - few)
        selections = select_by_type(scores, types)
        assert selections.by_type[1].per_query.tolist() == pytest.approx(leave_one_out(scores[:, :few]))
    selections = select_by_type(SWEEP, ["rare", *["common"] * 132])  # the only one uses the choice for all types
    assert selections.by_type[1].per_query.tolist() == [selections.for_all.per_query[0]]
    selections = select_by_type(SWEEP, [None] * 50 + ["some"] * 83)  # as do those without a type
    assert selections.types == ("some",)
    assert (selections.per_query[:50] == selections.for_all.per_query[:50]).all()


@pytest.mark.usefixtures("long_work")
def test_choosing_by_type_loses_if_all_types_have_the_same_best():
    rng = np.random.default_rng(7)
    shift = np.linspace(0, 0.5, 8)
    gains = [
        select_by_type(f1_like(rng, alike(8), shift=shift), TYPES, repeats=10, resamples=1).gain for _ in range(200)
    ]
    assert np.mean(gains) < -2 * np.std(gains) / np.sqrt(200)


@pytest.mark.usefixtures("long_work")
def test_p_of_the_types_is_close_to_p_from_all_permutations():
    scores, types = sweep(configurations=3, queries=7, seed=2), "how how how why why what what".split()

    def best_of_each(order):
        columns = {kind: [query for query, name in zip(order, types, strict=True) if name == kind] for kind in COUNTS}
        return sum(max(scores[:, queries].sum(axis=1)) for queries in columns.values())

    exact = np.mean([best_of_each(order) >= best_of_each(range(7)) - 1e-9 for order in permutations(range(7))])
    assert select_by_type(scores, types).p == pytest.approx(exact, abs=4 * np.sqrt(0.25 / 10_000))


@given(arrays(float, (3, 12), elements=VALUES), st.integers(0, 12))
def test_p_of_the_types_is_above_0_and_at_most_1(scores, typed):
    types = ["some"] * (typed // 2) + ["other"] * (typed - typed // 2) + [None] * (12 - typed)
    assert 0 < select_by_type(scores, types).p <= 1
    assert select_by_type(scores, ["some"] * 12).p == 1


@pytest.mark.usefixtures("long_work")
def test_harder_types_do_not_change_p():
    harder = np.array([{"how": 0, "what": 0.5, "why": 2}[kind] for kind in TYPES])
    assert select_by_type(SWEEP - harder, TYPES).p == pytest.approx(select_by_type(SWEEP, TYPES).p, abs=1e-9)


@pytest.mark.usefixtures("long_work")
def test_types_that_do_not_matter_are_significant_as_often_as_the_level_says():
    rng = np.random.default_rng(7)
    p = [select_by_type(f1_like(rng, alike(8)), TYPES, repeats=1, resamples=199).p for _ in range(800)]
    assert 0.027 <= np.mean(np.array(p) <= 0.05) <= 0.073  # 3 standard errors


# Win frequency


def test_the_win_frequency_of_two_configurations_follows_the_multinomial_distribution():
    better, worse, queries = 12, 7, 40  # the other queries are ties
    scores = np.zeros((2, queries))
    scores[0, :better] = scores[1, better : better + worse] = 1
    counts = np.array([(won, lost, queries - won - lost) for won in range(41) for lost in range(41 - won)])
    chances = multinomial.pmf(counts, queries, [better / queries, worse / queries, 21 / queries])
    expected = chances[counts[:, 0] > counts[:, 1]].sum() + chances[counts[:, 0] == counts[:, 1]].sum() / 2
    assert win_frequency(scores)[0] == pytest.approx(expected, abs=4 * np.sqrt(0.25 / 10_000))
    scores = np.random.default_rng(0).random((2, 30))
    assert win_frequency(np.array([scores[0], scores[0], scores[0] - 1])).tolist() == pytest.approx([0.5, 0.5, 0])


@given(SCORES)
def test_the_win_frequencies_are_shares(scores):
    frequencies = win_frequency(scores, resamples=50)
    assert frequencies.shape == (len(scores),)
    assert frequencies.sum() == pytest.approx(1)
