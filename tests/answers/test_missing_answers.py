"""Answers to what the documents do not answer, answers that are withheld, and answers that could not be read."""

import json
from dataclasses import replace

import numpy as np
import pytest
from answers.small_answers import Each, named, settings
from outcomes import FACTS, SETTINGS, decided, of_scores
from sklearn.metrics import roc_auc_score

from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.datasets import PageChunker
from ragsweep.report import rows_of
from ragsweep.report.claims import claims_of
from ragsweep.report.decision_record import as_record
from ragsweep.report.report_text import table_of_configurations
from ragsweep.retrieval import SparseRetriever
from ragsweep.store.stage_store import NO_STORE
from ragsweep.sweeps import DecisionSettings, Sweep, decide
from ragsweep.tasks.evaluation_record import MeasureFact
from ragsweep.tasks.repeating import joined
from ragsweep.testing import TaskContract
from ragsweep_answers.answering import Answer
from ragsweep_answers.cases import CaseColumns, CasesDataset
from ragsweep_answers.measuring.answers_task import AnswersTask
from ragsweep_answers.measuring.measures.accuracy import against_chance

NAMES = {"false_answer_rate", "answered_rate", "right_or_abstain", "false_answer_auc"}
ANSWERABLE = ["A .9", "A .5", "B .6", "C .2", "- -", "A -"]  # the letter and its confidence; A is right
UNANSWERABLE = ["A .5", "B .2", "- -", "C -"]
MANY = [f"{'AAB'[place % 3]} {(place % 10) / 10} {place}" for place in range(60)]


def stated(question):
    """The answer that the question states: its letter and its confidence, `-` for none of them."""
    letter, confidence, *_ = question.question.split()
    sure = None if confidence == "-" else float(confidence)
    return Answer(None) if letter == "-" else Answer(letter, confidence=sure)


def settings_of(path, answerable, unanswerable, **changed):
    """The settings of a task over a file of questions with the answer A, and of others that have none."""
    texts = {f"u{place}": (text, {"answerable": False}) for place, text in enumerate(unanswerable)}
    texts |= {f"k{place}": (text, {"answer": "A"}) for place, text in enumerate(answerable)}
    usual = {"options": ["one", "two", "three"]}
    path.write_text(json.dumps([{"id": name, "question": text, **usual, **row} for name, (text, row) in texts.items()]))
    stages = {"dataset": CasesDataset("small", str(path), CaseColumns(id="id")), "chunker": PageChunker()}
    stages |= {"retriever": SparseRetriever(NO_STORE), "answerer": Each(stated), "evaluation": settings()}
    return {**stages, "k": 2, "seed": 0, "evidence": "none", **changed}


@pytest.mark.usefixtures("drawing")
class TestTaskWithCasesWithoutAnAnswer(TaskContract):
    component = AnswersTask

    @pytest.fixture(autouse=True)
    def given(self, tmp_path):
        type(self).settings = settings_of(tmp_path / "cases.json", MANY, UNANSWERABLE, confidence_threshold=0.5)


@pytest.fixture
def measured(tmp_path):
    def measure(answerable, unanswerable, **changed):
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
        task = AnswersTask(**{"store": NO_STORE, **settings_of(path, answerable, unanswerable, **changed)})
        items = task.load()
        task.check(items)
        return task.measure(items)

    return measure


def by_loop(answerable, unanswerable, threshold):
    """The rates of a threshold, one question at a time; an answer without a confidence has that of 0."""

    def is_given(text):
        letter, confidence = text.split()
        sure = 0 if confidence == "-" else float(confidence)
        return letter != "-" and (threshold is None or sure >= threshold)

    right = sum(is_given(text) and text.startswith("A") for text in answerable)
    return {
        "accuracy": right / len(answerable),
        "answered_rate": sum(map(is_given, answerable)) / len(answerable),
        "false_answer_rate": sum(map(is_given, unanswerable)) / len(unanswerable),
    }


def test_a_threshold_withholds_what_is_less_sure_and_leaves_the_curve_and_the_area(measured):
    free = measured(ANSWERABLE, UNANSWERABLE)
    for threshold in (None, 0, 0.3, 0.5, 1):
        strict = measured(ANSWERABLE, UNANSWERABLE, confidence_threshold=threshold)
        expected = by_loop(ANSWERABLE, UNANSWERABLE, threshold)
        assert {name: strict.values[name] for name in expected} == pytest.approx(expected), threshold
        assert strict.values["false_answer_auc"] == free.values["false_answer_auc"]
        assert strict.tables["false_answers.csv"].equals(free.tables["false_answers.csv"])
    for row in free.tables["false_answers.csv"].to_dict("records"):
        assert by_loop(ANSWERABLE, UNANSWERABLE, row.pop("confidence_threshold")) == pytest.approx(row)


