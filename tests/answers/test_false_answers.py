"""Cases that the documents do not answer: what is answered all the same, against slow loops and scikit-learn."""

import json
from dataclasses import dataclass, replace

import numpy as np
import pytest
from outcomes import SETTINGS, decided, of_scores

from ragsweep.core.errors import ConfigError, DatasetError
from ragsweep.datasets import Option, PageChunker
from ragsweep.report.claims import claims_of
from ragsweep.retrieval import SparseRetriever
from ragsweep.store.stage_store import NO_STORE
from ragsweep.tasks.repeating import joined
from ragsweep.testing import TaskContract
from ragsweep_answers.answering import Answer, Answerer
from ragsweep_answers.answering.answer_forms import read_letter
from ragsweep_answers.cases import CaseColumns, CasesDataset
from ragsweep_answers.measuring.answer_settings import AnswerSettings
from ragsweep_answers.measuring.answers_task import AnswersTask

NAMES = ("false_answer_rate", "answered_rate", "right_or_abstain", "false_answer_auc")
OPTIONS = ["one", "two", "three"]


@dataclass(frozen=True)
class Says(Answerer):
    """Answers as the question says: its letter and its confidence, `-` for none of them."""

    def answer(self, questions):
        return [self._answer(*question.question.split()) for question in questions]

    def _answer(self, letter, confidence, *_):
        sure = None if confidence == "-" else float(confidence)
        return Answer(None) if letter == "-" else Answer(letter, confidence=sure)


@pytest.fixture
def measured(tmp_path):
    """Measure answers to questions with the answer A, and to others that have none."""

    def measure(known, others, answerer=None, **settings):
        rows = [
            {"id": f"k{place}", "question": said, "options": OPTIONS, "answer": "A"} for place, said in enumerate(known)
        ]
        rows += [
            {"id": f"u{place}", "question": said, "options": OPTIONS, "answerable": False}
            for place, said in enumerate(others)
        ]
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
        path.write_text(json.dumps(rows[::-1]))  # those without an answer come first
        files = CasesDataset("small", str(path), CaseColumns(id="id"))
        evaluation = AnswerSettings("after_cutoff", 1, 200, 10, 0.8, 0.3, [])
        given = {"evaluation": evaluation, "k": 2, "seed": 0, "store": NO_STORE, "evidence": "none", **settings}
        task = AnswersTask(files, PageChunker(), SparseRetriever(NO_STORE), answerer or Says(), **given)
        items = task.load()
        task.check(items)
        return task.measure(items)

    return measure


KNOWN = ["A .9", "A .5", "B .6", "C .2", "- -", "A -"]
OTHERS = ["A .5", "B .2", "- -", "C -"]


def by_loop(known, others, threshold):
    """The rates of a threshold, one question at a time; an answer without a confidence has that of 0."""

    def given(said):
        letter, confidence = said.split()
        return letter != "-" and (
            threshold is None or (confidence != "-" and float(confidence) >= threshold) or threshold == 0
        )

    right = sum(given(said) and said.startswith("A") for said in known)
    return {
        "accuracy": right / len(known),
        "answered_rate": sum(map(given, known)) / len(known),
        "false_answer_rate": sum(map(given, others)) / len(others),
    }


@pytest.mark.parametrize("threshold", [None, 0, 0.2, 0.3, 0.5, 0.6, 0.95, 1])
def test_a_threshold_withholds_what_is_less_sure(measured, threshold):
    values = measured(KNOWN, OTHERS, confidence_threshold=threshold).values
    for name, expected in by_loop(KNOWN, OTHERS, threshold).items():
        assert values[name] == pytest.approx(expected), name


def test_the_curve_and_the_area_are_the_same_at_every_threshold(measured):
    free, strict = measured(KNOWN, OTHERS), measured(KNOWN, OTHERS, confidence_threshold=0.55)
    assert strict.values["false_answer_auc"] == free.values["false_answer_auc"]
    curve = free.tables["false_answers.csv"]
    assert curve.equals(strict.tables["false_answers.csv"])
    for row in curve.to_dict("records"):
        assert by_loop(KNOWN, OTHERS, row.pop("confidence_threshold")) == pytest.approx(row)


MANY = [f"{'AAB'[place % 3]} {(place % 10) / 10} {place}" for place in range(60)]


def test_the_other_numbers_are_those_without_these_cases(measured):
    with_them, without = measured(MANY, OTHERS), measured(MANY, [])
    assert {score.metric.name for score in with_them.scores} - {score.metric.name for score in without.scores} == {
        *NAMES
    }
    scores = {score.metric.name: score for score in with_them.scores}
    for score in without.scores:
        found = scores[score.metric.name]
        assert (found.value, found.low, found.high) == (score.value, score.low, score.high)
    values = [{each.metric.name: each.value for each in one.measures} for one in (with_them, without)]
    assert values[0] == values[1]
    assert with_them.items.equals(without.items)
    assert "false_finds" not in without.facts


def test_a_withheld_answer_is_neither_unread_nor_without_its_confidence(measured):
    free, strict = measured(MANY, OTHERS), measured(MANY, OTHERS, confidence_threshold=0.5)
    assert strict.values["ece"] == free.values["ece"]
    measures = {each.metric.name: each.value for each in strict.measures}
    assert (measures["no_answer/share"], measures["withheld/share"]) == (0, 0.5)
    assert strict.facts["overall_metrics"]["no_answer"]["as_first"] == strict.values["accuracy"]
    assert "30 answers of 60 are withheld" in " ".join(strict.summary)
    errors = strict.facts["error_analysis"]
    wrong = sum(said.startswith("B") and float(said.split()[1]) >= 0.5 for said in MANY)
    assert errors["total_errors"] == sum(errors["by_type"][name] or 0 for name in errors["by_type"]) == wrong


