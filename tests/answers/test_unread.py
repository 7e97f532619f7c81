"""What a decision says of answers that could not be read, and whether it depends on how they count."""

import json
from dataclasses import replace

import numpy as np
import pytest
from outcomes import FACTS, of_scores

from ragsweep.report import rows_of
from ragsweep.report.claims import claims_of
from ragsweep.report.record import as_record
from ragsweep.report.report_text import table_of_configurations
from ragsweep.sweeps import DecisionSettings, Sweep, decide
from ragsweep.tasks.facts import MeasureFact
from ragsweep_answers.measuring.measures.accuracy import against_chance

SHARE, FIRST, GUESS, LOST = "no_answer/share", "no_answer/first", "no_answer/guess", "fields/lost_share"
CAUSES = {"cut off": "responses/cut_off_share", "tool call": "responses/tool_call_share"}
CHANCE = 0.25
WAYS = ["the first option", "a guess", "right as often as its other answers"]


def run(name, right, unread, causes=()):
    """A run whose answers to questions with four options are right (1), wrong (0) or not read; A never is."""
    unread = np.array(unread, dtype=float)
    right = np.where(unread > 0, 0.0, right)
    comparison = against_chance(right, np.full(len(right), CHANCE), unread)
    otherwise = {"the first option": FIRST, "a guess": GUESS}
    about = FACTS["metrics"]["f1"] | {"title": "Accuracy", "binary": True, "wilson": True}
    about |= {"guessing": {"value": CHANCE, "p": comparison.p, "p_worse": comparison.p_worse}}
    about |= {"unread": {"measure": SHARE, "otherwise": otherwise, "lost": LOST, "causes": CAUSES}}
    facts = {"metrics": {"f1": about}, "cutoff": "", "at_k": {}, "at_k_ci": {}}
    outcome = of_scores(name, right, {"model": name}, facts=facts.items())
    columns = {SHARE: unread, FIRST: right, GUESS: np.where(unread > 0, CHANCE, right)}
    shares = {CAUSES[cause]: count / len(right) for cause, count in dict(causes).items()}
    measures = {
        metric: MeasureFact(metric, metric, value=share, higher_is_better=False) for metric, share in shares.items()
    }
    table = outcome.per_query.assign(**columns)
    return replace(outcome, per_query=table, facts=replace(outcome.facts, measures=measures))


def decided(*runs):
    return decide(Sweep(runs, {}, DecisionSettings("f1")))


def claimed(*runs):
    """The numbers of the only claim about unread answers of a decision on these runs."""
    [claim] = [claim for claim in claims_of(decided(*runs)) if claim.name in ("unread_answers", "unread")]
    return claim.numbers


def drawn(share, n, unread=0, seed=0):
    """Answers of which a share is right, of which the last ones could not be read."""
    right = np.random.default_rng(seed).permutation(np.arange(n) < share * n)
    return right, np.arange(n) >= n - unread


def test_the_choice_depends_on_answers_that_could_not_be_read_where_they_decide_it():
    """.42 of 200 are right, which are .70 of the 120 that were read; the other one has .60."""
    decision = decided(run("silent", *drawn(0.7, 200, unread=80)), run("steady", *drawn(0.6, 200, seed=1)))
    assert decision.named.name == "steady"
    record = json.loads(json.dumps(as_record(decision, "")))
    assert record["not_shipped"] == "unread answers"
    assert not record["headline"][0].startswith("Ship")
    numbers = {claim["name"]: claim["numbers"] for claim in record["claims"]}["unread_answers"]
    assert numbers["counts"] == {"model silent": 80, "model steady": 0}
    assert [way["counted_as"] for way in numbers["otherwise"]] == WAYS
    assert (numbers["otherwise"][-1]["best"], numbers["otherwise"][-1]["replaces"]) == ("model silent", True)
    assert record["choice"]["unread"] == 0
    assert {row.run.name: row.unread for row in rows_of(decision)} == {"steady": 0, "silent": 80}
    head, *rows = table_of_configurations(decision).splitlines()
    assert "unread" in head
    assert [" 80 " in row for row in rows] == [False, True]


def test_an_unread_answer_counts_as_often_right_as_the_others_or_as_a_guess_where_there_is_none():
    """The mean of a run is then that of the answers that it has."""
    for read in (0, 1, 37, 60):
        right, unread = drawn(0.7, 60, unread=60 - read)
        decision = decided(run("some", right, unread), run("nothing", np.zeros(60), np.ones(60)))
        expected = {"some": right[:read].mean() if read else CHANCE, "nothing": CHANCE}
        last = decision.unread.recounts[-1].choice.allowed
        assert {outcome.name: last.statistic(outcome, "f1") for outcome in last.outcomes} == pytest.approx(expected)


def test_a_metric_whose_unread_answers_cannot_count_otherwise_says_how_many_there_are():
    """Of a Brier score, an answer that was not read has the largest error; no confidence stands for its own."""
    runs = [run("cut off", *drawn(0.8, 60, unread=9)), run("whole", *drawn(0.4, 60, seed=1))]
    unread = runs[0].facts.unread["f1"]._replace(otherwise={})
    about = {"f1": replace(runs[0].facts.metrics["f1"], unread=unread)}
    numbers = claimed(*(replace(outcome, facts=replace(outcome.facts, metrics=about)) for outcome in runs))
    assert (numbers["worst"], numbers["counts"]) == ("Accuracy", {"model cut off": 9, "model whole": 0})
    assert [way["counted_as"] for way in numbers["otherwise"]] == WAYS[-1:]


def test_with_eight_questions_and_with_a_model_that_answered_nothing():
    some, nothing = run("some", [1, 1, 1, 0, 0, 1, 1, 0], [0] * 8), run("nothing", [0] * 8, [1] * 8)
    assert not decided(some, nothing).unread.replacing  # it answers more than the other would by guessing
    assert claimed(some, nothing)["counts"] == {"model nothing": 8, "model some": 0}
    either = run("nothing either", [0] * 8, [1] * 8)
    assert not decided(nothing, either).unread.replacing
    assert claimed(nothing, either)["counts"] == {"model nothing": 8, "model nothing either": 8}
    assert [*claimed(nothing)["counts"].values()] == [8]


def test_worse_than_guessing_is_not_said_of_what_could_not_be_read():
    """.00 of 256 are right; with 64 more it would be a guess."""
    for unread, text in {0: "worse, p < 0.001", 10: "worse, p < 0.001", 64: "no better, 64 unread"}.items():
        decision = decided(run("low", np.zeros(256), np.arange(256) < unread), run("good", *drawn(0.9, 256)))
        [low, good] = decision.sweep.outcomes
        assert decision.against_guessing[low].worse is text.startswith("worse")
        assert decision.against_guessing[good].better
        assert {row.run: row.against_guessing for row in rows_of(decision)}[low] == text


def test_what_servers_say_of_responses_is_counted_for_each_configuration():
    silent = run("c", *drawn(0.3, 60, unread=3, seed=2))
    a = run("a", *drawn(0.8, 60, unread=9), causes={"cut off": 7, "tool call": 2})
    b = run("b", *drawn(0.3, 60, unread=12, seed=1), causes={"cut off": 12})
    assert claimed(a, b, silent)["causes"] == {"model a": {"cut off": 7, "tool call": 2}, "model b": {"cut off": 12}}
    assert claimed(run("a", *drawn(0.8, 60)), silent)["causes"] == {}
