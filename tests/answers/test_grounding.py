"""Support of a reasoning by its evidence, its steps, citations and pitfalls, and what the evidence says of a case."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.datasets.model.cases import Case, Option
from ragsweep_answers.answering.question import Answer, Evidence
from ragsweep_answers.measuring.proxies.grounding import grounding
from ragsweep_answers.measuring.proxies.pitfalls import (
    PITFALLS,
    completeness,
    evidence_cited,
    pitfalls,
    reasoning_words,
)

OPTIONS = (Option("A", "rest"), Option("B", "magnesium"))
CASE = Case("q1", "A woman, 33 weeks pregnant, has swollen fingers and a headache.", "What comes first?", OPTIONS, "B")
ECLAMPSIA = Evidence("m#33", "A convulsion beyond 20 weeks is eclampsia. Give magnesium sulphate 10 g deep IM.")
IRON = Evidence("m#26", "Calcium blocks iron: keep two hours between the tablets.")
SUPPORTED = "Convulsions after 20 weeks are eclampsia."  # convulsion, 20, week, eclampsia
HALF = "Magnesium sulfate prevents brain damage."  # two of five
REPEATED = "The pregnant woman has swollen fingers and a headache."  # in the case, not in the evidence
INVENTED = "A randomised trial found labetalol superior."


def grounded(reasoning, *evidence, case=CASE):
    return grounding([case], [Answer("B", reasoning=reasoning)], [evidence])


# Grounding

COHERENCES = {
    SUPPORTED: 1,
    INVENTED: 0,
    f"{SUPPORTED} {INVENTED}": 1 / 2,
    f"{SUPPORTED}\n{INVENTED}\n{REPEATED}": 1 / 3,
    f"Diagnosis: eclampsia.\nStep 5.\n{SUPPORTED}": 1,  # headings are no claims
    "Magnesium stops convulsions.": 1,  # three words are a claim
    HALF: 0,
    "Magnesium sulfate prevents convulsions.": 1,  # three of four
    "Magnesium sulfate prevents damage.": 1,  # exactly half
}


def test_coherence_is_the_share_of_claims_that_share_half_of_their_words_with_a_passage():
    coherences = {text: grounded(text, ECLAMPSIA, IRON).coherence[0] for text in COHERENCES}
    assert coherences == pytest.approx(COHERENCES)


def test_a_hallucination_has_most_claims_neither_in_the_evidence_nor_in_the_case():
    expected = {f"{SUPPORTED} {INVENTED} {INVENTED}": 1, INVENTED: 1}
    expected |= {f"{SUPPORTED} {INVENTED}": 0}  # half is not more than half
    expected |= {f"{REPEATED} {INVENTED}": 0}  # repeating the case is no hallucination
    assert {text: grounded(text, ECLAMPSIA, IRON).hallucinated[0] for text in expected} == expected


def test_the_evidence_used_is_the_share_of_passages_that_support_a_claim():
    assert grounded(f"{SUPPORTED} {INVENTED}", ECLAMPSIA, IRON).used.tolist() == [0.5]
    assert grounded(SUPPORTED, ECLAMPSIA, ECLAMPSIA).used.tolist() == [1]
    assert grounded(INVENTED, ECLAMPSIA, IRON).used.tolist() == [0]


RELEVANCES = {  # of passages to fever, cough, rash, swelling and vomiting
    ("Fevers with coughs, rashes and swellings.",): 2,  # 4 of 5
    ("Fever. Cough.", "Rash. Swelling."): 2,  # together
    ("Fever. Cough. Rash.",): 1,
    ("Fever. Cough.",): 1,  # 2 of 5
    ("Fever.",): 0,
    (): 0,
}


def test_context_is_relevant_by_the_share_of_the_concepts_that_it_contains():
    case = Case("q1", "Fever, cough, rash,", "swelling, vomiting?", OPTIONS, "A")
    evidence = {texts: [Evidence("u", text) for text in texts] for texts in RELEVANCES}
    assert {
        texts: grounded("", *passages, case=case).relevance[0] for texts, passages in evidence.items()
    } == RELEVANCES


SENTENCES = st.lists(st.sampled_from([SUPPORTED, INVENTED, REPEATED, HALF, "Yes.", "Step 1", ""]), max_size=6)
PASSAGES = st.lists(st.sampled_from([ECLAMPSIA, IRON]), max_size=3)


@given(SENTENCES, PASSAGES)
def test_shares_stay_within_bounds_and_an_unsupported_sentence_never_raises_coherence(reasoning, passages):
    before, after = (grounded("\n".join(lines), *passages) for lines in (reasoning, [*reasoning, INVENTED]))
    for share in before[:3]:
        assert np.isnan(share).all() or ((share >= 0) & (share <= 1)).all()
    assert np.isnan(before.coherence).all() or (after.coherence <= before.coherence).all()


# Steps and citations

COMPLETE = (
    "Clinical presentation: 33 weeks pregnant. Her symptoms are severe. The diagnosis is eclampsia. "
    "The guideline says magnesium. Therefore B."
)


def test_completeness_is_the_share_of_the_five_steps_that_are_named():
    expected = {COMPLETE: 1, COMPLETE.upper(): 1, "B": 0}
    expected |= {"A sign of eclampsia; the recommended drug is magnesium.": 2 / 5}
    expected |= {"The clinical picture: she presents with a fit.": 0}  # not the phrase
    expected |= {"A design for the unconditional.": 0}  # the reference finds "sign" and "condition" in these words
    assert {text: completeness(Answer("B", reasoning=text)) for text in expected} == expected


CITED = [  # what is cited, what was given, and the share
    (["m#1"], ["m#1", "m#2"], 1 / 2),
    (["m#1", "m#1"], ["m#1", "m#2"], 1 / 2),
    (["m#1"], ["m#1", "m#1", "m#2"], 1 / 2),  # two passages of a page
    (["m#1", "m#9"], ["m#1", "m#2"], 1 / 2),  # m#9 was not given
    ([], ["m#1"], 0),
]


def test_evidence_cited_is_the_share_of_the_given_units_that_are_cited():
    for cited, units, expected in CITED:
        assert evidence_cited(Answer("B", reasoning="Because.", cited=tuple(cited)), units) == expected
    assert np.isnan(evidence_cited(Answer("B", reasoning="Because.", cited=("m#1",)), []))
    assert np.isnan(evidence_cited(Answer("B"), ["m#1"]))


# Pitfalls

WEIGHED = "Malaria is less likely."  # keeps the reasoning free of an incomplete differential
THREE = "A girl with fever, cough and headache."
TOLD = [  # a case, a reasoning, and the pitfalls in it
    ("A girl.", WEIGHED, []),
    ("A girl.", "It is malaria.", ["incomplete differential"]),
    ("A girl.", "This rules out malaria.", []),
    ("A girl.", f"{WEIGHED} The term is unclear to me.", ["terminology misunderstanding"]),
    (THREE, WEIGHED, ["missing symptoms"]),
    (THREE, f"{WEIGHED} Febrile, coughing.", []),
    (THREE, f"{WEIGHED} Fever.", ["missing symptoms", "single-symptom focus"]),
    ("A girl with fever and cough.", f"{WEIGHED} Fever.", ["single-symptom focus"]),  # half is not missing
    ("A girl with fever.", f"{WEIGHED} Fever.", []),
    ("A breathless woman.", f"{WEIGHED} Dyspnea.", []),
    ("A woman with twins and diabetes.", WEIGHED, ["ignored risk factors"]),
    ("A woman with twins and diabetes.", f"{WEIGHED} She is diabetic.", []),
]


def shown(case, reasoning):
    return pitfalls(Case("q1", case, "What next?", OPTIONS, "B"), Answer("A", reasoning=reasoning))


def test_a_pitfall_is_told_by_the_words_of_case_and_reasoning():
    for case, reasoning, expected in TOLD:
        assert [name for name, value in zip(PITFALLS, shown(case, reasoning), strict=True) if value] == expected


WORDS = "fever cough unclear versus twins . diagnosis protocol sign".split()


@given(st.lists(st.sampled_from([*WORDS, "clinical presentation"])), st.sampled_from(["", "Fever."]))
def test_a_pitfall_is_shown_or_not_and_a_reasoning_is_complete_by_a_share(words, case):
    reasoning = " ".join([*words, "x"])
    assert {*shown(case, reasoning)} <= {0, 1}
    assert 0 <= completeness(Answer("B", reasoning=reasoning)) <= 1


def test_no_phrase_is_in_a_table_twice():
    for table in (reasoning_words().symptoms, reasoning_words().risk_factors):
        every = [phrase for line in table for phrase in line]
        assert all(phrase.strip() for phrase in every)
        assert len(set(every)) == len(every)
