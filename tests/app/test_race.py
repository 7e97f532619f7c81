"""A race between configurations: whom it asks what, when it ends, and what cannot race."""

from itertools import pairwise

import numpy as np
from application import assert_refused
from tracking.stored import run_here

from ragsweep.race import Answered, Race, Racer
from ragsweep.sweeps.race_record import RaceSettings
from ragsweep.tasks.metric import Metric

SETTINGS = RaceSettings(block=8, level=0.05, promise="these", margin=0)
NDCG, LOSS = Metric("ndcg", "NDCG", low=0, high=1), Metric("loss", "Loss", low=0, high=4, higher_is_better=False)
VALUES = np.clip(np.random.default_rng(3).normal([[0.2], [0.5], [0.8]], 0.2, (3, 96)), 0, 1)  # [racers, questions]


def held(values, metric=NDCG, *, groups=None, cutoffs=(5, 5, 5), fails=()):
    """A race over values of questions in their order, and what it asked: racers and questions, a pair a round."""
    order = groups or [[str(number)] for number in range(values.shape[1])]
    race = Race(SETTINGS, metric, order, [Racer(f"r{place}", cutoff) for place, cutoff in enumerate(cutoffs)])
    rounds = []

    def ask(places, questions):
        rounds.append((list(places), list(questions)))
        chosen = [int(question) for question in questions]
        return [None if place in fails else Answered(values[place, chosen].tolist(), 0.0) for place in places]

    return race.run(ask), rounds


def test_those_in_the_race_are_asked_the_same_questions_in_one_order(capsys):
    record, rounds = held(VALUES)
    questions = [question for _, asked in rounds for question in asked]
    assert questions == [str(number) for number in range(len(questions))]
    assert [len(asked) for _, asked in rounds] == [8] * len(rounds)
    assert all({*later} <= {*earlier} for (earlier, _), (later, _) in pairwise(rounds))
    assert [racer.name for racer in record.dropped] == ["r0", "r1"]
    spent = sum(len(places) * len(asked) for places, asked in rounds)
    assert record.evaluations == spent + 96 - len(questions)  # the winner is measured on all
    assert "as cheap as a race" in capsys.readouterr().err


def test_a_configuration_races_at_its_own_cutoff_alone():
    record, rounds = held(VALUES, cutoffs=(3, 5, 5))
    assert [racer.name for racer in record.dropped] == ["r1"]  # r0 has nobody to race with
    assert all(0 not in places for places, _ in rounds)


def test_lower_may_be_better_and_the_scale_does_not_matter():
    assert held(4 - 4 * VALUES, LOSS)[0].dropped[0].questions == held(VALUES)[0].dropped[0].questions
    assert [racer.number for racer in held(4 * VALUES, LOSS)[0].dropped] == [1, 2]


def test_questions_of_one_group_are_one_draw():
    """Copies of a question say nothing more: the race goes as without them, at three times the price."""
    groups = [[str(3 * number + copy) for copy in range(3)] for number in range(96)]
    copied, rounds = held(np.repeat(VALUES, 3, axis=1), groups=groups)
    alone, _ = held(VALUES)
    assert [racer.questions for racer in copied.dropped] == [3 * racer.questions for racer in alone.dropped]
    assert len(rounds[0][1]) == 24


def test_it_says_nothing_of_a_price_that_nothing_has(capsys):
    held(VALUES, fails={0, 1, 2})
    assert "as cheap" not in capsys.readouterr().err


def test_one_that_fails_leaves_and_is_measured_with_the_others():
    record, rounds = held(VALUES, fails={2})
    assert 2 in rounds[0][0]
    assert all(2 not in places for places, _ in rounds[1:])
    assert [racer.name for racer in record.dropped] == ["r0"]


OWN = "decision.metric=own +evaluation.metrics.own={_target_:boundless.own,_partial_:true}"
REFUSED = {
    "repeats=2": "repeats: found 2; hydra/sweeper=race measures once",
    OWN: "own has no bounds",
    "hydra.sweeper.level=0": "hydra.sweeper.level: found 0, expected",
    "hydra.sweeper.promise=all": "hydra.sweeper.promise: found 'all', expected",
    "hydra.sweeper.block=0.5": "hydra.sweeper.block: found 0.5, expected",
    "dataset=cho_manual,clinical_cases": "hydra/sweeper=race: found several datasets",
}


def test_what_cannot_race_is_refused(application, dataset, monkeypatch):
    (application.home / "boundless.py").write_text(
        "def own(judged, k):\n    return 3.0 * judged.hits[:, :k].sum(axis=1)\n"
    )
    monkeypatch.syspath_prepend(application.home)
    race = ["-m", "hydra/sweeper=race", "retriever=sparse", "retriever.b=0.2,0.7"]
    for settings, expected in REFUSED.items():
        small = [] if settings.startswith("dataset=") else dataset
        assert_refused(run_here(application, *race, *small, *settings.split(" ")), application, expected)
