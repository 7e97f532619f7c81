"""Support of a reasoning by its evidence, and of the question by the evidence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.datasets.model.cases import Case, Option
from ragsweep_answers.answering.question import Answer, Evidence
from ragsweep_answers.measuring.proxies.grounding import grounding

CASE = Case(
    "q1",
    "A woman, 33 weeks pregnant, has swollen fingers and a headache.",
    "What comes first?",
    (Option("A", "rest"), Option("B", "magnesium")),
    "B",
)
ECLAMPSIA = Evidence("m#33", "A convulsion beyond 20 weeks is eclampsia. Give magnesium sulphate 10 g deep IM.")
IRON = Evidence("m#26", "Calcium blocks iron: keep two hours between the tablets.")
SUPPORTED = "Convulsions after 20 weeks are eclampsia."  # convulsion, 20, week, eclampsia
HALF = "Magnesium sulfate prevents brain damage."  # two of five
REPEATED = "The pregnant woman has swollen fingers and a headache."  # in the case, not in the evidence
INVENTED = "A randomised trial found labetalol superior."


def grounded(reasoning, *evidence, case=CASE):
    return grounding([case], [Answer("B", reasoning=reasoning)], [evidence])


@pytest.mark.parametrize(
    ("reasoning", "expected"),
    [
        (SUPPORTED, 1),
        (INVENTED, 0),
        (f"{SUPPORTED} {INVENTED}", 1 / 2),
        (f"{SUPPORTED}\n{INVENTED}\n{REPEATED}", 1 / 3),
        ("Diagnosis: eclampsia.\nStep 5.\n" + SUPPORTED, 1),  # headings are no claims
        ("Magnesium stops convulsions.", 1),  # three words are a claim
        (HALF, 0),
        ("Magnesium sulfate prevents convulsions.", 1),  # three of four
        ("Magnesium sulfate prevents damage.", 1),  # exactly half
    ],
)
def test_coherence_is_the_share_of_claims_that_share_half_of_their_words_with_a_passage(reasoning, expected):
    assert grounded(reasoning, ECLAMPSIA, IRON).coherence.tolist() == pytest.approx([expected])


@pytest.mark.parametrize(
    ("reasoning", "expected"),
    [
        (f"{SUPPORTED} {INVENTED} {INVENTED}", 1),
        (f"{SUPPORTED} {INVENTED}", 0),  # half is not more than half
        (f"{REPEATED} {INVENTED}", 0),  # repeating the case is no hallucination
        (INVENTED, 1),
    ],
)
def test_a_hallucination_has_most_claims_neither_in_the_evidence_nor_in_the_case(reasoning, expected):
    assert grounded(reasoning, ECLAMPSIA, IRON).hallucinated.tolist() == [expected]


def test_the_evidence_used_is_the_share_of_passages_that_support_a_claim():
    assert grounded(f"{SUPPORTED} {INVENTED}", ECLAMPSIA, IRON).used.tolist() == [0.5]
    assert grounded(SUPPORTED, ECLAMPSIA, ECLAMPSIA).used.tolist() == [1]
    assert grounded(INVENTED, ECLAMPSIA, IRON).used.tolist() == [0]


FIVE = Case("q1", "Fever, cough, rash,", "swelling, vomiting?", CASE.options, "A")


@pytest.mark.parametrize(
    ("passages", "expected"),
    [
        (["Fevers with coughs, rashes and swellings."], 2),  # 4 of 5
        (["Fever. Cough.", "Rash. Swelling."], 2),  # together
        (["Fever. Cough. Rash."], 1),
        (["Fever. Cough."], 1),  # 2 of 5
        (["Fever."], 0),
        ([], 0),
    ],
)
def test_context_is_relevant_by_the_share_of_the_concepts_that_it_contains(passages, expected):
    evidence = [Evidence("u", text) for text in passages]
    assert grounded("", *evidence, case=FIVE).relevance.tolist() == [expected]


SENTENCES = st.lists(st.sampled_from([SUPPORTED, INVENTED, REPEATED, HALF, "Yes.", "Step 1", ""]), max_size=6)
PASSAGES = st.lists(st.sampled_from([ECLAMPSIA, IRON]), max_size=3)


@given(SENTENCES, PASSAGES)
def test_shares_stay_within_bounds(reasoning, passages):
    found = grounded("\n".join(reasoning), *passages)
    for share in found[:3]:
        assert np.isnan(share).all() or ((share >= 0) & (share <= 1)).all()


@given(SENTENCES, PASSAGES)
def test_an_unsupported_sentence_never_raises_coherence(reasoning, passages):
    before = grounded("\n".join(reasoning), *passages).coherence
    after = grounded("\n".join([*reasoning, INVENTED]), *passages).coherence
    assert np.isnan(before).all() or (after <= before).all()
