"""The race keeps its level against what a judge, a guess or a proposal may do, and ends with the truth.

So does what is said about new queries, and about a judge who errs.
"""

from copy import deepcopy

import numpy as np
import pytest
from scipy.stats import binom
from simulated_races import LEVEL, made, run, unjudged
from sklearn.metrics import cohen_kappa_score

from ragsweep.statistics.question_race import SAFE_BET
from ragsweep_audit.judging.judging_race import Race, RelevanceGuess
from ragsweep_audit.judging.race_state import error_rate, kappa, loss_by_the_truth

DRAWN = 40  # queries of a race about new ones


@pytest.fixture
def races(pytestconfig):
    """So many that a level that is several times too high is seen; with --soak, that one twice too high is."""
    return 2000 if pytestconfig.getoption("--soak") else 40


def near_ties(seed):
    return made(seed, configurations=3, queries=12, quality=[1.0, 1.0, 0.9])


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


def test_nobody_can_expect_to_win_against_the_best_at_any_moment_nor_by_what_the_judge_cannot_tell():
    for seed in range(5):
        weights, grades = made(seed)
        best = int(np.argmax(weights @ grades))
        unsure = [None if pair % 3 == 0 else grade for pair, grade in enumerate(grades.tolist())]
        for answers, most in ((grades.tolist(), 10 + 7 * seed), (unsure, 20)):
            race = Race(weights, unjudged(weights), seed=seed, level=1e-9)
            chances, factors = capital_after_each_draw(run(race, answers.__getitem__, most=most), answers)
            expected = chances @ factors
            assert chances.sum() == pytest.approx(1)
            assert expected[best] <= 1 + 1e-9, seed
            assert expected.max() > 1 or answers is unsure  # while those that are worse can expect to lose


@pytest.mark.parametrize("seed", [3, 6])
def test_nobody_can_expect_to_win_against_the_best_where_nothing_is_asked_for_its_sake(seed):
    """Near the leader, the best is asked about no more, so that not all pairs that speak for it can be drawn."""
    weights, grades = near_ties(seed)
    race = Race(weights, unjudged(weights), margin=0.05, seed=seed)
    while not (race._is_near(race.leader) & race.running).any():
        draw = race.draw()
        race.learn(draw, grades[draw.pair])
    near = race._is_near(race.leader) & race.running
    never = race._left & (race._propose().scores == 0)
    assert (weights[near][:, never] > weights[race.leader, never]).any()
    for truth in (grades, np.where(race._open & (weights[near] > weights[race.leader]).any(axis=0), 1.0, grades)):
        best = int(np.argmax(weights @ truth))
        chances, factors = capital_after_each_draw(race, truth)
        assert (chances @ factors)[best] <= 1 + 1e-9


def test_the_capital_is_that_of_a_slow_loop():
    """All sums over pairs and configurations are computed anew at each draw, from the chances.

    What the judge cannot tell counts against whatever it could show.
    """
    weights, grades = made(11, queries=15)
    race = Race(weights, unjudged(weights), seed=11, level=1e-9)
    judged, unsure, capital = [], [], np.zeros(len(weights))
    for _ in range(60):
        if race._proposal is None or race._proposal.leader != race.leader or race.learnt >= race._renew_at:
            race._propose()
        chances, shares = race._proposal.scores / race._proposal.scores.sum(), race._proposal.shares
        estimates, draw = race.estimates, race.draw()
        assert draw.chance == pytest.approx(chances[draw.pair])
        grade = None if draw.pair % 5 == 0 else grades[draw.pair]
        for place, configuration in enumerate(draw.running):
            opponent = draw.running[draw.opponents[place]]
            apart = weights[opponent] - weights[configuration]
            certain = sum(apart[pair] * grades[pair] for pair in judged) + sum(min(apart[pair], 0) for pair in unsure)
            scaled = [apart[pair] / chances[pair] for pair in np.flatnonzero(chances)]
            lowest = certain + min(0, *scaled)
            of_pair = min(apart[draw.pair], 0) if grade is None else apart[draw.pair] * grade
            shown = certain + of_pair / chances[draw.pair]
            mean = sum(apart[pair] * shares[pair] for pair in np.flatnonzero(chances))
            squares = sum(apart[pair] ** 2 * shares[pair] / chances[pair] for pair in np.flatnonzero(chances))
            gap = (estimates[opponent] - estimates[configuration]) * race.learnt / (race.learnt + 10)
            bet = min(max(gap, 0) / (squares - mean**2 + gap**2), SAFE_BET / -lowest)
            capital[configuration] += np.log(1 + bet * shown)
        race.learn(draw, grade)
        (unsure if grade is None else judged).append(draw.pair)
        assert race._against_best == pytest.approx(capital, abs=1e-9)
    assert len(unsure) > 5


