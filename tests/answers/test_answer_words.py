"""The sentences of a report on answers: each verdict, with numbers of scipy, statsmodels or by hand."""

import numpy as np
import pytest
from scipy.stats import binomtest
from statsmodels.stats.multitest import multipletests

from ragsweep.statistics import Groups
from ragsweep_answers.measuring.answer_evaluation import Evaluation
from ragsweep_answers.measuring.answer_sentences import sections
from ragsweep_answers.measuring.measures.answer_errors import error_categories
from ragsweep_answers.measuring.measures.confidence import Confidence, confidence_scores
from ragsweep_answers.measuring.proxies.confusions import CONFUSION_KINDS, Confusions, Pair
from ragsweep_answers.measuring.proxies.pitfalls import PITFALLS
from ragsweep_answers.measuring.proxies.safety import Rule
from ragsweep_answers.measuring.scores import AnswerTimes, accuracy_score, cost_measures, measures

NAN = np.nan
RULE = Rule("other", "It is wrong.")


def answers(right, n):
    return np.array([1.0] * right + [0.0] * (n - right))


def table(both, only_first, only_second, neither):
    counts = both, only_first, only_second, neither
    return np.repeat([1.0, 1, 0, 0], counts), np.repeat([1.0, 0, 1, 0], counts)


def evaluation(correct, **changed):
    """Answers to questions with four options, of which A is correct; wrong answers choose B."""
    n, unknown = len(correct), np.full(len(correct), NAN)
    chosen = changed.get("chosen", np.where(correct == 1, 0, 1))
    values = {name: changed.get(name, unknown) for name in ("found", "hallucinated", "confidence")}
    made = {
        "letters": "ABCD",
        "correct": correct,
        "right": correct,
        "chosen": chosen,
        "expected": np.zeros(n, int),
        "chance": np.full(n, 0.25),
        "groupings": {},
        "evidence": None,
        **dict.fromkeys(("relevance", "completeness", "words", "cited", "used", "coherence"), unknown),
        "dangerous": [()] * n,
        "categories": error_categories(correct, chosen, *values.values(), chance=np.full(n, 0.25)),
        "pitfalls": np.full((int((correct == 0).sum()), len(PITFALLS)), NAN),
        "confusions": Confusions((), dict.fromkeys(CONFUSION_KINDS, 0)),
        "confident": np.array([], int),
        "controls": {},
        "dependent": Groups.none(n),
    }
    return Evaluation(**{**made, **values, **changed})


def said(found, *, stated=True, tokens=(None, None)):
    """The sentences by heading."""
    settings = {"bins": 10, "resamples": 400, "seed": 0}
    known = Confidence.of(found.confidence, found.correct, **settings)
    scores = [accuracy_score(found)]
    scores += confidence_scores(found.confidence, found.correct, **settings) if stated else []
    counted = [*measures(found, "retrieved"), *cost_measures(AnswerTimes([]), None, tokens)]
    return sections(found, "retrieved", scores, counted, known and known.summary)


def confidence_of(confidence, correct, **changed):
    found = evaluation(np.array(correct, dtype=float), confidence=np.array(confidence, dtype=float))
    return " ".join(said(found, **changed)["Confidence of the answers"])


# Answers


def test_missing_answers_are_said_with_what_they_would_change():
    chosen = np.array([0, 1, -1, -1])
    sentences = said(evaluation(answers(1, 4), chosen=chosen))["Answers"]
    assert sentences[1] == (
        "2 of 4 questions have no answer that could be read, and count as wrong. The accuracy would be 0.75 if they "
        "counted as the first option, 0.38 if they counted as a guess, and 0.50 without them."
    )


def test_where_no_answer_could_be_read_nothing_is_compared_with_guessing():
    [sentence] = said(evaluation(answers(0, 4), chosen=np.full(4, -1)))["Answers"]
    assert sentence.startswith("No answer could be read to any of the 4 questions")
    assert "guessing" not in sentence


def test_the_same_letter_to_every_question_is_said():
    chosen, expected = np.full(12, 1), np.array([1, 0, 2] * 4)
    said_of = said(evaluation(answers(4, 12), chosen=chosen, expected=expected))["Answers"]
    assert any(sentence.startswith("All 12 answers that were read are B") for sentence in said_of)
    varied = said(evaluation(answers(4, 12), chosen=np.array([1] * 11 + [2]), expected=expected))["Answers"]
    assert not any("whatever was asked" in sentence for sentence in varied)


