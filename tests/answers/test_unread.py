"""What a decision says of answers that could not be read, and whether it depends on how they count."""

import json
from dataclasses import replace

import numpy as np
import pytest
from outcomes import FACTS, of_scores

from ragsweep.report.evidence_section import evidence
from ragsweep.report.record import as_record
from ragsweep.report.report_sentences import headline
from ragsweep.report.report_tables import against_guessing
from ragsweep.report.report_text import table_of_configurations
from ragsweep.sweeps import DecisionSettings, Sweep, decide, not_shipped, undecided
from ragsweep.tasks.facts import MeasureFact
from ragsweep_answers.measuring.measures.accuracy import against_chance

SHARE, FIRST, GUESS, LOST = "no_answer/share", "no_answer/first", "no_answer/guess", "fields/lost_share"
CAUSES = {"cut off": "responses/cut_off_share", "tool call": "responses/tool_call_share"}
CHANCE = 0.25
WAYS = ["the first option", "a guess", "left out"]


def run(name, right, unread, lost=0.0, causes=()):
    """A run whose answers to questions with four options are right (1), wrong (0) or not read; A never is."""
    right, unread = np.array(right, dtype=float), np.array(unread, dtype=float)
    right = np.where(unread > 0, 0, right)
    found = against_chance(right, np.full(len(right), CHANCE), unread)
    columns = {SHARE: unread, FIRST: np.where(unread > 0, 0, right), GUESS: np.where(unread > 0, CHANCE, right)}
    about = {
        **FACTS["metrics"]["f1"],
        "title": "Accuracy",
        "binary": True,
        "wilson": True,
        "guessing": {"value": CHANCE, "p": found.p, "p_worse": found.p_worse},
        "unread": {
            "measure": SHARE,
            "otherwise": {"the first option": FIRST, "a guess": GUESS},
            "lost": LOST,
            "causes": CAUSES,
        },
    }
    made = of_scores(
        name, right, {"model": name}, facts={"metrics": {"f1": about}, "cutoff": "", "at_k": {}, "at_k_ci": {}}.items()
    )
    for column, values in columns.items():
        made.per_query[column] = values
    shares = {LOST: lost, **{CAUSES[cause]: count / len(right) for cause, count in dict(causes).items()}}
    measures = {name: MeasureFact(value=share, higher_is_better=False) for name, share in shares.items() if share}
    return replace(made, facts=replace(made.facts, measures=measures))


def decided(*runs):
    return decide(Sweep(runs, {}, DecisionSettings("f1")))


def said(decision):
    return " ".join(headline(decision))


def drawn(share, n, unread=0, seed=0):
    """Answers of which a share is right, of which the last ones could not be read."""
    right = np.random.default_rng(seed).permutation(np.arange(n) < share * n)
    return right, np.arange(n) >= n - unread


def test_the_choice_depends_on_answers_that_could_not_be_read_where_they_decide_it():
    decision = decided(run("silent", *drawn(0.7, 200, unread=80)), run("steady", *drawn(0.6, 200, seed=1)))
    assert decision.named.name == "steady"
    found = {each.counted_as: each for each in decision.unread.recounts}
    assert [*found] == WAYS
    assert found["left out"].choice.best.name == "silent"
    assert found["left out"].queries == 120
    assert found["left out"].changes
    assert "model silent 80, model steady 0 of 200 queries. The choice depends on how they count:" in said(decision)
    assert "on the 120 queries that both have answered, model silent has 0." in said(decision)
    record = json.loads(json.dumps(as_record(decision, "")))
    assert record["unread"]["counts"] == {"silent": 80, "steady": 0}
    assert record["unread"]["choice_depends"] is True
    assert record["not_shipped"] == "unread answers"
    assert "Ship" not in said(decision)
    assert [each["counted_as"] for each in record["unread"]["otherwise"]] == WAYS
    assert record["choice"]["unread"] == 0
    head, *rows = table_of_configurations(decision).splitlines()
    assert "unread" in head
    assert [" 80 " in row for row in rows] == [False, True]


def test_a_tie_is_not_shipped_either_where_unread_answers_decide_what_is_best():
    decision = decided(run("silent", *drawn(0.7, 64, unread=22)), run("steady", *drawn(0.5, 64, seed=1)))
    assert undecided(decision) == "tied"
    assert decision.unread.replacing
    assert not_shipped(decision) == "unread answers"
    assert "There is nothing to ship yet" in said(decision)
    assert "Ship" not in said(decision)
    assert "Choose by cost" not in said(decision)