@pytest.mark.usefixtures("long_work")
@pytest.mark.repeat(usual=4, soak=8)
def test_over_all_orders_of_a_small_race_the_best_drops_out_no_more_often_than_the_level(repetition):
    """Exact: the probability of each order of draws is the product of its chances."""
    weights, grades = made(repetition, configurations=3, queries=2, documents=5, k=2)
    truth, level = weights @ grades, 0.3
    best = truth >= truth.max() - 1e-12

    def probability(race):
        """That all that are best drop out, from here on."""
        if not race.running[best].any():
            return 1.0
        if race.running.sum() == 1 or race._propose().is_empty:
            return 0.0
        reached, total = np.cumsum(race._proposal.scores), 0.0
        for pair in np.flatnonzero(race._proposal.scores).tolist():
            following = deepcopy(race)
            draw = following._proposal.draw((reached[pair] - race._proposal.scores[pair] / 2) / reached[-1])
            following._left[pair] = False
            following.learn(draw, grades[pair])
            total += draw.chance * probability(following)
        return total

    assert probability(Race(weights, unjudged(weights), level=level)) <= level


def raced(races, judge=lambda grades, seed: grades, guess=lambda grades, seed: None, margin=0.0):
    """Races between three that are nearly alike: each with the true metric, and that by the judge."""
    for seed in range(races):
        weights, grades = near_ties(seed)
        given = judge(grades, seed)
        race = Race(weights, unjudged(weights), margin=margin, seed=seed, guessed=guess(grades, seed))
        yield run(race, given.__getitem__), weights @ grades, weights @ given


def flipped(grades, seed, share=0.1, stream=2):
    """The answers of a judge who errs in such a share."""
    wrong = np.random.default_rng([seed, stream]).random(len(grades)) < share
    return np.where(wrong, 1 - grades, grades)


def graded(grades, seed):
    """Grades of 0 to 3, among them pairs that are a little relevant."""
    generator = np.random.default_rng([seed, 4])
    given = grades * generator.integers(1, 4, len(grades)) / 3
    return np.where(generator.random(len(grades)) < 0.1, np.maximum(given, 1 / 3), given)


SOURCES = {
    "the judge is right": {},
    "the judge errs in 10 %": {"judge": flipped},
    "the judge has four grades": {"judge": graded},
    "all guesses are wrong": {"guess": lambda grades, seed: 1 - grades},
    "guesses are often wrong": {"guess": lambda grades, seed: flipped(grades, seed, 0.3, 3)},
    "shares are wrong on purpose": {},
}


@pytest.mark.usefixtures("long_work")
@pytest.mark.parametrize("name", SOURCES)
def test_the_best_drops_out_in_at_most_5_percent_of_races(races, name, monkeypatch):
    """A wrong guess costs judgments, and not the level."""
    if name == "shares are wrong on purpose":
        wrong = property(lambda self: np.where(self._features[1] > 0, 0.02, 0.98))
        monkeypatch.setattr(RelevanceGuess, "shares", wrong)
    dropped = [
        not race.running[by_judge >= by_judge.max() - 1e-12].any()
        for race, _, by_judge in raced(races, **SOURCES[name])
    ]
    assert sum(dropped) <= binom.ppf(0.999, races, LEVEL)


@pytest.mark.usefixtures("long_work")
def test_the_leader_is_seldom_called_close_enough_wrongly_nor_the_loss_by_the_truth_exceeded(races, drawing):
    wrong = [truth.max() - truth[race.leader] >= 0.05 for race, truth, _ in raced(races, margin=0.05)]
    assert sum(wrong) <= binom.ppf(0.999, races, 2 * LEVEL)
    wrong = [
        truth.max() - truth[race.leader] > loss_by_the_truth(race, 0.1)
        for race, truth, _ in raced(races, judge=flipped, margin=0.05)
    ]
    assert sum(wrong) <= binom.ppf(0.999, races, 3 * LEVEL)


def test_a_right_guess_saves_judgments_and_few_decide_between_what_differs_much():
    spent = {"without": 0, "with": 0}
    for name in spent:
        for seed in range(5):
            weights, grades = made(seed, queries=60, configurations=2, quality=[0.8, 1.1])
            guessed = grades if name == "with" else None
            race = run(Race(weights, unjudged(weights), seed=seed, guessed=guessed), grades.__getitem__)
            spent[name] += race.learnt
    assert spent["with"] < spent["without"]
    weights, grades = made(0, queries=200, configurations=2, quality=[0.2, 1.2])
    race = Race(weights, unjudged(weights))
    differing = race.differing
    run(race, grades.__getitem__)
    assert race.leader == 1
    assert race.learnt < 0.1 * differing