def test_a_threshold_without_any_confidence_is_refused(measured):
    class Unsure(Says):
        has_confidence = False

    with pytest.raises(ConfigError, match=r"^task.confidence_threshold: no confidence is stated"):
        measured(KNOWN, OTHERS, Unsure(), confidence_threshold=0.5)


def test_cases_without_an_answer_alone_are_refused(measured):
    with pytest.raises(DatasetError, match="all cases are marked answerable: false"):
        measured([], OTHERS)


def run(name, measurement):
    """The run of a measurement in a sweep that accuracy decides (called `f1` here)."""
    about = {score.metric.name: score for score in measurement.scores}
    rate = about["false_answer_rate"]
    known = {"low": 0.0, "high": 1.0}
    of_rate = {**known, "higher_is_better": False, "binary": True, "aggregate": True, "mean": rate.value}
    facts = {
        "metrics": {
            "f1": {"name": "f1", "title": "Accuracy", **known},
            "recall": {"name": "recall", "title": "Recall", **known},
            "false_answer_rate": {
                "name": "false_answer_rate",
                "title": "False answers",
                **of_rate,
                "ci_low": rate.low,
                "ci_high": rate.high,
            },
        },
        "false_finds": measurement.facts["false_finds"],
    }
    return of_scores(name, about["accuracy"].per_item, {"answerer.name": name}, facts=facts)


SURE = [f"A {0.6 + place / 300} {place}" for place in range(60)] + [f"B 0.55 {place}" for place in range(40)]
UNSURE = [f"C {place / 100} {place}" for place in range(59)]  # all less sure than a right answer but one


def test_a_certified_confidence_is_promised_in_the_words_of_answers(measured):
    decision = decided(
        run("model", measured(SURE, UNSURE)), settings=replace(SETTINGS, target={"false_answer_rate": 0.05})
    )
    found = decision.threshold
    assert found.certificate.shown
    assert 0.58 < found.certificate.threshold <= 0.6
    assert (found.hits, found.kept) == (0.6, 0.6)
    [claim] = [claim for claim in claims_of(decision) if claim.name == "threshold"]
    assert claim.numbers["threshold"] == found.certificate.threshold
    assert f"Below a confidence of {found.certificate.threshold} give no answer: at most 5 %" in claim.sentence
    strict = measured(SURE, UNSURE, confidence_threshold=found.certificate.threshold).values
    assert (strict["false_answer_rate"], strict["accuracy"]) == (0, 0.6)


@pytest.mark.usefixtures("drawing")
@pytest.mark.parametrize("known", [MANY, ["A .9"] * 40, ["- -"] * 40])
def test_answers_of_which_none_is_given_can_be_drawn(measured, known):
    strict = measured(known, OTHERS, confidence_threshold=1)
    assert strict.values["answered_rate"] == strict.values["false_answer_rate"] == 0
    draw, *given = strict.charts
    assert {"false_answers.png", "confusion_matrix.png"} <= {*dict(draw(*given))}


@pytest.mark.usefixtures("drawing")
class TestTaskWithCasesWithoutAnAnswer(TaskContract):
    component = AnswersTask

    @pytest.fixture(autouse=True)
    def given(self, tmp_path):
        rows = [{"question": said, "options": OPTIONS, "answer": "A"} for said in MANY]
        rows += [{"question": said, "options": OPTIONS, "answerable": False, "answer": None} for said in OTHERS]
        (tmp_path / "cases.json").write_text(json.dumps(rows))
        type(self).settings = {
            "dataset": CasesDataset("small", str(tmp_path / "cases.json"), CaseColumns()),
            "chunker": PageChunker(),
            "retriever": SparseRetriever(NO_STORE),
            "answerer": Says(),
            "evaluation": AnswerSettings("after_cutoff", 1, 200, 10, 0.8, 0.3, []),
            "k": 2,
            "seed": 0,
            "evidence": "none",
            "confidence_threshold": 0.5,
        }


def test_repeats_are_averaged(measured):
    both = [measured(KNOWN, OTHERS), measured(KNOWN, ["A .1", "- -", "- -", "- -"])]
    found = joined(both, "accuracy", resamples=200, seed=0)
    assert found.values["false_answer_rate"] == (3 / 4 + 1 / 4) / 2
    assert sorted(found.facts["false_finds"]["false_finds"]) == [0, 0.5, 0.5, 1]


@pytest.mark.parametrize(
    "text",
    [
        "I don't know.",
        "I do not know the answer to this question.",
        "None of the above.",
        "The answer is none of these.",
        "E",
        "E) None of the above",
        "The passages do not say which option is correct.",
        "Answer: unknown",
        "I cannot answer this from the evidence given.",
    ],
)
def test_abstaining_in_words_is_no_answer(text):
    options = [Option(letter, word) for letter, word in zip("ABCD", ("iron", "rest", "tea", "milk"), strict=True)]
    assert read_letter(text, options) is None


def test_an_option_that_says_none_of_them_is_an_answer():
    options = [Option("A", "iron"), Option("B", "rest"), Option("C", "None of the above")]
    assert read_letter("None of the above.", options) == read_letter("C", options) == "C"


@pytest.mark.parametrize("seed", range(5))
def test_the_area_is_that_of_scikit_learn_where_every_answer_is_right(measured, seed):
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(seed)
    known, others = rng.integers(2, 11, 20) / 10, rng.integers(0, 9, 15) / 10
    found = measured([f"A {sure}" for sure in known], [f"B {sure}" for sure in others])
    expected = metrics.roc_auc_score([1] * 20 + [0] * 15, [*known, *others])
    assert found.values["false_answer_auc"] == pytest.approx(expected)
