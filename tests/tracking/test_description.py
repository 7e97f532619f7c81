"""The description of an experiment: the latest decision of each kind of sweep."""

from datetime import datetime, timedelta

import pytest

from ragsweep.tracking.description import NOTE, Decided, describe

NOW = datetime(2026, 7, 18, 10, 15)


def decided(number, kind="alpha", chosen=0.5):
    return Decided(f"run{number}", f"{kind}: {kind} {chosen}", f"Ship {kind} {chosen} [of {number}].", NOW)


@pytest.fixture
def experiment(application):
    client = application.client()
    return client, client.create_experiment("described")


def lines(client, experiment_id):
    return [line for line in client.get_experiment(experiment_id).tags[NOTE].splitlines() if line]


def runs(*experiment):
    return [(line.partition("[")[0], line.partition("/runs/")[2].partition(")")[0]) for line in lines(*experiment)]


def test_it_has_five_kinds_of_sweeps_and_of_each_the_latest(experiment):
    for number, kind in enumerate(["alpha", "k x size", "size", "b", "c", "d", "k x size", "d"]):
        describe(*experiment, decided(number, kind))
    marks, found = zip(*runs(*experiment), strict=True)
    assert found == ("run7", "run6", "run4", "run3", "run2")
    assert marks == ("Latest decision: ", *["- "] * 4)
    assert lines(*experiment)[0].endswith(", 2026-07-18 10:15: Ship d 0.5 \\[of 7\\].")


def test_a_sweep_that_is_uploaded_later_does_not_take_the_place_of_a_newer_one(experiment):
    describe(*experiment, decided(2))
    for kind in ("alpha", "size"):
        describe(*experiment, decided(1, kind)._replace(start=NOW - timedelta(days=1)))
    assert runs(*experiment) == [("Latest decision: ", "run2"), ("- ", "run1")]


@pytest.mark.parametrize(
    "own", ["Our own words.", "Latest decision: ours\nand more", "- [x](#/experiments/1/runs/a) x"]
)
def test_the_words_of_a_user_stay(experiment, own):
    client, experiment_id = experiment
    client.set_experiment_tag(experiment_id, NOTE, own)
    describe(*experiment, decided(1))
    assert client.get_experiment(experiment_id).tags[NOTE] == own
