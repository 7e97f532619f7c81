"""The five pitfalls of a reasoning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.datasets.model.cases import Case, Option
from ragsweep_answers.answering.question import Answer
from ragsweep_answers.measuring.proxies.pitfalls import PITFALLS, pitfalls, reasoning_words

OPTIONS = (Option("A", "rest"), Option("B", "magnesium"))
WEIGHED = "Malaria is less likely."  # keeps the reasoning free of an incomplete differential


def found(case, reasoning):
    row = pitfalls(Case("q1", case, "What next?", OPTIONS, "B"), Answer("A", reasoning=reasoning))
    return [name for name, value in zip(PITFALLS, row, strict=True) if value]


@pytest.mark.parametrize(
    ("case", "reasoning", "expected"),
    [
        ("A girl.", WEIGHED, []),
        ("A girl.", "It is malaria.", ["incomplete differential"]),
        ("A girl.", "This rules out malaria.", []),
        ("A girl.", f"{WEIGHED} The term is unclear to me.", ["terminology misunderstanding"]),
        ("A girl with fever, cough and headache.", WEIGHED, ["missing symptoms"]),
        ("A girl with fever, cough and headache.", f"{WEIGHED} Febrile, coughing.", []),
        ("A girl with fever, cough and headache.", f"{WEIGHED} Fever.", ["missing symptoms", "single-symptom focus"]),
        ("A girl with fever and cough.", f"{WEIGHED} Fever.", ["single-symptom focus"]),  # half is not missing
        ("A girl with fever.", f"{WEIGHED} Fever.", []),
        ("A breathless woman.", f"{WEIGHED} Dyspnea.", []),
        ("A woman with twins and diabetes.", WEIGHED, ["ignored risk factors"]),
        ("A woman with twins and diabetes.", f"{WEIGHED} She is diabetic.", []),
    ],
)
def test_a_pitfall_is_told_by_the_words_of_case_and_reasoning(case, reasoning, expected):
    assert found(case, reasoning) == expected


@given(st.lists(st.sampled_from("fever cough unclear versus twins .".split())), st.sampled_from(["", "Fever."]))
def test_a_pitfall_is_shown_or_not(words, case):
    assert {*pitfalls(Case("q1", case, "What?", OPTIONS, "B"), Answer("A", reasoning=" ".join([*words, "x"])))} <= {
        0,
        1,
    }


@pytest.mark.parametrize("table", ["symptoms", "risk_factors"])
def test_no_phrase_is_in_a_table_twice(table):
    table = getattr(reasoning_words(), table)
    every = [phrase for line in table for phrase in line]
    assert all(phrase.strip() for phrase in every)
    assert len(set(every)) == len(every)
