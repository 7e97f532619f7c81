"""The description of an experiment: the latest decision."""

from datetime import datetime, timedelta

import pytest

from ragsweep.tracking.uploads import NOTE, Decided, describe

NOW = datetime(2026, 7, 18, 10, 15)


def decided(number, kind="alpha", start=NOW):
    return Decided(f"run{number}", f"{kind}: {kind} 0.5", f"Ship {kind} [of {number}].", start)


@pytest.fixture
def experiment(application):
    client = application.client()
    return client, client.create_experiment("described")


def description(client, experiment_id):
    return client.get_experiment(experiment_id).tags[NOTE]


def test_it_is_the_latest_decision(experiment):
    for number, kind in enumerate(["alpha", "k x size", "k x size", "alpha"]):
        describe(*experiment, decided(number, kind))
    [line] = description(*experiment).splitlines()
    assert line.startswith("Latest decision: [alpha: alpha 0.5](#/experiments/")
    assert line.endswith("/runs/run3), 2026-07-18 10:15: Ship alpha \\[of 3\\].")


def test_a_sweep_that_is_uploaded_later_does_not_take_the_place_of_a_newer_one(experiment):
    describe(*experiment, decided(2))
    for kind in ("alpha", "size"):
        describe(*experiment, decided(1, kind, NOW - timedelta(days=1)))
    assert "/runs/run2)" in description(*experiment)


def test_a_sweep_that_is_resumed_takes_its_own_place(experiment):
    for kind in ("alpha", "size"):
        describe(*experiment, decided(1, kind, NOW - timedelta(days=kind == "size")))
    assert "Ship size" in description(*experiment)


@pytest.mark.parametrize(
    "own", ["Our own words.", "Latest decision: ours\nand more", "- [x](#/experiments/1/runs/a) x"]
)
def test_the_words_of_a_user_stay(experiment, own):
    client, experiment_id = experiment
    client.set_experiment_tag(experiment_id, NOTE, own)
    describe(*experiment, decided(1))
    assert description(*experiment) == own