def test_of_a_choice_that_only_guesses_it_is_not_said_that_it_stands():
    right, silent = np.arange(64) % 4 == 0, np.zeros(64)
    guesses = decided(run("says A", right, silent), run("nothing", silent, silent + 1))
    assert not_shipped(guesses) == "guessing"
    assert guesses.unread.changing
    assert not guesses.unread.replacing
    assert "The choice stands" not in said(guesses)


def test_the_choice_does_not_depend_on_a_few_of_them():
    decision = decided(run("good", *drawn(0.8, 200, unread=2)), run("bad", *drawn(0.3, 200, unread=1, seed=1)))
    assert not decision.unread.changing
    assert "The choice would be the same if they counted as the first option or a guess, or were left out." in said(
        decision
    )
    assert as_record(decision, "")["unread"]["choice_depends"] is False
    assert as_record(decision, "")["not_shipped"] is None


def test_a_configuration_that_is_worse_only_because_it_was_not_read_changes_the_choice():
    right, _ = drawn(0.5, 200)
    decision = decided(run("read", right, np.zeros(200)), run("cut off", right, np.arange(200) < 60))
    assert decision.headline.worse == 1
    assert [each.counted_as for each in decision.unread.changing] == ["left out"]
    assert not decision.unread.replacing  # equal is not better
    assert "on the 140 queries that both have answered, model cut off has 0." in said(decision)


def test_the_choice_stands_where_less_of_the_difference_is_left():
    """.50 against .34; on the 140 queries that both have answered, 2 of them apart."""
    right, _ = drawn(0.5, 200)
    close = right & (np.cumsum(right) <= right.sum() - 2)
    decision = decided(run("read", right, np.zeros(200)), run("cut off", close, np.arange(200) < 60))
    [left_out] = [each for each in decision.unread.recounts if each.counted_as == "left out"]
    assert (left_out.changes, left_out.replaces) == (True, False)
    record = as_record(decision, "")
    assert (record["not_shipped"], record["unread"]["choice_depends"]) == (None, False)
    assert "The choice stands" in said(decision)


def test_a_metric_whose_unread_answers_cannot_count_otherwise_says_how_many_there_are():
    """Of a Brier score, an answer that was not read has the largest error; no confidence stands for its own."""
    runs = [run("cut off", *drawn(0.8, 60, unread=9)), run("whole", *drawn(0.4, 60, seed=1))]
    unread = runs[0].facts.unread["f1"]._replace(otherwise={})
    about = {"f1": replace(runs[0].facts.metrics["f1"], unread=unread)}
    decision = decided(*(replace(each, facts=replace(each.facts, metrics=about)) for each in runs))
    assert "could not be read, and have the worst Accuracy: model cut off 9, model whole 0 of 60" in said(decision)
    assert [each.counted_as for each in decision.unread.recounts] == ["left out"]
    assert not decision.unread.changing
    assert said(decision).count("be the same if they were left out.") == 1


def test_where_everything_was_read_nothing_is_said():
    decision = decided(run("a", *drawn(0.8, 60)), run("b", *drawn(0.3, 60, seed=1)))
    assert decision.unread.recounts == []
    assert "could be read" not in said(decision)
    assert "unread" not in table_of_configurations(decision).splitlines()[0]
    assert as_record(decision, "")["unread"] == {
        "counts": {"a": 0, "b": 0},
        "causes": {"a": {}, "b": {}},
        "choice_depends": None,
        "otherwise": [],
    }


def test_with_eight_questions_and_with_a_model_that_answered_nothing():
    decision = decided(run("some", [1, 1, 1, 0, 0, 1, 1, 0], [0] * 8), run("nothing", [0] * 8, [1] * 8))
    assert not decision.unread.replacing  # it answers more than the other would by guessing
    assert as_record(decision, "")["unread"]["choice_depends"] is False
    assert [each.counted_as for each in decision.unread.recounts] == WAYS[:2]  # no question was answered by both
    assert "model nothing 8, model some 0 of 8 queries." in said(decision)
    silent = decided(run("nothing", [0] * 8, [1] * 8), run("nothing either", [0] * 8, [1] * 8))
    assert (
        "Answers that could not be read, and count as wrong: model nothing 8, model nothing either 8 of 8 queries."
        in said(silent)
    )
    assert not silent.unread.changing
    alone = decided(run("nothing", [0] * 8, [1] * 8))
    assert "Answers that could not be read, and count as wrong: 8 of 8 queries." in said(alone)


