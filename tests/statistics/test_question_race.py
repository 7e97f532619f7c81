"""A race over questions, against the formula as a slow loop, by enumeration, and in simulated races."""

from itertools import permutations
from math import inf, log, sqrt

import numpy as np
import pytest

from ragsweep.statistics.question_race import QuestionRace

LEVEL = 0.05


def raced(values, **settings):
    """The race over all questions, one after another; `values` has the shape [configurations, questions]."""
    race = QuestionRace(*values.shape, **settings)
    for column in values.T:
        if race.is_over:
            break
        race.observe(column)
    return race


def left_at_of_formula(values, level, *, new):
    """After how many questions each configuration drops out: the published formula, a number at a time."""
    configurations, questions = len(values), len(values[0])
    wealth, left_at = [0.0] * configurations, [0] * configurations
    for t in range(1, questions + 1):
        alive = [j for j in range(configurations) if not left_at[j]]
        if len(alive) == 1:
            break
        if t > 1:
            totals = {j: sum(values[j][: t - 1]) for j in alive}
            leader = max(alive, key=lambda j: (totals[j], -j))
            for j in alive:
                past = [values[leader][s] - values[j][s] for s in range(t - 1)]
                left, total = questions - t + 1, sum(past)
                m = 0.0 if new else -total / left
                if 1 + m < 0:  # cannot catch up
                    wealth[j] = inf
                    continue
                muhat = total / t
                variance = max((0.05 + sum(x * x for x in past)) / t - muhat**2, 1e-4)
                g = (muhat if new else (questions * muhat - total) / left) - m
                most = 0.9 / (1 + m) if 1 + m > 0 else inf
                lam = min(max(g / (variance + g * g), 0), most)
                wealth[j] += log(1 + lam * (values[leader][t - 1] - values[j][t - 1] - m)) if j != leader else 0
        out = [j for j in alive if wealth[j] >= log(1 / level)]
        best = max(alive, key=lambda j: (sum(values[j][:t]), -j))
        for j in out if len(out) < len(alive) else [j for j in out if j != best]:
            left_at[j] = t
    return left_at


@pytest.mark.parametrize("promise", ["these", "new"])
def test_it_drops_whom_the_published_formula_drops(promise):
    for rng in map(np.random.default_rng, range(6)):
        values = rng.beta(2, 2, 60) + np.linspace(-0.3, 0.3, 7)[:, None] + rng.normal(0, 0.1, (7, 60))
        race = raced(np.clip(values, 0, 1), promise=promise)
        assert race.left_at.tolist() == left_at_of_formula(np.clip(values, 0, 1).tolist(), LEVEL, new=promise == "new")
        assert 0 < (race.left_at > 0).sum() < 7


@pytest.mark.parametrize("margin", [0, 0.2])
def test_nobody_can_expect_to_win_a_bet_against_one_of_the_best(margin):
    """Whatever was asked: over the questions that may come next, the capital against a best one does not grow."""
    drawn = np.random.default_rng(5)
    growth = []
    for _ in range(12):
        values = drawn.choice([0, 0.5, 1], (3, 5), p=[0.4, 0.2, 0.4])
        means = values.mean(axis=1)
        best = [j for j in range(3) if means[j] >= np.delete(means, j).max() + margin]
        for asked in range(1, 5):
            for past in permutations(range(5), asked):
                next_capitals = []
                for question in {*range(5)} - {*past}:
                    race = QuestionRace(3, 5, level=1e-12, margin=margin)
                    for number in past:
                        race.observe(values[:, number])
                    before = np.exp(race.log_capital)
                    race.observe(values[:, question])
                    next_capitals.append(np.exp(race.log_capital))
                growth += (np.mean(next_capitals, axis=0)[best] - before[best]).tolist()
    assert len(growth) > 1000
    assert max(growth) <= 1e-9


def equal(drawn):
    """Ten configurations of the same quality, each with its own luck."""
    return drawn.random((10, 120))


def skewed(drawn):
    """One is better on a few questions and a little worse on all others: the mean is carried by the few."""
    values = np.full((6, 120), 0.5) + drawn.normal(0, 0.01, (6, 120))
    values[0] -= 0.02
    values[0, drawn.random(120) < 0.06] = 1
    return np.clip(values, 0, 1)


def late(drawn):
    """Two that lead in turn, among worse ones."""
    values = np.clip(drawn.normal([[0.6], [0.6], [0.5], [0.45], [0.4]], 0.25, (5, 120)), 0, 1)
    values[0, ::2], values[1, 1::2] = 1, 1
    return values


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("kind", [equal, skewed, late])
@pytest.mark.parametrize("promise", ["these", "new"])
def test_the_best_one_is_dropped_in_at_most_five_percent_of_races(kind, promise, pytestconfig):
    """Of `these` questions the best is the one with the best mean; of `new` ones, of equal configurations, any one."""
    lost, number = 0, 2000 if pytestconfig.getoption("--soak") else 200
    for seed in range(number):
        values = kind(np.random.default_rng(seed))
        values = values[:, np.random.default_rng(seed + 10**6).permutation(values.shape[1])]
        race = raced(values, promise=promise)
        best_of_new = seed % 10 if kind is equal else 0
        lost += bool(race.left_at[best_of_new if promise == "new" else values.mean(axis=1).argmax()])
    assert lost <= LEVEL * number + 2 * sqrt(LEVEL * number)


def test_it_saves_what_clear_losers_would_cost_and_tells_none_apart_within_the_margin():
    values = np.random.default_rng(0).normal(np.linspace(0.1, 0.9, 9)[:, None], 0.1, (9, 300))
    race = raced(np.clip(values, 0, 1))
    assert race.running.tolist() == [False] * 8 + [True]
    assert race.left_at.max() < 60
    values = np.random.default_rng(0).random(400) * 0.2 + np.array([[0.3], [0.31]])
    assert raced(values).left_at.max() > 3 * raced(values, margin=0.05).left_at.max() > 0
    race = raced(np.zeros((4, 10)))
    assert race.running.all(), "the last ones stay, whatever is bet"
    assert race.is_over