def test_the_area_is_that_of_scikit_learn_where_every_answer_is_right(measured):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        right, false = rng.integers(2, 11, 20) / 10, rng.integers(0, 9, 15) / 10
        area = measured([f"A {sure}" for sure in right], [f"B {sure}" for sure in false]).values["false_answer_auc"]
        assert area == pytest.approx(roc_auc_score([1] * 20 + [0] * 15, [*right, *false]))


def test_the_other_numbers_are_those_without_these_cases_and_a_withheld_answer_is_neither_unread_nor_unsure(measured):
    free, without = (measured(MANY, unanswerable) for unanswerable in (UNANSWERABLE, []))
    scores, fewer = ({score.metric.name: score for score in one.scores} for one in (free, without))
    assert scores.keys() - fewer.keys() == NAMES
    for name, score in fewer.items():
        assert (scores[name].value, scores[name].low, scores[name].high) == (score.value, score.low, score.high)
    assert named(free) == named(without)
    assert free.items.equals(without.items)
    assert "false_finds" not in without.facts
    strict = measured(MANY, UNANSWERABLE, confidence_threshold=0.5)
    assert strict.values["ece"] == free.values["ece"]
    assert (named(strict)["no_answer/share"], named(strict)["withheld/share"]) == (0, 0.5)
    assert strict.facts["overall_metrics"]["no_answer"]["as_first"] == strict.values["accuracy"]
    assert "30 answers of 60 are withheld" in " ".join(strict.summary)
    errors = strict.facts["error_analysis"]
    wrong = sum(text.startswith("B") and float(text.split()[1]) >= 0.5 for text in MANY)
    assert errors["total_errors"] == sum(count or 0 for count in errors["by_type"].values()) == wrong


def test_rates_are_averaged_over_repeats_and_need_a_confidence_and_a_case_with_an_answer(measured):
    with pytest.raises(ConfigError, match=r"^task.confidence_threshold: no confidence is stated"):
        measured(ANSWERABLE, UNANSWERABLE, answerer=Each(stated, has_confidence=False), confidence_threshold=0.5)
    with pytest.raises(DatasetError, match="all cases are marked answerable: false"):
        measured([], UNANSWERABLE)
    repeats = [measured(ANSWERABLE, UNANSWERABLE), measured(ANSWERABLE, ["A .1", "- -", "- -", "- -"])]
    mean = joined(repeats, "accuracy", resamples=200, seed=0)
    assert mean.values["false_answer_rate"] == (3 / 4 + 1 / 4) / 2
    assert sorted(mean.facts["false_finds"]["false_finds"]) == [0, 0.5, 0.5, 1]


@pytest.mark.usefixtures("drawing")
def test_answers_of_which_none_is_given_can_be_drawn(measured):
    for answerable in (MANY, ["A .9"] * 40, ["- -"] * 40):
        strict = measured(answerable, UNANSWERABLE, confidence_threshold=1)
        assert strict.values["answered_rate"] == strict.values["false_answer_rate"] == 0
        draw, *drawn = strict.charts
        assert {"false_answers.png", "confusion_matrix.png"} <= {*dict(draw(*drawn))}


def run(name, measurement):
    """The run of a measurement in a sweep that accuracy decides (called `f1` here)."""
    scores = {score.metric.name: score for score in measurement.scores}
    rate, bounds = scores["false_answer_rate"], {"low": 0.0, "high": 1.0}
    of_rate = {"higher_is_better": False, "binary": True, "aggregate": True, "mean": rate.value}
    of_rate |= {"ci_low": rate.low, "ci_high": rate.high}
    titles = {"f1": "Accuracy", "recall": "Recall", "false_answer_rate": "False answers"}
    metrics = {metric: {"name": metric, "title": title, **bounds} for metric, title in titles.items()}
    metrics["false_answer_rate"] |= of_rate
    facts = {"metrics": metrics, "false_finds": measurement.facts["false_finds"]}
    return of_scores(name, scores["accuracy"].per_item, {"answerer.name": name}, facts=facts)


SURE = [f"A {0.6 + place / 300} {place}" for place in range(60)] + [f"B 0.55 {place}" for place in range(40)]
UNSURE = [f"C {place / 100} {place}" for place in range(59)]  # all less sure than a right answer but one


def test_a_certified_confidence_is_promised_in_the_words_of_answers(measured):
    target = replace(SETTINGS, target={"false_answer_rate": 0.05})
    decision = decided(run("model", measured(SURE, UNSURE)), settings=target)
    certified = decision.threshold
    assert certified.shown
    assert 0.58 < certified.threshold <= 0.6
    assert (certified.hits, certified.hits_kept) == (0.6, 0.6)
    [claim] = [claim for claim in claims_of(decision) if claim.name == "threshold"]
    assert claim.numbers["threshold"] == certified.threshold
    assert f"Below a confidence of {certified.threshold} give no answer: at most 5 %" in claim.sentence
    strict = measured(SURE, UNSURE, confidence_threshold=certified.threshold).values
    assert (strict["false_answer_rate"], strict["accuracy"]) == (0, 0.6)


