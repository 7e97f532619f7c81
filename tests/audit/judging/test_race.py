"""The race keeps its level against what a judge, a guess or a proposal may do, and ends with the truth."""

from copy import deepcopy

import numpy as np
import pytest
from scipy.stats import binom

from ragsweep_audit.judging.race import Race
from ragsweep_audit.judging.relevance_guess import RelevanceGuess

RACES = 200
LEVEL = 0.05


def made(seed, *, configurations=4, queries=25, documents=30, k=5, quality=None):
    """Weights of DCG@k, and grades, of retrievers that rank by a noisy score of relevance."""
    generator = np.random.default_rng(seed)
    quality = np.linspace(0.6, 1.2, configurations) if quality is None else quality
    weights = np.zeros((configurations, queries, documents))
    grades = (np.arange(documents) < generator.integers(1, 4, queries)[:, None]).astype(float)
    for configuration, good in enumerate(quality):
        shared = np.random.default_rng([seed, 1]).normal(size=grades.shape)
        scores = 2 * good * grades + 0.7 * shared + 0.7 * generator.normal(size=grades.shape)
        top = np.argsort(-scores, axis=1)[:, :k]
        np.put_along_axis(weights[configuration], top, 1 / np.log2(np.arange(k) + 2) / queries, axis=1)
    used = weights.any(axis=0)
    return weights[:, used], grades[used]


def unjudged(weights):
    return np.full(weights.shape[1], np.nan)


def run(race, grade_of, *, most=10**6):
    """Judge until one is left, or nothing is left to judge."""
    while race.running.sum() > 1 and race.learnt < most and not (race.margin and race.is_close_enough):
        draw = race.draw()
        if draw is None:
            break
        race.learn(draw, grade_of(draw.pair))
    return race


def capital_after_each_draw(race, grades):
    """The chance of each next pair, and by how much it multiplies the capital against each configuration."""
    proposal = race._propose()
    reached = np.cumsum(proposal.scores) / proposal.scores.sum()
    pairs = np.flatnonzero(proposal.scores)
    chances = np.diff(reached, prepend=0)[pairs]
    growth = []
    for pair, chance in zip(pairs.tolist(), chances.tolist(), strict=True):
        following = deepcopy(race)
        draw = following._proposal.draw(reached[pair] - chance / 2)
        assert (draw.pair, draw.chance) == (pair, pytest.approx(chance))
        following._left[pair] = False
        following.learn(draw, grades[pair])
        growth.append(following._against_best - race._against_best)
    return chances, np.exp(growth)


@pytest.mark.parametrize("seed", range(5))
def test_nobody_can_expect_to_win_against_the_best_at_any_moment(seed):
    weights, grades = made(seed)
    best = int(np.argmax(weights @ grades))
    race = run(Race(weights, unjudged(weights), seed=seed, level=1e-9), grades.__getitem__, most=10 + 7 * seed)
    chances, factors = capital_after_each_draw(race, grades)
    expected = chances @ factors
    assert chances.sum() == pytest.approx(1)
    assert expected[best] <= 1 + 1e-9
    assert expected.max() > 1  # while those that are worse can expect to lose


@pytest.mark.parametrize("seed", range(5))
def test_what_the_judge_cannot_tell_wins_nothing_against_the_best(seed):
    weights, grades = made(seed)
    best = int(np.argmax(weights @ grades))
    asked = {pair: None if pair % 3 == 0 else grade for pair, grade in enumerate(grades.tolist())}
    race = run(Race(weights, unjudged(weights), seed=seed, level=1e-9), asked.__getitem__, most=20)
    chances, factors = capital_after_each_draw(race, asked)
    assert (chances @ factors)[best] <= 1 + 1e-9


def errors(judge=lambda grades, seed: grades, guess=lambda grades, seed: None):
    """How many of the races drop all that are best, at any look."""
    dropped = 0
    for seed in range(RACES):
        weights, grades = made(seed, configurations=3, queries=12, quality=[1.0, 1.0, 0.9])
        noisy = judge(grades, seed)
        race = Race(weights, unjudged(weights), seed=seed, guessed=guess(grades, seed))
        run(race, noisy.__getitem__)
        truth = weights @ noisy
        dropped += not race.running[truth >= truth.max() - 1e-12].any()
    return dropped


def flipped(grades, seed):
    wrong = np.random.default_rng([seed, 2]).random(len(grades)) < 0.1
    return np.where(wrong, 1 - grades, grades)


@pytest.mark.parametrize("judge", [lambda grades, seed: grades, flipped], ids=["right", "errs in 10 %"])
def test_the_best_drops_out_in_at_most_5_percent_of_races(long_work, judge):
    assert errors(judge) <= binom.ppf(0.999, RACES, LEVEL)