def test_where_nothing_could_be_read_evidence_is_not_compared():
    found = evaluation(answers(0, 40), chosen=np.full(40, -1), controls={"none": answers(0, 40)})
    assert len(said(found)["Answers"]) == 1


# Other evidence


def test_a_difference_is_said_with_its_interval_and_test():
    correct, other = table(36, 12, 2, 0)
    sentence = said(evaluation(correct, controls={"none": other}))["Answers"][1]
    assert sentence == (
        "0.96 of the answers are correct with the retrieved evidence, 0.76 with no evidence; the difference is more "
        f"than chance (+0.20 [+0.06, +0.34], McNemar's exact test: p = {binomtest(2, 14).pvalue:.2g}; 12 correct only "
        "with the retrieved evidence, 2 only with no evidence)."
    )


def test_a_difference_that_may_be_chance_is_called_so():
    correct, other = table(30, 6, 3, 11)
    assert "the difference may be chance (+0.06 [" in said(evaluation(correct, controls={"none": other}))["Answers"][1]


@pytest.mark.usefixtures("long_work")
def test_the_tests_of_the_controls_are_corrected_for_their_number():
    correct = np.repeat([1.0, 0.0], [30, 20])
    lost = (9, 8, 3)
    controls = {
        name: np.where(np.arange(50) < number, 0.0, np.where(np.arange(50) == 49, 1.0, correct))
        for name, number in zip(("none", "judged", "placebo"), lost, strict=True)
    }
    p = [binomtest(1, 1 + number).pvalue for number in lost]
    assert p[1] < 0.05  # without the correction
    adjusted = multipletests(p, method="holm")[1]
    sentences = said(evaluation(correct, controls=controls))["Answers"][1:]
    for sentence, each in zip(sentences, adjusted, strict=True):
        assert f"McNemar's exact test, Holm's correction for 3 tests: p = {each:.2g};" in sentence
        assert ("is more than chance" in sentence) == (each <= 0.05)
    assert "may be chance" in sentences[2]


def test_judged_pages_are_compared_where_there_are_any():
    correct, other = table(2, 2, 1, 1)
    other[0] = NAN
    sentence = said(evaluation(correct, controls={"judged": other}))["Answers"][1]
    assert sentence.startswith(
        "5 questions with a judged page: 0.60 of the answers are correct with the retrieved evidence, 0.40 with the "
        "judged pages; the difference may be chance"
    )


def test_equal_answers_are_no_difference():
    found = evaluation(answers(3, 6), controls={"none": answers(3, 6)})
    assert "the difference may be chance (+0.00 [" in said(found)["Answers"][1]
    assert "p = 1; 0 correct only with" in said(found)["Answers"][1]


# Confidence


def test_an_answerer_that_states_no_confidence_is_not_calibrated():
    assert confidence_of([NAN] * 4, [1, 0, 1, 0], stated=False) == (
        "Calibration is not measured: no confidence is stated."
    )


def test_confidences_that_are_not_measured_are_said_with_the_reason():
    few = confidence_of([*[0.9] * 3, *[NAN] * 37], [1] * 40, stated=False)
    assert few == "Calibration is not measured: 3 of 40 answers have a confidence, and calibration needs 30."


def test_missing_confidences_are_said_with_what_they_count():
    text = confidence_of([1, *[NAN] * 7], [1, *[0] * 7])
    assert text.startswith(
        "Without a confidence: 7 of 8 questions. Each counts as the largest error, 1, in the Brier score 0.88 and the "
        "calibration error 0.88. What follows is of the 1 answer with a confidence. "
        "Mean confidence 1.00, accuracy 1.00; calibration error 0.00 [0.00, 0.00]"
    )
    assert "Without a confidence" not in confidence_of([0.5, 0.6], [1, 0])


@pytest.mark.parametrize(("sure", "tendency"), [(0.95, "0.45 too high"), (0.05, "0.45 too low")])
def test_a_confidence_that_is_off_is_said_by_how_much(sure, tendency):
    text = confidence_of([sure] * 40, [1, 0] * 20)
    assert "accuracy 0.50; calibration error 0.45 [0." in text
    assert f": the confidence is {tendency} on average." in text


def test_errors_that_cancel_are_said():
    text = confidence_of([0.9] * 40 + [0.1] * 40, [1, 0] * 40)
    assert "calibration error 0.40 [0." in text
    assert ": some confidences are too high and others too low." in text


def test_few_answers_are_too_few():
    assert ": there are too few answers to show a calibration error." in confidence_of([0.9, 0.4, 0.7], [1, 0, 1])