SHARE, FIRST, GUESS, LOST = "no_answer/share", "no_answer/first", "no_answer/guess", "fields/lost_share"
CAUSES = {"cut off": "responses/cut_off_share", "tool call": "responses/tool_call_share"}
CHANCE = 0.25
WAYS = ["the first option", "a guess", "right as often as its other answers"]


def unread_run(name, right, unread, causes=()):
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


def decision_of(*runs):
    return decide(Sweep(runs, {}, DecisionSettings("f1")))


def claimed(*runs):
    """The numbers of the only claim about unread answers of a decision on these runs."""
    [claim] = [claim for claim in claims_of(decision_of(*runs)) if claim.name in ("unread_answers", "unread")]
    return claim.numbers


def drawn(share, n, unread=0, seed=0):
    """Answers of which a share is right, of which the last ones could not be read."""
    right = np.random.default_rng(seed).permutation(np.arange(n) < share * n)
    return right, np.arange(n) >= n - unread


def test_the_choice_depends_on_answers_that_could_not_be_read_where_they_decide_it():
    """.42 of 200 are right, which are .70 of the 120 that were read; the other one has .60."""
    decision = decision_of(
        unread_run("silent", *drawn(0.7, 200, unread=80)), unread_run("steady", *drawn(0.6, 200, seed=1))
    )
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
        decision = decision_of(unread_run("some", right, unread), unread_run("nothing", np.zeros(60), np.ones(60)))
        expected = {"some": right[:read].mean() if read else CHANCE, "nothing": CHANCE}
        last = decision.unread.recounts[-1].choice.allowed
        assert {outcome.name: last.statistic(outcome, "f1") for outcome in last.outcomes} == pytest.approx(expected)


def test_a_metric_whose_unread_answers_cannot_count_otherwise_says_how_many_there_are():
    """Of a Brier score, an answer that was not read has the largest error; no confidence stands for its own."""
    runs = [unread_run("cut off", *drawn(0.8, 60, unread=9)), unread_run("whole", *drawn(0.4, 60, seed=1))]
    unread = runs[0].facts.unread["f1"]._replace(otherwise={})
    about = {"f1": replace(runs[0].facts.metrics["f1"], unread=unread)}
    numbers = claimed(*(replace(outcome, facts=replace(outcome.facts, metrics=about)) for outcome in runs))
    assert (numbers["worst"], numbers["counts"]) == ("Accuracy", {"model cut off": 9, "model whole": 0})
    assert [way["counted_as"] for way in numbers["otherwise"]] == WAYS[-1:]


def test_with_eight_questions_and_with_a_model_that_answered_nothing():
    some, nothing = unread_run("some", [1, 1, 1, 0, 0, 1, 1, 0], [0] * 8), unread_run("nothing", [0] * 8, [1] * 8)
    assert not decision_of(some, nothing).unread.replacing  # it answers more than the other would by guessing
    assert claimed(some, nothing)["counts"] == {"model nothing": 8, "model some": 0}
    either = unread_run("nothing either", [0] * 8, [1] * 8)
    assert not decision_of(nothing, either).unread.replacing
    assert claimed(nothing, either)["counts"] == {"model nothing": 8, "model nothing either": 8}
    assert [*claimed(nothing)["counts"].values()] == [8]


def test_worse_than_guessing_is_not_said_of_what_could_not_be_read():
    """.00 of 256 are right; with 64 more it would be a guess."""
    for unread, text in {0: "worse, p < 0.001", 10: "worse, p < 0.001", 64: "no better, 64 unread"}.items():
        decision = decision_of(
            unread_run("low", np.zeros(256), np.arange(256) < unread), unread_run("good", *drawn(0.9, 256))
        )
        [low, good] = decision.sweep.outcomes
        assert decision.against_guessing[low].worse is text.startswith("worse")
        assert decision.against_guessing[good].better
        assert {row.run: row.against_guessing for row in rows_of(decision)}[low] == text


def test_what_servers_say_of_responses_is_counted_for_each_configuration():
    silent = unread_run("c", *drawn(0.3, 60, unread=3, seed=2))
    a = unread_run("a", *drawn(0.8, 60, unread=9), causes={"cut off": 7, "tool call": 2})
    b = unread_run("b", *drawn(0.3, 60, unread=12, seed=1), causes={"cut off": 12})
    assert claimed(a, b, silent)["causes"] == {"model a": {"cut off": 7, "tool call": 2}, "model b": {"cut off": 12}}
    assert claimed(unread_run("a", *drawn(0.8, 60)), silent)["causes"] == {}
