"""Cases that the documents do not answer: what is answered all the same, against slow loops and scikit-learn."""

import json
from dataclasses import replace

import numpy as np
import pytest
from answers.small_answers import Each, named, settings
from outcomes import SETTINGS, decided, of_scores
from sklearn.metrics import roc_auc_score

from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.datasets import PageChunker
from ragsweep.report.claims import claims_of
from ragsweep.retrieval import SparseRetriever
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.repeating import joined
from ragsweep.testing import TaskContract
from ragsweep_answers.answering import Answer
from ragsweep_answers.cases import CaseColumns, CasesDataset
from ragsweep_answers.measuring.answers_task import AnswersTask

NAMES = {"false_answer_rate", "answered_rate", "right_or_abstain", "false_answer_auc"}
ANSWERABLE = ["A .9", "A .5", "B .6", "C .2", "- -", "A -"]  # the letter and its confidence; A is right
UNANSWERABLE = ["A .5", "B .2", "- -", "C -"]
MANY = [f"{'AAB'[place % 3]} {(place % 10) / 10} {place}" for place in range(60)]


def said(question):
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
    stages |= {"retriever": SparseRetriever(NO_STORE), "answerer": Each(said), "evaluation": settings()}
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
        measured(ANSWERABLE, UNANSWERABLE, answerer=Each(said, has_confidence=False), confidence_threshold=0.5)
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


# In the decision of a sweep


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
