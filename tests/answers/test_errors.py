"""Kinds of wrong answers, and conditions that are taken for each other."""

import re
from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.datasets.model.cases import LETTERS, Case, Option
from ragsweep_answers.measuring.measures.answer_errors import counts, error_categories
from ragsweep_answers.measuring.proxies.confusions import CONFUSION_KINDS, Pair, confusions, read_groups

NAN = np.nan
OUTCOMES = [  # what differs from a wrong and sure answer to four options whose evidence was right, and its kind
    ({"correct": 1.0}, ""),
    ({"correct": 1.0, "has_relevant": 0.0, "confidence": 0.1}, ""),
    ({"chosen": -1, "has_relevant": 0.0, "confidence": NAN}, "no answer"),
    ({"has_relevant": 0.0, "hallucinated": 1.0, "confidence": 0.1}, "retrieval failure"),
    ({"hallucinated": 1.0, "confidence": 0.1}, "hallucination"),
    ({"confidence": 0.49}, "low confidence"),
    ({"confidence": 0.5}, "reasoning failure"),
    ({"confidence": 0.5, "low": 0.4}, "low confidence"),
    ({"confidence": 0.55, "options": 2}, "low confidence"),  # hardly more than a guess
    ({"confidence": 0.42, "options": 10}, "reasoning failure"),  # far more than a guess
    ({"hallucinated": NAN, "confidence": NAN}, "reasoning failure"),
    ({"has_relevant": NAN}, "retrieval or reasoning failure"),
    ({"has_relevant": NAN, "hallucinated": 1.0}, "hallucination"),
    ({"has_relevant": NAN, "confidence": 0.2}, "low confidence"),
]


def test_the_first_category_that_applies_is_the_category():
    usual = {"correct": 0.0, "chosen": 1, "has_relevant": 1.0, "hallucinated": 0.0, "confidence": 0.9}
    for changed, expected in OUTCOMES:
        *columns, low, options = (usual | {"low": 1 / 3, "options": 4} | changed).values()
        arrays = [np.array([value]) for value in columns]
        assert error_categories(*arrays, chance=np.array([1 / options]), low=low)[0] == expected, changed


ZERO_OR_ONE = st.sampled_from([0.0, 1.0])
ANSWERS = st.lists(
    st.tuples(
        *(ZERO_OR_ONE, st.integers(-1, 3), ZERO_OR_ONE | st.just(NAN), ZERO_OR_ONE | st.just(NAN)),
        st.just(NAN) | st.floats(0, 1),
    ),
    max_size=20,
)


@given(ANSWERS)
def test_categories_partition_the_wrong_answers(answers):
    columns = [np.array(column) for column in zip(*answers, strict=True)] if answers else [np.array([])] * 5
    categories = error_categories(*columns, chance=np.full(len(answers), 0.25), low=0.3)
    assert sum(counts(categories).values()) == int((columns[0] == 0).sum())
    assert Counter(categories.tolist()) - Counter({"": len(answers)}) == Counter(counts(categories))


# Confused conditions

GROUPS = read_groups()
CONDITIONS = ("Pneumonia", "acute bronchitis", "Heart failure", "Angina", "broken arm", None)


def case(*conditions, correct="A"):
    options = tuple(Option(letter, "text") for letter in LETTERS[: max(len(conditions), 2)])
    return Case("q1", "", "What is it?", options, correct, conditions=conditions)


def confused(*answers):
    cases, chosen = zip(*answers, strict=True) if answers else ((), ())
    return confusions(cases, np.array(chosen, int), GROUPS)


def kind_of(first, second):
    return next(kind for kind, count in confused((case(first, second), 1)).counts.items() if count)


KINDS = {
    ("Pneumonia", "Acute bronchitis"): "similar condition",
    ("MI", "unstable angina"): "similar condition",
    ("DVT", "Pulmonary embolism"): "similar condition",
    ("Pneumonia", "Heart failure"): "unrelated condition",
    ("Pneumonia", "broken arm"): "condition in no group",
    ("Pneumonia", "PNEUMONIAS"): "same condition",
    ("Pneumonia", None): "condition not known",
    ("Pneumonia", "--"): "condition not known",
}


def test_conditions_are_similar_if_they_share_a_group():
    assert {pair: kind_of(*pair) for pair in KINDS} == {pair: kind_of(*pair[::-1]) for pair in KINDS} == KINDS


def test_pairs_are_counted_both_ways_the_most_common_first():
    answers = [(case("Angina", "Heart failure"), 1), (case("Gout", "Pneumonia"), 1)]
    assert confused(*answers, (case("Angina", "heart failure", correct="B"), 0)).pairs == (
        Pair("Angina", "Heart failure", 2, "unrelated condition"),
        Pair("Gout", "Pneumonia", 1, "unrelated condition"),
    )


@given(st.lists(st.tuples(st.sampled_from("ABCDEF"), st.integers(-1, 5)), max_size=12))
def test_the_kinds_partition_the_wrong_answers_that_chose_an_option(answers):
    result = confused(*((case(*CONDITIONS, correct=correct), chosen) for correct, chosen in answers))
    wrong = sum(chosen >= 0 and LETTERS[chosen] != correct for correct, chosen in answers)
    assert sum(result.counts.values()) == wrong
    assert tuple(result.counts) == CONFUSION_KINDS
    assert sum(pair.times for pair in result.pairs) == sum(result.counts[kind] for kind in CONFUSION_KINDS[:3])


# As the evaluation framework lists them
SIXTEEN = """
    Pneumonia, Bronchitis, URI | Asthma, COPD | ACS, Angina, MI | Heart Failure, Cardiogenic shock
    Atrial Fibrillation, VT, SVT | Ischemic stroke, Hemorrhagic stroke, TIA | DVT, Pulmonary Embolism
    Sepsis, Bacteremia | UTI, Pyelonephritis | Upper GI bleed, Lower GI bleed | Pancreatitis, Gastritis
    AKI, CKD, Nephritis | Type 1 DM, Type 2 DM, DKA | Cirrhosis, Hepatitis, Liver failure | RA, SLE, Gout
    Hypertension, Hypertensive emergency
"""


def test_the_sixteen_groups_of_the_reference_are_kept_apart():
    groups = [[name.strip() for name in group.split(",")] for group in re.split(r"[|\n]", SIXTEEN.strip())]
    assert len(groups) == 16
    for number, group in enumerate(groups):
        foreign = [name for other in groups[:number] + groups[number + 1 :] for name in other]
        assert {kind_of(group[0], name) for name in group[1:]} == {"similar condition"}
        assert {kind_of(name, other) for name in group for other in foreign} == {"unrelated condition"}
