"""Runs that were measured several times: where the variance lies, and that a sweep says where repeats differ."""

import numpy as np
import pytest
from outcomes import FACTS, of_scores
from ragsweep.report.evidence_section import evidence

from ragsweep.report.record import as_record
from ragsweep.statistics.repeats import components
from ragsweep.sweeps import DecisionSettings, Sweep, asked_once, decide, split

REPEATS, QUESTIONS = 4, 50
UNBOUNDED = {"f1": {"title": "F1"}, "recall": {"title": "Recall"}}


def run(name, values):
    """A run with these values, of shape [repeats, questions]; of one repeat, one that says that it varies."""
    facts = {"varies": True, "metrics": UNBOUNDED}
    if len(values) > 1:
        found = components(values)
        parts = {"question": found.question, "repeat": found.repeat, "residual": found.residual}
        fact = {"means": values.mean(axis=1).tolist(), **parts}
        facts |= {"repeats": len(values), "repeated": {"f1": {**fact, "asked_once": found.asked_once}}}
    return of_scores(name, values.mean(axis=0), {"model": name}, facts={**FACTS, **facts})


def sweep(rng, parts, configurations=3, repeats=REPEATS):
    """Configurations whose values have these variances: between configurations, questions, repeats, and the rest."""
    shapes = ((configurations, 1, 1), (1, 1, QUESTIONS), (configurations, repeats, 1))
    shapes += ((configurations, repeats, QUESTIONS),)
    values = sum(rng.normal(0, np.sqrt(part), shape) for part, shape in zip(parts, shapes, strict=True))
    return Sweep([run(f"m{number}", each) for number, each in enumerate(values)], {}, DecisionSettings("f1"))


@pytest.mark.usefixtures("long_work")
def test_the_four_parts_of_the_variance_are_within_a_tenth_of_the_truth_on_average():
    rng, parts = np.random.default_rng(0), (0.3, 1.0, 0.1, 1.0)
    found = np.mean([split(sweep(rng, parts, configurations=12)) for _ in range(40)], axis=0)
    assert found == pytest.approx(np.array(parts), rel=0.1)


def test_a_sweep_whose_runs_have_not_all_repeats_has_no_split():
    some, once = sweep(np.random.default_rng(0), (0, 1, 0, 1)), run("once", np.ones((1, QUESTIONS)))
    mixed = Sweep([*some.outcomes, once], {}, some.settings)
    assert (split(mixed), asked_once(mixed), asked_once(some)) == (None, ["once"], [])


def test_a_decision_says_where_whole_repeats_differ():
    """Tests work on the mean of each question, which whole repeats that cancel out do not move."""
    rng = np.random.default_rng(1)
    questions = rng.normal(0, 1, (1, QUESTIONS))
    steady = [0.4 * place + questions + rng.normal(0, 0.3, (REPEATS, QUESTIONS)) for place in range(2)]
    moody = [each + np.array([[-0.9], [-0.3], [0.3], [0.9]]) for each in steady]
    told, shifted = (decide(Sweep([*map(run, "ab", each)], {}, DecisionSettings("f1"))) for each in (steady, moody))
    for one, other in zip(told.sweep.outcomes, shifted.sweep.outcomes, strict=True):
        assert other.interval("f1") == pytest.approx(one.interval("f1"))
    assert shifted.headline.tied == [shifted.named]
    assert [any("Whole repeats differ" in line for line in evidence(each)) for each in (told, shifted)] == [False, True]


def test_the_decision_says_where_the_variance_lies():
    found = decide(sweep(np.random.default_rng(2), (0.3, 1, 0, 1)))
    record = as_record(found, "")["repeats"]
    assert [len(each["means"]) for each in record["runs"].values()] == [REPEATS] * 3
    assert record["variance"].keys() == {"configuration", "question", "repeat", "residual"}
    assert any("tell as much as 1 of" in sentence for sentence in evidence(found))
    assert "repeats" not in as_record(decide(Sweep([of_scores("a", np.ones(9), {})], {}, DecisionSettings("f1"))), "")
