"""What is said of answers, and what is null as nothing can be said: calibration, danger, causes of errors."""

import json
from dataclasses import replace

import numpy as np
import pytest
import small
from answers import small_answers
from answers.small_answers import Fixed, cases_of, named, settings
from omegaconf import OmegaConf
from scipy.stats import binomtest

from ragsweep.core.errors import ConfigError
from ragsweep.experiment import Experiment
from ragsweep.tasks.task import Task
from ragsweep_answers.answering import Answer
from ragsweep_answers.cases import CaseColumns
from ragsweep_answers.measuring import answer_charts as charts
from ragsweep_answers.measuring.answer_claims import accuracy_claim
from ragsweep_answers.measuring.measures.accuracy import against_chance
from ragsweep_answers.measuring.measures.confidence import too_few

COPIES = 5  # of 8 cases
CASES = [each | {"question": f"{each['question']} ({each['id']})"} for each in small.cases(COPIES)]
CORRECT = [case["correct_answer"] for case in CASES]
WRONG = ["ABC"["CAB".index(letter)] for letter in CORRECT]
FIELDS = {"case": "clinical_case", "answer": "correct_answer", "relevant": "relevant_docs", "id": "id"}
CALIBRATED = {"brier", "ece"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    (folder / "many.json").write_text(json.dumps(CASES))
    return replace(cases_of(small.case_arguments(folder), CaseColumns(**FIELDS)), cases=str(folder / "many.json"))


@pytest.fixture
def measured(files):
    def measure(answers, dataset=files, *, recorded=False, evidence="retrieved", **changed):
        answerer = Fixed(answers, [case["question"] for case in CASES], recorded=recorded)
        return small_answers.measured(dataset, answerer, evidence=evidence, evaluation=settings(**changed))

    return measure


# Calibration


@pytest.mark.usefixtures("drawing")
@pytest.mark.parametrize(("stated", "is_measured"), [(0, False), (1, False), (29, False), (30, True), (40, True)])
def test_calibration_needs_thirty_confidences(measured, stated, is_measured):
    answers = [Answer(letter, 0.9 if row < stated else None) for row, letter in enumerate(CORRECT)]
    found = measured(answers)
    assert (found.values.keys() >= CALIBRATED) is is_measured
    assert set(found.not_measured) == (set() if is_measured else CALIBRATED)
    calibration = found.facts["calibration_metrics"]
    assert (calibration["brier_score"] is None) is not is_measured
    assert any(name.startswith("confidence/") for name in named(found)) is is_measured
    said = " ".join(found.sections["Confidence of the answers"])
    if not is_measured:
        have = "1 of 40 answers has" if stated == 1 else f"{stated} of 40 answers have"
        assert calibration["not_measured"] == f"{have} a confidence, and calibration needs 30"
        assert said.startswith("Calibration is not measured: ")
    assert {name for name, _ in charts.draw(*found.charts[1:])} >= ({"reliability.png"} if is_measured else set())


@pytest.mark.parametrize(
    ("stated", "answers", "lost", "problem"),
    [
        (30, 300, 0, ""),
        (30, 301, 0, "needs a tenth of them"),
        (1, 1273, 0, "needs 30"),
        (100, 1000, 101, "101 more have one that is out of range"),
        (100, 1000, 100, ""),
    ],
)
def test_calibration_needs_a_tenth_of_the_answers_and_a_scale_that_most_use(stated, answers, lost, problem):
    assert problem in too_few(stated, answers, lost)
    assert bool(problem) == bool(too_few(stated, answers, lost))


def test_a_sweep_is_not_decided_by_what_could_not_be_measured(measured):
    found = measured([Answer(letter, 0.9 if row < 5 else None) for row, letter in enumerate(CORRECT)])

    class Measured(Task):
        metrics, loads = (), ()

        def load(self):
            return None

        def measure(self, items):
            return found

    task = Measured()
    for metric, is_measured in (("accuracy", True), ("brier", False)):
        experiment = Experiment(OmegaConf.create({"decision": {"metric": metric}}), task, {})
        vars(experiment)["items"] = None
        if is_measured:
            assert experiment.measure() is found
            continue
        with pytest.raises(ConfigError, match=r"^decision\.metric: brier is not measured: 5 of 40 answers have"):
            experiment.measure()


# Fields of responses


def test_a_lost_field_is_said_in_the_run_in_its_table_and_in_its_numbers(measured):
    answers = [Answer(letter, lost=("confidence",) if row < 10 else ()) for row, letter in enumerate(CORRECT)]
    answers[0] = replace(answers[0], lost=("steps", "confidence"))
    found = measured(answers)
    assert found.values["accuracy"] == 1
    assert named(found)["fields/lost_share"] == 10 / 40
    assert found.facts["overall_metrics"]["lost_fields"] == {"steps": 1, "confidence": 10}
    assert found.details["lost"][:2] == ["steps; confidence", "confidence"]
    said = " ".join(found.sections["Answers"])
    assert "steps in 1 of 40 answers, confidence in 10 of 40 answers" in said
    whole = measured([Answer(letter) for letter in CORRECT])
    assert "lost" not in whole.details
    assert "could not be used" not in " ".join(whole.sections["Answers"])


# Guessing


def counted(right, n, unread=0):
    """The comparison with guessing of answers, of which the last ones could not be read."""
    correct = np.arange(n) < right
    return against_chance(correct.astype(float), np.full(n, 0.25), (np.arange(n) >= n - unread).astype(float))


@pytest.mark.parametrize(("right", "n"), [(0, 64), (5, 64), (16, 64), (25, 64), (64, 64), (3, 8)])
def test_p_of_being_better_is_one_sided(right, n):
    found = counted(right, n)
    assert found.p_better == pytest.approx(binomtest(right, n, 0.25, alternative="greater").pvalue, rel=1e-9)
    if right < n / 4:
        assert found.p_worse == pytest.approx(2 * binomtest(right, n, 0.25, alternative="less").pvalue, rel=1e-9)
    else:
        assert found.p_worse == 1


@pytest.mark.parametrize(
    ("right", "unread", "verdict"),
    [(0, 0, "worse"), (0, 5, "worse"), (0, 16, "no better"), (0, 64, "no better"), (30, 20, "better")],
)
def test_answers_are_not_worse_than_guessing_if_unread_ones_could_explain_it(right, unread, verdict):
    found = counted(right, 64, unread)
    assert found.verdict == f"{verdict} than guessing"
    said = accuracy_claim(found, "").sentence
    assert ("could explain" in said) == (verdict == "no better")
    assert ("p < .001" in said) == (verdict != "no better")


# Danger


RULES = "- kind: missed critical diagnosis\n  reason: She bleeds.\n  case: [dengue]\n  unless: [platelets]\n"


@pytest.mark.usefixtures("drawing")
def test_danger_is_only_looked_for_by_rules_of_the_dataset(measured, tmp_path):
    (tmp_path / "rules.yaml").write_text(RULES)
    wrong = [Answer(letter, reasoning="It says so.") for letter in WRONG]
    own = measured(wrong, dangerous={"small": str(tmp_path / "rules.yaml")})
    assert own.facts["safety_metrics"]["dangerous_errors"] > 0
    assert "safety/dangerous" in named(own)
    for other in ({"another": str(tmp_path / "rules.yaml")}, {"clinical_cases": "bundled"}, None, {}):
        found = measured(wrong, dangerous=other)
        safety = found.facts["safety_metrics"]
        names = ("dangerous_errors", "dangerous_error_rate", "dangerous_error_rate_at_most", "safety_score")
        assert [safety[name] for name in names] == [None] * 4
        assert not {"safety/dangerous", "safety/score"} & named(found).keys()
        assert "dangerous_errors.csv" not in found.tables
        said = " ".join(found.sections["Reasoning and safety"])
        assert "no rules are named for this dataset (evaluation.dangerous)" in said
        assert "at most" not in said.partition("Dangerous errors")[2]
        assert "summary.png" in [name for name, _ in charts.draw(*found.charts[1:])]


# Causes of errors


def test_what_retrieval_failed_at_is_not_known_where_nothing_is_judged(measured, files, tmp_path):
    judged = measured([Answer(letter) for letter in WRONG]).facts["error_analysis"]
    assert judged["retrieval_failures"] + judged["reasoning_failures"] == 40
    (tmp_path / "cases.json").write_text(json.dumps([{**case, "relevant_docs": []} for case in CASES]))
    unjudged = replace(files, cases=str(tmp_path / "cases.json"))
    without = measured([Answer(letter) for letter in WRONG], evidence="none")
    for found in (measured([Answer(letter) for letter in WRONG], unjudged), without):
        analysis = found.facts["error_analysis"]
        assert (analysis["retrieval_failures"], analysis["reasoning_failures"]) == (None, None)
        assert analysis["by_type"]["retrieval failure"] is None
        assert sum(count or 0 for count in analysis["by_type"].values()) == 40
        assert not {"retrieval failure", "reasoning failure"} & set(found.tables["errors_by_specialty.csv"])
