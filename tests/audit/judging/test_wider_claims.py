"""What is said about new queries, and about a judge who errs, holds at its level."""

import numpy as np
import pytest
from scipy.stats import binom
from simulated_races import LEVEL, made, run, unjudged
from sklearn.metrics import cohen_kappa_score

from ragsweep_audit.judging.race import Race
from ragsweep_audit.judging.state import error_rate, kappa, loss_by_the_truth

QUERIES = 40


@pytest.mark.parametrize("highest", [1, 3])
def test_kappa_is_that_of_scikit_learn(highest):
    generator = np.random.default_rng(highest)
    first = generator.integers(0, highest + 1, 200)
    second = np.where(generator.random(200) < 0.2, generator.integers(0, highest + 1, 200), first)
    assert kappa(first.tolist(), second.tolist()) == pytest.approx(cohen_kappa_score(first, second))


def test_a_judge_who_gives_one_grade_only_has_no_kappa():
    assert kappa([0, 0, 0], [0, 0, 0]) is None


def test_the_error_rate_is_found_from_answers_that_err_independently():
    generator = np.random.default_rng(3)
    differed = int((generator.random((2, 20_000)) < 0.1).sum(axis=0).tolist().count(1))
    rate, most = error_rate(differed, 20_000)
    assert rate == pytest.approx(0.1, abs=0.01)
    assert rate < most < rate + 0.01


def test_few_repeats_that_agree_leave_errors_possible():
    assert error_rate(0, 20)[0] == 0
    assert 0.05 < error_rate(0, 20)[1] < error_rate(0, 5)[1]
    assert error_rate(5, 5)[1] == 0.5


def test_the_loss_by_the_truth_is_exceeded_in_no_more_races_than_the_level(drawing, races):
    errors, wrong = 0.1, 0
    for seed in range(races):
        weights, grades = made(seed, configurations=3, queries=12, quality=[1.0, 1.0, 0.9])
        flips = np.random.default_rng([seed, 2]).random(len(grades)) < errors
        noisy, truth = np.where(flips, 1 - grades, grades), weights @ grades
        race = run(Race(weights, unjudged(weights), margin=0.05, seed=seed), noisy.__getitem__)
        wrong += truth.max() - truth[race.leader] > loss_by_the_truth(race, errors)
    assert wrong <= binom.ppf(0.999, races, 3 * LEVEL)


def test_the_loss_on_new_queries_is_exceeded_in_no_more_races_than_the_level(drawing, races):
    """The queries of each race are drawn, with replacement, from 2,000, on which the truth is known."""
    weights, grades = made(5, configurations=3, queries=2000, documents=12, k=4, quality=[1.0, 1.0, 0.9])
    pairs_of = np.array_split(np.arange(weights.shape[1]), 2000)  # near enough: pools of about that size, not queries
    truth, wrong, bounds = weights @ grades, 0, []
    for seed in range(races):
        taken = np.random.default_rng([seed, 4]).integers(0, 2000, QUERIES)
        pairs = np.concatenate([pairs_of[query] for query in taken])
        queries = np.repeat(np.arange(QUERIES), [len(pairs_of[query]) for query in taken])
        race = Race(weights[:, pairs] * 2000 / QUERIES, np.full(len(pairs), np.nan), 0.1, LEVEL, seed, queries)
        run(race, grades[pairs].__getitem__)
        bounds.append(race.loss_on_new_queries)
        wrong += truth.max() - truth[race.leader] > bounds[-1]
    assert wrong <= binom.ppf(0.999, races, LEVEL)
    assert np.median(bounds) < 0.5


def test_few_queries_say_nothing_about_new_ones():
    weights, grades = made(1, queries=10)
    queries = np.arange(len(grades)) % 10
    assert run(Race(weights, unjudged(weights), queries=queries), grades.__getitem__).loss_on_new_queries is None


def test_much_better_on_many_queries_is_the_best_on_new_ones_as_well():
    weights = np.zeros((2, 3000))
    weights[0, ::2], weights[1, 1::2] = 1 / 1500, 1 / 1500
    grades = (np.random.default_rng(1).random(3000) < np.where(np.arange(3000) % 2, 0.1, 0.6)).astype(float)
    race = Race(weights, grades, queries=np.arange(3000) // 2)
    assert race.drop_out() == [1]
    assert weights @ grades @ [-1, 1] < race.loss_on_new_queries < -0.4
