"""What is claimed of answers, with numbers of scipy, statsmodels or by hand, and how it is said."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from statsmodels.stats.multitest import multipletests

from ragsweep.datasets.model.cases import LETTERS, Case, Option
from ragsweep_answers.answering import Answer
from ragsweep_answers.measuring import scores
from ragsweep_answers.measuring.answer_claims import claims_of
from ragsweep_answers.measuring.answer_evaluation import Evaluation
from ragsweep_answers.measuring.measures.accuracy import counted_otherwise
from ragsweep_answers.measuring.measures.answer_errors import error_categories
from ragsweep_answers.measuring.measures.confidence import confidence_scores, confidence_summary
from ragsweep_answers.measuring.proxies.confusions import CONFUSION_KINDS, Confusions, Pair
from ragsweep_answers.measuring.proxies.pitfalls import PITFALLS
from ragsweep_answers.measuring.proxies.safety import safety_score

NAN = np.nan
CASE = Case("q", "", "Which?", tuple(Option(letter, f"text {letter}") for letter in LETTERS[:4]), "A")


def answers(right, n):
    return np.array([1.0] * right + [0.0] * (n - right))


def table(both, only_first, only_second, neither):
    counts = both, only_first, only_second, neither
    return np.repeat([1.0, 1, 0, 0], counts), np.repeat([1.0, 0, 1, 0], counts)


def evaluation(correct, *, controls=None, confusions=None, is_calibrated=True, **columns):
    """Answers to questions with four options, of which A is correct; wrong answers choose B."""
    n, controls, chance = len(correct), controls or {}, np.full(len(correct), 0.25)
    values = {"chosen": np.where(correct == 1, 0, 1), "expected": np.zeros(n, int)}
    values |= dict.fromkeys(("found", "confidence", "safety/hallucination", "tokens/in", "tokens/out", "time_ms"), NAN)
    values |= dict.fromkeys(("reasoning/coherence", *PITFALLS), NAN)
    values |= {"safety/dangerous": np.zeros(n), "specialty": None, "difficulty": None, "group": ""} | columns
    values |= {f"control/{name}": control for name, control in controls.items()}
    cases = pd.DataFrame({"case": [CASE] * n, "answer": [Answer("A")] * n, "correct": correct, "right": correct})
    cases = cases.assign(chance=chance, **values)
    first, guess = counted_otherwise(*(cases[name].to_numpy() for name in ("expected", "chosen", "chance")))
    known = (cases[name].to_numpy() for name in ("chosen", "found", "safety/hallucination", "confidence"))
    cases["error"] = error_categories(correct, *known, chance=chance, low=0.3)
    cases = cases.assign(**{"no_answer/accuracy_as_first": first, "no_answer/accuracy_as_chance": guess})
    drawn = {"bins": 10, "resamples": 400, "seed": 0}
    summary = confidence_summary(cases["confidence"].to_numpy(), correct, **drawn) if is_calibrated else None
    confusions = confusions or Confusions((), dict.fromkeys(CONFUSION_KINDS, 0))
    safety = safety_score(cases["safety/hallucination"].to_numpy(float), cases["safety/dangerous"].to_numpy(float))
    errors = confidence_scores(cases["confidence"].to_numpy(), correct, **drawn) if is_calibrated else ()
    return Evaluation(cases, "retrieved", tuple(controls), None, confusions, safety, 0.8, {}, {}, summary, errors)


def claims(found):
    """The claims by name; of those of one name the last."""
    numbers = scores.measures(found, None)
    headings = claims_of(found, [scores.accuracy_score(found), *found.calibration], numbers, recorded=False)
    return {claim.name: claim for some in headings.values() for claim in some}


def numbers(found, name):
    return claims(found)[name].numbers


def of_confidence(confidence, correct, **changed):
    return claims(evaluation(np.array(correct, float), confidence=np.array(confidence, float), **changed))


def test_every_sentence_reads_well():
    """The golden file of the sentences."""
    correct, control = table(36, 12, 2, 10)
    counts = dict(zip(CONFUSION_KINDS, (3, 2, 1, 0, 1), strict=True))
    found = evaluation(
        correct,
        controls={"none": np.where(np.arange(60) == 59, NAN, control)},
        chosen=np.where(correct == 1, 0, np.where(np.arange(60) == 58, -1, 1)),
        confidence=np.where(np.arange(60) < 58, np.where(correct == 1, 0.9, 0.8), NAN),
        confusions=Confusions((Pair("anaemia", "malaria", 3, CONFUSION_KINDS[0]),), counts),
        **{"safety/hallucination": np.zeros(60), "reasoning/coherence": np.full(60, 0.75)},
        **{"tokens/in": np.arange(60) * 100.0, "safety/dangerous": np.arange(60) == 50},
        **{name: np.where(correct == 1, NAN, float(name == PITFALLS[1])) for name in PITFALLS},
    )
    assert [claim.sentence for claim in claims(found).values()] == [
        "The answers are better than guessing: .80 [.68, .88], chance .25, p < .001 (60 questions).",
        "1 of 60 questions have no answer that could be read, and count as wrong. The accuracy would be 0.82 if they "
        "counted as the first option, 0.80 if they counted as a guess, and 0.81 without them.",
        "59 questions with a judged page: 0.81 of the answers are correct with the retrieved evidence, 0.64 with no "
        "evidence; the difference is more than chance (+0.17 [+0.05, +0.29], McNemar's exact test: p = 0.013; 12 "
        "correct only with the retrieved evidence, 2 only with no evidence).",
        "Without a confidence: 2 of 60 questions. Each counts as the largest error, 1, in the Brier score 0.15 and the "
        "calibration error 0.25. What follows is of the 58 answers with a confidence.",
        "Mean confidence 0.88, accuracy 0.83; calibration error 0.22 [0.13, 0.29]: the confidence is 0.06 too high on "
        "average.",
        "Brier score 0.12: better than stating the accuracy as every confidence (skill +0.17 [+0.08, +0.19]). Its "
        "parts: reliability 0.119 (0 at best) - resolution 0.143 (the higher, the better) + uncertainty 0.143 (of the "
        "accuracy alone) +0.000 within bins.",
        "Correct answers have a mean confidence of 0.90, wrong ones of 0.80; a correct answer is the more confident "
        "one with a probability of 1.00 [1.00, 1.00] (AUROC, 0.50 by chance). Of the answers that are left when the "
        "least confident ones are withheld, 3% are wrong, averaged over how many are withheld (area under the "
        "risk-coverage curve).",
        "10 wrong answers with high confidence: results/high_confidence_errors.csv lists them with their text.",
        "12 wrong answers: no answer 1, retrieval or reasoning failure 11.",
        "Where no relevant page is judged, it is not known whether the evidence had the answer: such errors are "
        'counted as "retrieval or reasoning failure" unless the answer is a hallucination or of low confidence.',
        "The chosen condition was: similar 3, unrelated 2, in no group 1, not known 1.",
        "Most often confused: anaemia and malaria (3).",
        "Pitfalls in the 12 wrong answers with a reasoning: missing symptoms 12. Pitfalls are read from single words: "
        "the counts show which wording wrong answers share, not what went wrong in them. 'No fever' counts as a "
        "mention of fever.",
        "Mostly unsupported by both the evidence and the case: 0 of 60 reasonings, at most 4.9% with 95 % confidence; "
        "the evidence supports 75% of their sentences. Coherence, evidence used by content, and hallucination compare "
        "words, not meaning: a sentence counts as supported by a text that contains at least half of its content "
        "words, so a paraphrase can be missed, and a wrong number or a missing 'not' goes unnoticed.",
        "Dangerous errors: 1 of 60 answers, at most 7.7% with 95 % confidence. Dangerous errors are found by a table "
        "of phrases: a harmful answer that no rule describes is not counted, and a harmless one that uses the phrases "
        "of a rule is.",
        "Tokens in: 177,000 for all answers, 2,950 on average.",
    ]


# Answers


def test_where_no_answer_could_be_read_nothing_is_compared():
    found = claims(evaluation(answers(0, 40), chosen=np.full(40, -1), controls={"none": answers(0, 40)}))
    assert {"none_read"} <= found.keys()
    assert not {"accuracy", "control"} & found.keys()


def test_the_same_letter_to_every_question_is_said():
    chosen, expected = np.full(12, 1), np.array([1, 0, 2] * 4)
    found = numbers(evaluation(answers(4, 12), chosen=chosen, expected=expected), "same_letter")
    assert found == {"number": 12, "letter": "B"}
    varied = evaluation(answers(4, 12), chosen=np.array([1] * 11 + [2]), expected=expected)
    assert "same_letter" not in claims(varied)


# Other evidence


@pytest.mark.usefixtures("long_work")
def test_the_tests_of_the_controls_are_corrected_for_their_number():
    correct = np.repeat([1.0, 0.0], [30, 20])
    lost = dict(zip(("none", "judged", "placebo"), (9, 8, 3), strict=True))
    controls = {
        name: np.where(np.arange(50) < number, 0.0, np.where(np.arange(50) == 49, 1.0, correct))
        for name, number in lost.items()
    }
    found = evaluation(correct, controls=controls)
    of_controls = claims_of(found, [], scores.measures(found, None), recorded=False)["Answers"][-3:]
    p = [binomtest(1, 1 + number).pvalue for number in lost.values()]
    assert p[1] < 0.05  # without the correction
    assert [claim.numbers["p"] for claim in of_controls] == pytest.approx(multipletests(p, method="holm")[1])


# Confidence


@pytest.mark.parametrize(
    ("confidence", "correct", "tendency"),
    [
        ([0.95] * 40, [1, 0] * 20, "the confidence is 0.45 too high on average"),
        ([0.05] * 40, [1, 0] * 20, "the confidence is 0.45 too low on average"),
        ([0.9] * 40 + [0.1] * 40, [1, 0] * 40, "some confidences are too high and others too low"),
        ([0.9, 0.4, 0.7], [1, 0, 1], "there are too few answers to show a calibration error"),
    ],
)
def test_a_confidence_that_is_off_is_said_by_how_much(confidence, correct, tendency):
    assert of_confidence(confidence, correct)["calibration"].sentence.endswith(f": {tendency}.")


# Errors, reasoning and safety


def test_high_confidence_errors_are_wrong_and_sure_the_most_sure_first():
    correct, confidence = np.array([0.0, 1, 0, 0, 0, 0]), np.array([0.8, 0.99, 0.79, 0.95, NAN, 0.8])
    assert evaluation(correct, confidence=confidence).confident_errors.index.tolist() == [3, 0, 5]
    tied = evaluation(np.zeros(50), confidence=np.tile([0.9, 0.8], 25)).confident_errors
    assert tied.index.tolist() == [*range(0, 50, 2), *range(1, 50, 2)]


def test_the_accuracy_of_a_group_is_that_of_its_questions():
    correct = np.array([1.0, 0.0, 1.0, 0.0, 1.0])
    found = evaluation(correct, specialty=["b", "a", "b", "b", None], difficulty=["hard", "easy", "odd", None, None])
    by_group = {name: [(group, share.value, share.n) for group, share in some] for name, some in found.by_group.items()}
    assert by_group["specialty"] == [("a", 0, 1), ("b", pytest.approx(2 / 3), 3)]
    assert [group for group, *_ in by_group["difficulty"]] == ["easy", "hard", "odd"]


# Time and tokens


def measured(**columns):
    return {measure.metric.name: measure for measure in scores.measures(evaluation(answers(2, 4), **columns), None)}


def test_tokens_are_averaged_and_added_up_where_they_are_known():
    found = measured(**{"tokens/in": [100.0, 300.0, 200.0, 400.0], "tokens/out": [1, 2, 3, NAN]})
    assert (found["tokens/in"].value, found["tokens/total_in"].value) == (250, 1000)
    assert not {"tokens/out", "tokens/total_out"} & found.keys()


@pytest.mark.parametrize(("last", "sample"), [(40.0, [20, 10, 30, 40]), (NAN, None)])
def test_the_mean_time_comes_with_the_times_that_a_test_needs(last, sample):
    found = measured(time_ms=[20.0, 10, 30, last])
    known = [10.0, 20, 30, last][: 4 if sample else 3]
    values = [found[f"latency/{name}_ms"].value for name in ("mean", "median", "p95", "total")]
    assert values == pytest.approx([np.mean(known), np.median(known), np.quantile(known, 0.95), sum(known)])
    assert (None if found["latency/mean_ms"].sample is None else [*found["latency/mean_ms"].sample]) == sample
    assert not [name for name in measured() if name.startswith("latency/")]
