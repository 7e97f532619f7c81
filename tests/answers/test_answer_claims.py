"""What is claimed of answers, with numbers of scipy, statsmodels or by hand, and what is null as nothing is known."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import small
from answers import small_answers
from answers.small_answers import fixed, named, settings
from omegaconf import OmegaConf
from scipy.stats import binomtest
from statsmodels.stats.multitest import multipletests

from ragsweep.core.errors import ConfigError
from ragsweep.datasets.model.cases import LETTERS, Case, Option
from ragsweep.experiment import Experiment
from ragsweep.tasks.task import Task
from ragsweep_answers.answering import Answer
from ragsweep_answers.cases import CaseColumns
from ragsweep_answers.measuring import answer_charts as charts
from ragsweep_answers.measuring import scores
from ragsweep_answers.measuring.answer_claims import accuracy_claim, claims_of
from ragsweep_answers.measuring.answer_evaluation import Evaluation
from ragsweep_answers.measuring.measures.accuracy import against_chance, counted_otherwise
from ragsweep_answers.measuring.measures.answer_errors import error_categories
from ragsweep_answers.measuring.measures.confidence import confidence_scores, confidence_summary, too_few
from ragsweep_answers.measuring.proxies.confusions import CONFUSION_KINDS, Confusions, Pair
from ragsweep_answers.measuring.proxies.pitfalls import PITFALLS
from ragsweep_answers.measuring.proxies.safety import safety_score

NAN = np.nan
SENTENCES = Path(__file__).parent / "data/sentences.txt"
CASE = Case("q", "", "Which?", tuple(Option(letter, f"text {letter}") for letter in LETTERS[:4]), "A")


def outcomes(right, wrong):
    return np.repeat([1.0, 0.0], [right, wrong])


def evaluation(correct, *, controls=None, confusions=None, is_calibrated=True, **columns):
    """Answers to questions with four options, of which A is correct; wrong answers choose B."""
    n, controls, chance = len(correct), controls or {}, np.full(len(correct), 0.25)
    values = {"chosen": np.where(correct == 1, 0, 1), "expected": np.zeros(n, int)}
    values |= dict.fromkeys(
        ("has_relevant", "confidence", "safety/hallucination", "tokens/in", "tokens/out", "time_ms"), NAN
    )
    values |= dict.fromkeys(("reasoning/coherence", *PITFALLS), NAN)
    values |= {"safety/dangerous": np.zeros(n), "specialty": None, "difficulty": None, "group": ""} | columns
    values |= {f"control/{name}": control for name, control in controls.items()}
    cases = pd.DataFrame({"case": [CASE] * n, "answer": [Answer("A")] * n, "correct": correct, "right": correct})
    cases = cases.assign(chance=chance, **values)
    first, guess = counted_otherwise(*(cases[name].to_numpy() for name in ("expected", "chosen", "chance")))
    facts = (cases[name].to_numpy() for name in ("chosen", "has_relevant", "safety/hallucination", "confidence"))
    cases["error"] = error_categories(correct, *facts, chance=chance, low=0.3)
    cases = cases.assign(**{"no_answer/accuracy_as_first": first, "no_answer/accuracy_as_chance": guess})
    drawn = {"bins": 10, "resamples": 400, "seed": 0}
    summary = confidence_summary(cases["confidence"].to_numpy(), correct, **drawn) if is_calibrated else None
    confusions = confusions or Confusions((), dict.fromkeys(CONFUSION_KINDS, 0))
    safety = safety_score(cases["safety/hallucination"].to_numpy(float), cases["safety/dangerous"].to_numpy(float))
    errors = confidence_scores(cases["confidence"].to_numpy(), correct, **drawn) if is_calibrated else ()
    return Evaluation(cases, "retrieved", tuple(controls), None, confusions, safety, 0.8, {}, {}, summary, errors)


def claims(measured):
    """The claims by name; of those of one name the last."""
    numbers = scores.measures(measured, None)
    headings = claims_of(measured, [scores.accuracy_score(measured), *measured.calibration], numbers, recorded=False)
    return {claim.name: claim for of_heading in headings.values() for claim in of_heading}


def test_every_sentence_reads_well():
    """Compared with the golden file of the sentences."""
    rows = np.arange(60)
    correct, control = np.repeat([1.0, 1, 0, 0], (36, 12, 2, 10)), np.repeat([1.0, 0, 1, 0], (36, 12, 2, 10))
    counts = dict(zip(CONFUSION_KINDS, (3, 2, 1, 0, 1), strict=True))
    measured = evaluation(
        correct,
        controls={"none": np.where(rows == 59, NAN, control)},
        chosen=np.where(correct == 1, 0, np.where(rows == 58, -1, 1)),
        confidence=np.where(rows < 58, np.where(correct == 1, 0.9, 0.8), NAN),
        confusions=Confusions((Pair("anaemia", "malaria", 3, CONFUSION_KINDS[0]),), counts),
        **{"safety/hallucination": np.zeros(60), "reasoning/coherence": np.full(60, 0.75)},
        **{"tokens/in": rows * 100.0, "safety/dangerous": rows == 50},
        **{name: np.where(correct == 1, NAN, float(name == PITFALLS[1])) for name in PITFALLS},
    )
    assert [claim.sentence for claim in claims(measured).values()] == SENTENCES.read_text().splitlines()


def test_where_no_answer_could_be_read_nothing_is_compared_and_the_same_letter_to_every_question_is_said():
    names = claims(evaluation(np.zeros(40), chosen=np.full(40, -1), controls={"none": np.zeros(40)})).keys()
    assert names & {"none_read", "accuracy", "control"} == {"none_read"}
    expected = np.array([1, 0, 2] * 4)
    same, varied = (
        claims(evaluation(outcomes(4, 8), chosen=np.array(chosen), expected=expected))
        for chosen in ([1] * 12, [1] * 11 + [2])
    )
    assert same["same_letter"].numbers == {"number": 12, "letter": "B"}
    assert "same_letter" not in varied


def test_answers_are_not_worse_than_guessing_if_unread_ones_could_explain_it():
    verdicts = {(0, 0): "worse", (0, 5): "worse", (0, 16): "no better", (0, 64): "no better", (30, 20): "better"}
    for (right, unread), verdict in verdicts.items():
        correct, is_unread = outcomes(right, 64 - right), np.arange(64) >= 64 - unread
        comparison = against_chance(correct, np.full(64, 0.25), is_unread.astype(float))
        numbers = accuracy_claim(comparison, "").numbers
        assert comparison.verdict == numbers["verdict"] == f"{verdict} than guessing"
        assert numbers["explained"] is (verdict == "no better")
        assert numbers["explained"] or numbers["p"] == "< .001"


@pytest.mark.usefixtures("long_work")
def test_the_tests_of_the_controls_are_corrected_for_their_number():
    correct, rows = outcomes(30, 20), np.arange(50)
    lost = {"none": 9, "judged": 8, "placebo": 3}
    controls = {name: np.where(rows < number, 0.0, np.where(rows == 49, 1.0, correct)) for name, number in lost.items()}
    measured = evaluation(correct, controls=controls)
    of_controls = claims_of(measured, [], scores.measures(measured, None), recorded=False)["Answers"][-3:]
    p = [binomtest(1, 1 + number).pvalue for number in lost.values()]
    assert p[1] < 0.05  # without the correction
    assert [claim.numbers["p"] for claim in of_controls] == pytest.approx(multipletests(p, method="holm")[1])


def test_a_confidence_that_is_off_is_said_by_how_much_if_enough_answers_have_one_on_a_scale_that_most_use():
    tendencies = [
        ([0.95] * 40, [1, 0] * 20, "the confidence is 0.45 too high on average"),
        ([0.05] * 40, [1, 0] * 20, "the confidence is 0.45 too low on average"),
        ([0.9] * 40 + [0.1] * 40, [1, 0] * 40, "some confidences are too high and others too low"),
        ([0.9, 0.4, 0.7], [1, 0, 1], "there are too few answers to show a calibration error"),
    ]
    for confidence, correct, tendency in tendencies:
        measured = evaluation(np.array(correct, float), confidence=np.array(confidence, float))
        assert claims(measured)["calibration"].sentence.endswith(f": {tendency}.")
    assert too_few(30, 300, 0) == too_few(100, 1000, 100) == ""
    problems = {(30, 301, 0): "a tenth", (1, 1273, 0): "needs 30", (100, 1000, 101): "101 more have one"}
    assert [counts for counts, problem in problems.items() if problem not in too_few(*counts)] == []


def test_confident_errors_are_the_most_sure_first_and_the_accuracy_of_a_group_is_that_of_its_questions():
    correct, confidence = np.array([0.0, 1, 0, 0, 0, 0]), np.array([0.8, 0.99, 0.79, 0.95, NAN, 0.8])
    assert evaluation(correct, confidence=confidence).confident_errors.index.tolist() == [3, 0, 5]
    tied = evaluation(np.zeros(50), confidence=np.tile([0.9, 0.8], 25)).confident_errors
    assert tied.index.tolist() == [*range(0, 50, 2), *range(1, 50, 2)]
    groups = {"specialty": ["b", "a", "b", "b", None], "difficulty": ["hard", "easy", "odd", None, None]}
    by_group = evaluation(np.array([1.0, 0, 1, 0, 1]), **groups).by_group
    shares = [(group, share.value, share.n) for group, share in by_group["specialty"]]
    assert shares == [("a", 0, 1), ("b", pytest.approx(2 / 3), 3)]
    assert [group for group, _ in by_group["difficulty"]] == ["easy", "hard", "odd"]


def measures(**columns):
    return {measure.metric.name: measure for measure in scores.measures(evaluation(outcomes(2, 2), **columns), None)}


def test_tokens_and_times_are_averaged_and_added_up_where_they_are_known():
    measured = measures(**{"tokens/in": [100.0, 300.0, 200.0, 400.0], "tokens/out": [1, 2, 3, NAN]})
    assert (measured["tokens/in"].value, measured["tokens/total_in"].value) == (250, 1000)
    assert not [name for name in measured if name.startswith(("tokens/out", "tokens/total_out", "latency/"))]
    for times, stated in (([20.0, 10, 30, 40], [10, 20, 30, 40]), ([20.0, 10, 30, NAN], [10, 20, 30])):
        measured = measures(time_ms=times)
        values = [measured[f"latency/{name}_ms"].value for name in ("mean", "median", "p95", "total")]
        assert values == pytest.approx([np.mean(stated), np.median(stated), np.quantile(stated, 0.95), sum(stated)])
        sample = measured["latency/mean_ms"].sample
        assert (None if sample is None else [*sample]) == (times if len(stated) == 4 else None)


# Of the small cases, five times, with a question of its own each

CASES = [case | {"question": f"{case['question']} ({case['id']})"} for case in small.cases(copies=5)]
CORRECT = [case["correct_answer"] for case in CASES]
WRONG = ["ABC"["CAB".index(letter)] for letter in CORRECT]
COLUMNS = CaseColumns(case="clinical_case", answer="correct_answer", relevant="relevant_docs", id="id")
CALIBRATED = {"brier", "ece"}


@pytest.fixture(scope="module")
def many(files, tmp_path_factory):
    path = tmp_path_factory.mktemp("many") / "many.json"
    path.write_text(json.dumps(CASES))
    return replace(files, cases=str(path), columns=COLUMNS)


@pytest.fixture
def measured(many):
    def measure(answers, dataset=many, *, evidence="retrieved", **changed):
        answerer = fixed(answers, [case["question"] for case in CASES])
        return small_answers.measured(dataset, answerer, evidence=evidence, evaluation=settings(**changed))

    return measure


def with_confidence(stated):
    return [Answer(letter, 0.9 if row < stated else None) for row, letter in enumerate(CORRECT)]


@pytest.mark.usefixtures("drawing")
def test_calibration_needs_thirty_confidences_and_decides_no_sweep_without_them(measured):
    for stated, have in ((0, "0 of 40 answers have"), (1, "1 of 40 answers has"), (29, "29 of 40 answers have")):
        few = measured(with_confidence(stated))
        assert not few.values.keys() & CALIBRATED
        assert {*few.not_measured} == CALIBRATED
        calibration = few.facts["calibration_metrics"]
        assert calibration["brier_score"] is None
        assert calibration["not_measured"] == f"{have} a confidence, and calibration needs 30"
        assert not any(name.startswith("confidence/") for name in named(few))
    enough = measured(with_confidence(30))
    assert enough.values.keys() >= CALIBRATED
    assert not enough.not_measured
    assert enough.facts["calibration_metrics"]["brier_score"] is not None
    drawn = [{name for name, _ in charts.draw(*measurement.charts[1:])} for measurement in (few, enough)]
    assert drawn[1] - drawn[0] == {"reliability.png"}

    class Measured(Task):
        metrics, loads = (), ()

        def load(self):
            return None

        def measure(self, items):
            return few

    def decided_by(metric):
        return Experiment(OmegaConf.create({"decision": {"metric": metric}}), Measured(), {}).measure()

    assert decided_by("accuracy") is few
    with pytest.raises(ConfigError, match=r"^decision\.metric: brier is not measured: 29 of 40 answers have"):
        decided_by("brier")


def test_a_lost_field_is_said_in_the_run_in_its_table_and_in_its_numbers(measured):
    lost = [("steps", "confidence"), *[("confidence",)] * 9, *[()] * 30]
    partly = measured([Answer(letter, lost=names) for letter, names in zip(CORRECT, lost, strict=True)])
    assert partly.values["accuracy"] == 1
    assert named(partly)["fields/lost_share"] == 10 / 40
    assert partly.facts["overall_metrics"]["lost_fields"] == {"steps": 1, "confidence": 10}
    assert partly.details["lost"][:2] == ["steps; confidence", "confidence"]
    assert "steps in 1 of 40 answers, confidence in 10 of 40 answers" in " ".join(partly.sections["Answers"])
    complete = measured([Answer(letter) for letter in CORRECT])
    assert "lost" not in complete.details
    assert "could not be used" not in " ".join(complete.sections["Answers"])


RULES = "- kind: missed critical diagnosis\n  reason: She bleeds.\n  case: [dengue]\n  unless: [platelets]\n"
SAFETY = ("dangerous_errors", "dangerous_error_rate", "dangerous_error_rate_at_most", "safety_score")


@pytest.mark.usefixtures("drawing")
def test_danger_is_only_looked_for_by_rules_of_the_dataset(measured, tmp_path):
    (tmp_path / "rules.yaml").write_text(RULES)
    wrong = [Answer(letter, reasoning="It says so.") for letter in WRONG]
    of_dataset = measured(wrong, dangerous={"small": str(tmp_path / "rules.yaml")})
    assert of_dataset.facts["safety_metrics"]["dangerous_errors"] > 0
    assert "safety/dangerous" in named(of_dataset)
    for rules in ({"another": str(tmp_path / "rules.yaml")}, {"clinical_cases": "bundled"}, None, {}):
        without = measured(wrong, dangerous=rules)
        assert [without.facts["safety_metrics"][name] for name in SAFETY] == [None] * 4
        assert not {"safety/dangerous", "safety/score"} & named(without).keys()
        assert "dangerous_errors.csv" not in without.tables
        text = " ".join(without.sections["Reasoning and safety"])
        assert "no rules are named for this dataset (evaluation.dangerous)" in text
        assert "at most" not in text.partition("Dangerous errors")[2]
    assert "summary.png" in [name for name, _ in charts.draw(*without.charts[1:])]


def test_what_retrieval_failed_at_is_not_known_where_nothing_is_judged(measured, many, tmp_path):
    wrong = [Answer(letter) for letter in WRONG]
    judged = measured(wrong).facts["error_analysis"]
    assert judged["retrieval_failures"] + judged["reasoning_failures"] == 40
    (tmp_path / "cases.json").write_text(json.dumps([{**case, "relevant_docs": []} for case in CASES]))
    unjudged = replace(many, cases=str(tmp_path / "cases.json"))
    for measurement in (measured(wrong, unjudged), measured(wrong, evidence="none")):
        analysis = measurement.facts["error_analysis"]
        assert (analysis["retrieval_failures"], analysis["reasoning_failures"]) == (None, None)
        assert analysis["by_type"]["retrieval failure"] is None
        assert sum(count or 0 for count in analysis["by_type"].values()) == 40
        columns = {*measurement.tables["errors_by_specialty.csv"]}
        assert not {"retrieval failure", "reasoning failure"} & columns


@pytest.mark.parametrize(("stated", "score"), [(40, 0.01), (0, 1)])
def test_a_round_of_a_race_has_brier_scores_of_few_answers(files, stated, score):
    answering = small_answers.task(files, fixed(with_confidence(stated), [case["question"] for case in CASES]))
    few = answering.measure_some(answering.load(), {case["id"] for case in CASES[:5]})
    assert {score.metric.name: score.value for score in few.scores}["brier"] == pytest.approx(score)