def test_one_that_would_be_equal_does_not_replace_the_best():
    """Guessing reaches the .25 of the other one, in whichever order the two were run."""
    runs = [run("nothing", [0] * 8, [1] * 8), run("always A", [0, 1, 0, 1, 0, 0, 0, 0], [0] * 8)]
    for order in (runs, runs[::-1]):
        decision = decided(*order)
        assert [each.counted_as for each in decision.unread.recounts] == WAYS[:2]
        assert not decision.unread.changing
        assert "would be the best" not in said(decision)


def test_the_best_system_is_shipped_whatever_one_is_counted_as_that_answered_nothing():
    decision = decided(run("right", np.ones(8), np.zeros(8)), run("nothing", np.zeros(8), np.ones(8)))
    changed = {each.counted_as: (each.changes, each.replaces) for each in decision.unread.recounts}
    guessed = as_record(decision, "")["unread"]["otherwise"][1]["cannot_be_told_apart"]
    assert changed["a guess"] == (len(guessed) > 1, False)
    assert as_record(decision, "")["not_shipped"] is None
    assert said(decision).startswith("Ship model right")


def test_a_model_that_answered_nothing_does_not_hide_what_the_others_say():
    runs = run("silent", *drawn(0.7, 200, unread=80)), run("steady", *drawn(0.6, 200, seed=1))
    decision = decided(*runs, run("nothing", np.zeros(200), np.ones(200)))
    assert decision.named.name == "steady"
    changing = [each.choice.allowed.outcomes[1].name for each in decision.unread.changing if each.queries < 200]
    assert changing == ["silent"]


def test_many_configurations_are_counted_and_the_worst_named():
    runs = [run(f"m{number}", *drawn(0.5, 40, unread=number)) for number in range(7)]
    assert "model m6 6, model m5 5, model m4 4, model m3 3, the other 3 at most 2 each of 40 queries" in said(
        decided(*runs)
    )


@pytest.mark.parametrize(("unread", "worse"), [(0, True), (10, True), (64, False), (256, False)])
def test_worse_than_guessing_is_not_said_of_what_could_not_be_read(unread, worse):
    """.00 of 256 are right; with 64 more it would be a guess."""
    decision = decided(run("low", np.zeros(256), np.arange(256) < unread), run("good", *drawn(0.9, 256)))
    [low, good] = decision.sweep.outcomes
    assert decision.against_guessing[low].worse is worse
    assert decision.against_guessing[good].better
    text = against_guessing(decision, low)
    assert text == ("worse, p < 0.001" if worse else f"no better, {unread} unread")


def test_lost_fields_are_counted_for_each_configuration():
    decision = decided(run("a", *drawn(0.8, 60), lost=42 / 60), run("b", *drawn(0.3, 60, seed=1)))
    text = " ".join(evidence(decision))
    assert "and the rest of it was read: model a 42, model b 0 of 60 queries." in text
    without = decided(run("a", *drawn(0.8, 60)), run("b", *drawn(0.3, 60, seed=1)))
    assert "the rest of it was read" not in " ".join(evidence(without))


def test_what_servers_say_of_responses_is_counted_for_each_configuration():
    runs = (
        run("a", *drawn(0.8, 60, unread=9), causes={"cut off": 7, "tool call": 2}),
        run("b", *drawn(0.3, 60, unread=12, seed=1), causes={"cut off": 12}),
        run("c", *drawn(0.3, 60, unread=3, seed=2)),
    )
    decision = decided(*runs)
    assert "not what the model knows: model b cut off 12; model a cut off 7 and tool call 2." in said(decision)
    record = json.loads(json.dumps(as_record(decision, "")))
    assert record["unread"]["causes"] == {"a": {"cut off": 7, "tool call": 2}, "b": {"cut off": 12}, "c": {}}
    assert "server" not in said(decided(run("a", *drawn(0.8, 60)), run("b", *drawn(0.3, 60, unread=4, seed=1))))


def test_an_accuracy_has_one_interval():
    """Wilson's, as in the run's own report; a bootstrap of equal values has none."""
    outcome = run("none right", np.zeros(64), np.zeros(64))
    low, high = outcome.interval("f1")
    assert (low, high) == (pytest.approx(0, abs=1e-9), pytest.approx(0.0566, abs=1e-4))  # 1.96 ** 2 / (64 + 1.96 ** 2)
    sure = run("all right", np.ones(64), np.zeros(64)).statistics["f1"]
    assert (sure["f1_low"], sure["f1_high"]) == (pytest.approx(1 - 0.0566, abs=1e-4), pytest.approx(1))