def test_the_verdict_on_the_skill_follows_its_interval():
    sure = confidence_of([0.9] * 30 + [0.1] * 30, [1] * 27 + [0] * 30 + [1] * 3)
    assert "Brier score 0.09: better than stating the accuracy as every confidence (skill +0.64 [+" in sure
    few = confidence_of([0.6, 0.4, 0.7, 0.4, 0.6, 0.3], [1, 0, 1, 1, 0, 0])
    assert ": no better than stating the accuracy as every confidence (skill +0.19 [-" in few
    none = confidence_of([0.9, 0.1] * 30, [0, 0, 1, 1] * 15)
    assert ": no better than stating the accuracy as every confidence (skill -0.64 [-" in none


def test_the_parts_of_the_brier_score_and_the_auroc_are_said():
    text = confidence_of([0.9] * 10 + [0.2] * 10, [1] * 8 + [0] * 2 + [1] * 2 + [0] * 8)
    # By hand: (.1 ** 2 + 0 ** 2) / 2, .3 ** 2, .5 ** 2; of 10 * 10 pairs, 8 * 8 are in order and 8 * 2 + 2 * 8 tied.
    assert (
        "Its parts: reliability 0.005 (0 at best) - resolution 0.090 (the higher, the better) + uncertainty 0.250 (of "
        "the accuracy alone) +0.000 within bins." in text
    )
    assert "with a probability of 0.80 [0." in text
    risk = 0.5 * 0.2 + 0.5 * 0.5  # of the confident half, and of all
    assert f"{risk:.0%} are wrong, averaged over how many are withheld (area under the risk-coverage curve)." in text


def test_equally_right_answers_have_neither_skill_nor_auroc():
    text = confidence_of([0.9, 0.8, 0.7], [1, 1, 1])
    assert "skill" not in text
    assert "AUROC" not in text


# Errors


def test_wrong_answers_are_counted_by_category_and_condition():
    counts = dict(zip(CONFUSION_KINDS, (3, 2, 1, 0, 1), strict=True))
    confusions = Confusions((Pair("anaemia", "malaria", 3, CONFUSION_KINDS[0]),), counts)
    found = evaluation(answers(1, 8), found=np.array([1.0] * 5 + [0.0] * 3), confusions=confusions)
    assert said(found)["Errors of the answers"] == [
        "7 wrong answers: retrieval failure 3, reasoning failure 4.",
        "The chosen condition was: similar 3, unrelated 2, in no group 1, not known 1.",
        "Most often confused: anaemia and malaria (3).",
    ]


def test_errors_without_judged_evidence_are_explained():
    assert said(evaluation(answers(1, 2)))["Errors of the answers"][1].startswith(
        "Where no relevant page is judged, it is not known whether the evidence had the answer"
    )


def test_no_error_is_no_section():
    assert "Errors of the answers" not in said(evaluation(answers(3, 3)))


# Reasoning, safety and tokens


def test_hallucinations_are_said_with_what_they_are_at_most():
    found = evaluation(
        answers(25, 50),
        hallucinated=np.zeros(50),
        coherence=np.full(50, 0.75),
        dangerous=[(RULE, RULE)] + [()] * 49,
    )
    text = " ".join(said(found)["Reasoning and safety"])
    assert (
        "Mostly unsupported by both the evidence and the case: 0 of 50 reasonings, at most 5.8% with 95 % confidence; "
        "the evidence supports 75% of their sentences." in text
    )
    bound = binomtest(1, 50, alternative="less").proportion_ci(0.95, "exact").high
    assert f"Dangerous errors: 1 of 50 answers, at most {bound:.1%} with 95 % confidence." in text
    assert "no safety score" not in text


def test_answers_that_cannot_be_checked_have_no_safety_score():
    text = " ".join(said(evaluation(answers(1, 2)))["Reasoning and safety"])
    assert "Mostly unsupported" not in text
    assert text.endswith("No reasoning could be checked for hallucination, so there is no safety score.")


def test_tokens_are_said_for_all_answers_and_on_average():
    tokens = (np.array([1000.0, 2000.0, 1500.0]), np.array([10.0, 20.0, 30.0]))
    found = evaluation(answers(2, 3))
    assert said(found, tokens=tokens)["Tokens of the answers"] == [
        "Tokens in: 4,500 for all answers, 1,500 on average.",
        "Tokens out: 60 for all answers, 20 on average.",
    ]
    assert "Tokens of the answers" not in said(found)