def test_when_all_is_judged_the_best_is_known_and_what_loses_is_out_without_a_draw():
    for seed in range(10):
        weights, grades = made(seed)
        race = run(Race(weights, unjudged(weights), seed=seed, level=1e-12), grades.__getitem__)
        truth = weights @ grades
        assert truth[race.leader] == pytest.approx(truth.max()), seed
        assert race.running[race.leader]
    weights, grades = made(4)
    race = Race(weights, grades)
    race.drop_out()
    truth = weights @ grades
    assert np.flatnonzero(race.running).tolist() == np.flatnonzero(truth >= truth.max() - 1e-12).tolist()


def test_neither_what_is_judged_already_nor_two_that_rank_the_same_are_asked_about():
    weights, grades = made(1)
    judged = np.where(np.arange(len(grades)) % 2, grades, np.nan)
    race = Race(weights, judged)
    asked = []
    while (draw := race.draw()) is not None and race.running.sum() > 1:
        asked.append(draw.pair)
        race.learn(draw, grades[draw.pair])
    assert asked
    assert np.isnan(judged[asked]).all()
    race = Race(weights[[0, 0]], unjudged(weights))
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
    pairs = [first.pair, second.pair]
    assert race._certain == pytest.approx(weights[:, pairs] @ grades[pairs])


def test_configurations_that_tie_do_not_put_each_other_out():
    """All answers are the same, so that all configurations rank equally well; sums differ by rounding errors only."""
    out = 0
    for seed in range(40):
        weights, grades = made(seed, queries=6, documents=12, k=4)
        race = run(Race(weights, unjudged(weights), seed=seed), np.ones_like(grades).__getitem__)
        out += not race.running.all()
    assert out <= binom.ppf(0.999, 40, 4 * LEVEL)  # any of the four


# What is said about new queries, and about the judge


def test_kappa_is_that_of_scikit_learn_and_there_is_none_of_one_grade():
    for highest in (1, 3):
        generator = np.random.default_rng(highest)
        first = generator.integers(0, highest + 1, 200)
        second = np.where(generator.random(200) < 0.2, generator.integers(0, highest + 1, 200), first)
        assert kappa(first.tolist(), second.tolist()) == pytest.approx(cohen_kappa_score(first, second))
    assert kappa([0, 0, 0], [0, 0, 0]) is None


def test_the_error_rate_is_found_from_answers_that_err_independently_and_few_repeats_leave_errors_possible():
    generator = np.random.default_rng(3)
    differed = int((generator.random((2, 20_000)) < 0.1).sum(axis=0).tolist().count(1))
    rate, most = error_rate(differed, 20_000)
    assert rate == pytest.approx(0.1, abs=0.005)
    assert rate < most < rate + 0.01
    assert error_rate(0, 20)[0] == 0
    assert 0.05 < error_rate(0, 20)[1] < error_rate(0, 5)[1]
    assert error_rate(5, 5)[1] == 0.5


def test_the_loss_on_new_queries_is_exceeded_in_no_more_races_than_the_level(drawing, races):
    """The queries of each race are drawn, with replacement, from 2,000, on which the truth is known."""
    weights, grades = made(5, configurations=3, queries=2000, documents=12, k=4, quality=[1.0, 1.0, 0.9])
    pairs_of = np.array_split(np.arange(weights.shape[1]), 2000)  # near enough: pools of about that size, not queries
    truth, wrong, bounds = weights @ grades, 0, []
    for seed in range(races):
        taken = np.random.default_rng([seed, 4]).integers(0, 2000, DRAWN)
        pairs = np.concatenate([pairs_of[query] for query in taken])
        queries = np.repeat(np.arange(DRAWN), [len(pairs_of[query]) for query in taken])
        race = Race(weights[:, pairs] * 2000 / DRAWN, np.full(len(pairs), np.nan), 0.1, LEVEL, seed, queries)
        run(race, grades[pairs].__getitem__)
        bounds.append(race.loss_on_new_queries)
        wrong += truth.max() - truth[race.leader] > bounds[-1]
    assert wrong <= binom.ppf(0.999, races, LEVEL)
    assert np.median(bounds) < 0.5


def test_few_queries_say_nothing_about_new_ones_and_much_better_on_many_is_the_best_there_as_well():
    weights, grades = made(1, queries=10)
    few = Race(weights, unjudged(weights), queries=np.arange(len(grades)) % 10)
    assert run(few, grades.__getitem__).loss_on_new_queries is None
    weights = np.zeros((2, 3000))
    weights[0, ::2], weights[1, 1::2] = 1 / 1500, 1 / 1500
    grades = (np.random.default_rng(1).random(3000) < np.where(np.arange(3000) % 2, 0.1, 0.6)).astype(float)
    race = Race(weights, grades, queries=np.arange(3000) // 2)
    assert race.drop_out() == [1]
    assert weights @ grades @ [-1, 1] < race.loss_on_new_queries < -0.4