def lying(grades, seed):
    return 1 - grades


def flipping(grades, seed):
    wrong = np.random.default_rng([seed, 3]).random(len(grades)) < 0.3
    return np.where(wrong, 1 - grades, grades)


@pytest.mark.parametrize("guess", [lying, flipping])
def test_a_wrong_guess_costs_judgments_and_not_the_level(long_work, guess):
    assert errors(guess=guess) <= binom.ppf(0.999, RACES, LEVEL)


def test_shares_that_are_wrong_on_purpose_cost_judgments_and_not_the_level(long_work, monkeypatch):
    wrong = property(lambda self: np.where(self._features[1] > 0, 0.02, 0.98))
    monkeypatch.setattr(RelevanceGuess, "shares", wrong)
    assert errors() <= binom.ppf(0.999, RACES, LEVEL)


def test_a_right_guess_saves_judgments():
    spent = {"without": 0, "with": 0}
    for name in spent:
        for seed in range(5):
            weights, grades = made(seed, queries=60, configurations=2, quality=[0.8, 1.1])
            guessed = grades if name == "with" else None
            race = run(Race(weights, unjudged(weights), seed=seed, guessed=guessed), grades.__getitem__)
            spent[name] += race.learnt
    assert spent["with"] < spent["without"]


def test_the_leader_is_called_close_enough_wrongly_in_at_most_5_percent_of_races(long_work):
    wrong = 0
    for seed in range(RACES):
        weights, grades = made(seed, configurations=3, queries=12, quality=[1.0, 1.0, 0.9])
        race = run(Race(weights, unjudged(weights), margin=0.05, seed=seed), grades.__getitem__)
        truth = weights @ grades
        wrong += truth.max() - truth[race.leader] >= 0.05
    assert wrong <= binom.ppf(0.999, RACES, 2 * LEVEL)


@pytest.mark.parametrize("seed", range(10))
def test_when_all_is_judged_the_best_is_known(seed):
    weights, grades = made(seed)
    race = run(Race(weights, unjudged(weights), seed=seed, level=1e-12), grades.__getitem__)
    truth = weights @ grades
    assert truth[race.leader] == pytest.approx(truth.max())
    assert race.running[race.leader]


def test_few_judgments_decide_between_what_differs_much():
    weights, grades = made(0, queries=200, configurations=2, quality=[0.2, 1.2])
    race = Race(weights, unjudged(weights))
    differing = race.differing
    run(race, grades.__getitem__)
    assert race.leader == 1
    assert race.learnt < 0.1 * differing


def test_what_is_judged_already_is_not_asked():
    weights, grades = made(1)
    known = np.where(np.arange(len(grades)) % 2, grades, np.nan)
    race = Race(weights, known)
    asked = []
    while (draw := race.draw()) is not None and race.running.sum() > 1:
        asked.append(draw.pair)
        race.learn(draw, grades[draw.pair])
    assert asked
    assert np.isnan(known[asked]).all()


def test_two_that_rank_the_same_are_not_asked_about():
    weights, _ = made(2, configurations=2)
    weights[1] = weights[0]
    race = Race(weights, unjudged(weights))
    assert race.draw() is None
    assert race.differing == 0


def test_a_judgment_that_comes_late_is_taken_in_as_if_it_had_come_in_order():
    weights, grades = made(3)
    race = Race(weights, unjudged(weights), seed=3, level=1e-9)
    first, second = race.draw(), race.draw()
    assert first.pair != second.pair
    assert race._proposal.scores[first.pair] == 0
    race.learn(first, grades[first.pair])
    race.learn(second, grades[second.pair])
    known = weights[:, [first.pair, second.pair]] @ grades[[first.pair, second.pair]]
    assert race._known == pytest.approx(known)


def test_configurations_that_tie_do_not_put_each_other_out():
    """All answers are the same, so that all configurations rank equally well; sums differ by rounding errors only."""
    out = 0
    for seed in range(40):
        weights, grades = made(seed, queries=6, documents=12, k=4)
        race = run(Race(weights, unjudged(weights), seed=seed), np.ones_like(grades).__getitem__)
        out += not race.running.all()
    assert out <= binom.ppf(0.999, 40, 4 * LEVEL)  # any of the four


def test_what_loses_whatever_else_is_judged_is_out_without_a_draw():
    weights, grades = made(4)
    race = Race(weights, grades)
    race.drop_out()
    truth = weights @ grades
    assert np.flatnonzero(race.running).tolist() == np.flatnonzero(truth >= truth.max() - 1e-12).tolist()
