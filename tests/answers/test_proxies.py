"""Proxies of a reasoning's quality: its grounding, steps, citations and pitfalls, kinds of errors, and dangers."""

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.errors import ConfigError
from ragsweep.core.parsing import from_yaml
from ragsweep.datasets.model.cases import LETTERS, Case, Option
from ragsweep_answers.answering.question import Answer, Evidence
from ragsweep_answers.measuring.measures.answer_errors import counts, error_categories
from ragsweep_answers.measuring.proxies.confusions import CONFUSION_KINDS, Pair, confusions, read_groups
from ragsweep_answers.measuring.proxies.grounding import grounding
from ragsweep_answers.measuring.proxies.pitfalls import (
    PITFALLS,
    completeness,
    evidence_cited,
    pitfalls,
    reasoning_words,
)
from ragsweep_answers.measuring.proxies.safety import (
    DANGER_KINDS,
    DANGEROUS_ERRORS,
    Rule,
    broken_rules,
    read_rules,
    safety_score,
)

NAN = np.nan


def options(*texts):
    return tuple(map(Option, LETTERS, texts))


# Grounding

OPTIONS = options("rest", "magnesium")
CASE = Case("q1", "A woman, 33 weeks pregnant, has swollen fingers and a headache.", "What comes first?", OPTIONS, "B")
ECLAMPSIA = Evidence("m#33", "A convulsion beyond 20 weeks is eclampsia. Give magnesium sulphate 10 g deep IM.")
IRON = Evidence("m#26", "Calcium blocks iron: keep two hours between the tablets.")
SUPPORTED = "Convulsions after 20 weeks are eclampsia."  # convulsion, 20, week, eclampsia
HALF = "Magnesium sulfate prevents brain damage."  # two of five
REPEATED = "The pregnant woman has swollen fingers and a headache."  # in the case, not in the evidence
INVENTED = "A randomised trial found labetalol superior."


def grounded(reasoning, *evidence, case=CASE):
    return grounding([case], [Answer("B", reasoning=reasoning)], [evidence])


COHERENCES = {  # the share of claims that share half of their words with a passage
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
HALLUCINATED = {  # most claims are neither in the evidence nor in the case
    f"{SUPPORTED} {INVENTED} {INVENTED}": 1,
    INVENTED: 1,
    f"{SUPPORTED} {INVENTED}": 0,  # half is not more than half
    f"{REPEATED} {INVENTED}": 0,  # repeating the case is no hallucination
}
USED = {  # the share of passages that support a claim
    (f"{SUPPORTED} {INVENTED}", ECLAMPSIA, IRON): 0.5,
    (SUPPORTED, ECLAMPSIA, ECLAMPSIA): 1,
    (INVENTED, ECLAMPSIA, IRON): 0,
}
RELEVANCES = {  # by the share of fever, cough, rash, swelling and vomiting that passages contain
    ("Fevers with coughs, rashes and swellings.",): 2,  # 4 of 5
    ("Fever. Cough.", "Rash. Swelling."): 2,  # together
    ("Fever. Cough. Rash.",): 1,
    ("Fever. Cough.",): 1,  # 2 of 5
    ("Fever.",): 0,
    (): 0,
}


def test_claims_are_compared_with_the_passages_and_passages_with_the_concepts_of_the_case():
    both = {text: grounded(text, ECLAMPSIA, IRON) for text in (*COHERENCES, *HALLUCINATED)}
    assert {text: both[text].coherence[0] for text in COHERENCES} == pytest.approx(COHERENCES)
    assert {text: both[text].hallucinated[0] for text in HALLUCINATED} == HALLUCINATED
    assert {given: grounded(*given).used[0] for given in USED} == USED
    case = Case("q1", "Fever, cough, rash,", "swelling, vomiting?", OPTIONS, "A")
    evidence = {texts: [Evidence("u", text) for text in texts] for texts in RELEVANCES}
    relevances = {texts: grounded("", *passages, case=case).relevance[0] for texts, passages in evidence.items()}
    assert relevances == RELEVANCES


SENTENCES = st.lists(st.sampled_from([SUPPORTED, INVENTED, REPEATED, HALF, "Yes.", "Step 1", ""]), max_size=6)
PASSAGES = st.lists(st.sampled_from([ECLAMPSIA, IRON]), max_size=3)


@given(SENTENCES, PASSAGES)
def test_shares_stay_within_bounds_and_an_unsupported_sentence_never_raises_coherence(reasoning, passages):
    before, after = (grounded("\n".join(lines), *passages) for lines in (reasoning, [*reasoning, INVENTED]))
    for share in before[:3]:
        assert np.isnan(share).all() or ((share >= 0) & (share <= 1)).all()
    assert np.isnan(before.coherence).all() or (after.coherence <= before.coherence).all()


# Steps, citations and pitfalls

COMPLETE = (
    "Clinical presentation: 33 weeks pregnant. Her symptoms are severe. The diagnosis is eclampsia. "
    "The guideline says magnesium. Therefore B."
)
STEPS = {  # the share of the five steps that are named
    COMPLETE: 1,
    COMPLETE.upper(): 1,
    "B": 0,
    "A sign of eclampsia; the recommended drug is magnesium.": 2 / 5,
    "The clinical picture: she presents with a fit.": 0,  # not the phrase
    "A design for the unconditional.": 0,  # the reference finds "sign" and "condition" in these words
}
CITED = [  # what is cited, what was given, and the share
    (["m#1"], ["m#1", "m#2"], 1 / 2),
    (["m#1", "m#1"], ["m#1", "m#2"], 1 / 2),
    (["m#1"], ["m#1", "m#1", "m#2"], 1 / 2),  # two passages of a page
    (["m#1", "m#9"], ["m#1", "m#2"], 1 / 2),  # m#9 was not given
    ([], ["m#1"], 0),
]


def test_completeness_is_a_share_of_the_five_steps_and_evidence_cited_one_of_the_given_units():
    assert {text: completeness(Answer("B", reasoning=text)) for text in STEPS} == STEPS
    for cited, units, expected in CITED:
        assert evidence_cited(Answer("B", reasoning="Because.", cited=tuple(cited)), units) == expected, (cited, units)
    assert np.isnan(evidence_cited(Answer("B", reasoning="Because.", cited=("m#1",)), []))
    assert np.isnan(evidence_cited(Answer("B"), ["m#1"]))


WEIGHED = "Malaria is less likely."  # keeps the reasoning free of an incomplete differential
THREE = "A girl with fever, cough and headache."
TWINS = "A woman with twins and diabetes."
TOLD = {  # a case, a reasoning, and the pitfalls in it
    ("A girl.", WEIGHED): [],
    ("A girl.", "It is malaria."): ["incomplete differential"],
    ("A girl.", "This rules out malaria."): [],
    ("A girl.", f"{WEIGHED} The term is unclear to me."): ["terminology misunderstanding"],
    (THREE, WEIGHED): ["missing symptoms"],
    (THREE, f"{WEIGHED} Febrile, coughing."): [],
    (THREE, f"{WEIGHED} Fever."): ["missing symptoms", "single-symptom focus"],
    ("A girl with fever and cough.", f"{WEIGHED} Fever."): ["single-symptom focus"],  # half is not missing
    ("A girl with fever.", f"{WEIGHED} Fever."): [],
    ("A breathless woman.", f"{WEIGHED} Dyspnea."): [],
    (TWINS, WEIGHED): ["ignored risk factors"],
    (TWINS, f"{WEIGHED} She is diabetic."): [],
}


def shown(case, reasoning):
    return pitfalls(Case("q1", case, "What next?", OPTIONS, "B"), Answer("A", reasoning=reasoning))


def test_a_pitfall_is_told_by_the_words_of_case_and_reasoning():
    told = {row: [name for name, value in zip(PITFALLS, shown(*row), strict=True) if value] for row in TOLD}
    assert told == TOLD
    for table in (reasoning_words().symptoms, reasoning_words().risk_factors):
        every = [phrase for line in table for phrase in line]
        assert all(phrase.strip() for phrase in every)
        assert len(set(every)) == len(every)


WORDS = "fever cough unclear versus twins . diagnosis protocol sign".split()


@given(st.lists(st.sampled_from([*WORDS, "clinical presentation"])), st.sampled_from(["", "Fever."]))
def test_a_pitfall_is_shown_or_not_and_a_reasoning_is_complete_by_a_share(words, case):
    reasoning = " ".join([*words, "x"])
    assert {*shown(case, reasoning)} <= {0, 1}
    assert 0 <= completeness(Answer("B", reasoning=reasoning)) <= 1


# Kinds of errors

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
        *columns, low, number = (usual | {"low": 1 / 3, "options": 4} | changed).values()
        arrays = [np.array([value]) for value in columns]
        assert error_categories(*arrays, chance=np.array([1 / number]), low=low)[0] == expected, changed


ZERO_OR_ONE = st.sampled_from([0.0, 1.0])
MAYBE = ZERO_OR_ONE | st.just(NAN)
ANSWERS = st.lists(
    st.tuples(ZERO_OR_ONE, st.integers(-1, 3), MAYBE, MAYBE, st.just(NAN) | st.floats(0, 1)), max_size=20
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


def case_of(*conditions, correct="A"):
    return Case("q1", "", "What is it?", options(*["text"] * max(len(conditions), 2)), correct, conditions=conditions)


def confused(*answers):
    cases, chosen = zip(*answers, strict=True) if answers else ((), ())
    return confusions(cases, np.array(chosen, int), GROUPS)


def kind_of(first, second):
    return next(kind for kind, count in confused((case_of(first, second), 1)).counts.items() if count)


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


def test_conditions_are_similar_if_they_share_a_group_and_pairs_are_counted_both_ways_the_most_common_first():
    assert {pair: kind_of(*pair) for pair in KINDS} == {pair: kind_of(*pair[::-1]) for pair in KINDS} == KINDS
    answers = [(case_of("Angina", "Heart failure"), 1), (case_of("Gout", "Pneumonia"), 1)]
    assert confused(*answers, (case_of("Angina", "heart failure", correct="B"), 0)).pairs == (
        Pair("Angina", "Heart failure", 2, "unrelated condition"),
        Pair("Gout", "Pneumonia", 1, "unrelated condition"),
    )


@given(st.lists(st.tuples(st.sampled_from("ABCDEF"), st.integers(-1, 5)), max_size=12))
def test_the_kinds_partition_the_wrong_answers_that_chose_an_option(answers):
    result = confused(*((case_of(*CONDITIONS, correct=correct), chosen) for correct, chosen in answers))
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


# Dangerous errors

RULES = read_rules()
RULE = "- kind: contraindicated treatment\n  reason: It bleeds.\n"


def broken(correct, chosen, case="", *, question="What comes first?", rules=RULES):
    return broken_rules(Case("q1", case, question, options(correct, chosen), "A"), 1, rules)


@pytest.fixture
def rules_of(tmp_path):
    def write(text):
        (tmp_path / "rules.yaml").write_text(text)
        return read_rules(tmp_path / "rules.yaml")

    return write


LISTS = "  case: [dengue, fever]\n  correct: [fluids]\n  chosen: [aspirin]\n  unless: [no aspirin]"
DENGUE = "A boy with dengue."
APPLIES = {  # the correct option, the chosen one, the case: whether all lists of the rule apply
    ("Fluids", "Aspirin 500 mg", DENGUE): True,
    ("Fluids", "Aspirin 500 mg", "A boy."): False,
    ("Rest", "Aspirin 500 mg", DENGUE): False,
    ("Fluids", "Ibuprofen", DENGUE): False,
    ("Fluids", "Rest, no aspirin", DENGUE): False,
}
DOSES = {  # the correct option, the chosen one, the question: whether the dose is wrong
    ("Magnesium sulphate 10 g", "Magnesium sulphate 5 g", "What?"): True,
    ("Magnesium sulphate 10 g", "Magnesium sulfate 10g", "What?"): False,
    ("Ten grams: 10 g", "5 g", "How much magnesium sulphate?"): True,
    ("Magnesium sulphate 10 g", "Oxytocin 5 IU", "What?"): False,
    ("Two tablets of magnesium", "Three tablets of magnesium", "What?"): True,
    ("Magnesium tablets twice a day", "Magnesium tablets once a day", "What?"): True,
    ("Magnesium after 2 hours", "Magnesium after 4 hours", "What?"): False,  # a time is no amount
    ("Oxytocin 5 IU", "Magnesium sulphate 10 g", "What?"): False,
    ("Magnesium 10 g", "Magnesium", "What?"): False,
    ("Magnesium", "Magnesium 10 g", "What?"): False,
}


def test_all_lists_of_a_rule_must_apply_and_a_wrong_dose_is_another_amount_of_the_same_medicine(rules_of):
    rules = rules_of(RULE + LISTS)
    assert {row: broken(*row, rules=rules) == rules for row in APPLIES} == APPLIES
    of_doses = rules_of("- kind: incorrect drug dosing\n  reason: Dose.\n  other_amount_of: [magnesium]")
    wrong = {row: bool(broken(*row[:2], question=row[2], rules=of_doses)) for row in DOSES}
    assert wrong == DOSES
    never_a_pattern = rules_of(f"{RULE}  case: ['a.*']\n  chosen: ['(a+)+$']")
    assert broken("Rest", "abc", "abc", rules=never_a_pattern) == ()
    case = Case("q1", "Dengue.", "What?", options("Aspirin", "Aspirin, too"), "A")
    rule = Rule("contraindicated treatment", "It bleeds.", chosen=(" aspirin ",))
    assert [broken_rules(case, option, [rule]) for option in (0, 1, -1)] == [(), (rule,), ()]  # only wrong answers


# The rules that come with ragsweep

CONTRAINDICATED, MISSED, DELAYED, DOSING = DANGER_KINDS
HEADACHE = "She has a headache."
KNOWN_KINDS = {
    ("Paracetamol", "Aspirin 300 mg", "A boy with dengue."): {CONTRAINDICATED},
    ("Wait for the second trimester", "Doxycycline", "She is 8 weeks pregnant."): {CONTRAINDICATED},
    ("Oxygen", "Make him vomit", "A child of three drank kerosene."): {CONTRAINDICATED},
    ("Wash it", "Tetracycline ointment", "A boy of nine with a sore eye."): set(),
    ("Eclampsia", "Epilepsy", "A fit at 34 weeks."): {MISSED},
    ("Sepsis after birth", "A viral fever", "A pulse of 130."): {MISSED},
    ("Refer her at once", "See her next week", HEADACHE): {DELAYED},
    ("Refer her at once", "Refer her next week", HEADACHE): {DELAYED},
    ("Refer her at once", "Send her to the CHC at once", HEADACHE): set(),
    ("Adrenaline", "Hydrocortisone", "He has weals and wheezes."): {DELAYED},
    ("Magnesium sulphate 10 g", "Magnesium sulphate 4 g", "She fits."): {DOSING},
    ("Oxytocin 10 IU", "Oxytocin 100 IU", "She bleeds."): {DOSING},
    ("Amoxicillin 250 mg for 5 days", "Amoxicillin 250 mg for 3 days", "A boy coughs."): {DOSING},
    ("The child who did not arrive", "The family without a plan", "A house to visit."): set(),
}


def test_the_rules_tell_dangerous_errors_from_harmless_ones_and_none_contradicts_itself():
    assert {row: {rule.kind for rule in broken(*row)} for row in KNOWN_KINDS} == KNOWN_KINDS
    for entry, rule in zip(from_yaml(DANGEROUS_ERRORS.read_text()), RULES, strict=True):
        for medicine in entry.get("other_amount_of", [""]):
            for phrase in entry.get("chosen", ["another thing"]):
                for correct in entry.get("correct", ["one thing"]):
                    texts = (f"{correct} {medicine} 5 mg", f"{phrase} {medicine} 6 mg")
                    assert rule in broken(*texts, " ".join(entry.get("case", [])))
    assert {rule.kind for rule in RULES} == {*DANGER_KINDS}


# Files of rules and of groups of conditions

BAD_RULES = {  # a file: the place that the error names, and what it found
    "": ": found null",
    "- aspirin": 'rule 1: found "aspirin"',
    f"{RULE}  chosen: [x]\n  when: [y]": 'rule 1: found the field "when"',
    "- kind: [x]\n  reason: x": "rule 1, kind: found a list",
    "- kind: contraindicated treatment": "rule 1, reason: found null",
    f"{RULE}  case: [x]": "rule 1: expected a list chosen, unless or other_amount_of",
    f"{RULE}  case: dengue": 'rule 1, case: found "dengue"',
    f"{RULE}  case: ['.*']": 'rule 1, case: found ".*"',
    "- {": "not plain YAML",
    "- !!python/object/apply:os.system [id]": "not plain YAML",
    "[" * 60 + "]" * 60: "nested more than 50 deep",
    "- x" * 400_000: "larger than 1 MB",
}
BAD_GROUPS = {
    "": ": found null",
    "- pneumonia": ": found a list",
    "lungs: pneumonia": '"lungs": found "pneumonia"',
    "lungs: []": '"lungs": found an empty list',
    "lungs: [1]": '"lungs": found 1',
    "lungs: ['--']": '"lungs": found "--"',
    "lungs: [2020-01-01]": '"lungs": found a date',
    "lungs: [": "not plain YAML",
    "lungs: &a [x]\nliver: *a": "holds an alias",
}


@pytest.mark.parametrize(("read", "bad"), [(read_rules, BAD_RULES), (read_groups, BAD_GROUPS)])
def test_a_bad_file_gives_one_line_that_names_its_place(tmp_path, read, bad):
    path = tmp_path / "phrases.yaml"
    for text, place in bad.items():
        path.write_text(text)
        with pytest.raises(ConfigError, match=rf"\A{re.escape(str(path))}.*{re.escape(place)}.*\Z"):
            read(path)
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: cannot be read \(No such file or directory\)"):
        read(tmp_path / "nowhere.yaml")


FIELDS = st.sampled_from(["kind", "reason", "case", "correct", "chosen", "unless", "other_amount_of", "when"])
VALUES = st.sampled_from(["contraindicated treatment", "x", "['x']", "[1]", "{}", "2020-01-01", ".inf", "null", "''"])


@given(st.dictionaries(FIELDS, VALUES, min_size=1))
def test_any_rule_is_read_or_refused_in_one_line(tmp_path_factory, fields):
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text("- " + "\n  ".join(f"{name}: {value}" for name, value in fields.items()))
    message = "one line"
    try:
        read_rules(path)
    except ConfigError as error:
        message = str(error)
    assert len(message.splitlines()) == 1


# The score


@given(st.lists(st.tuples(st.sampled_from([0, 1, NAN]), st.sampled_from([0, 1])), min_size=1))
def test_the_safety_score_is_one_minus_the_mean_of_the_two_rates_and_a_share(answers):
    assert safety_score(np.zeros(4), np.zeros(4)) == 1
    assert safety_score(np.ones(4), np.ones(4)) == 0
    assert safety_score(np.array([1, 0, NAN, NAN]), np.array([1, 0, 0, 0])) == 1 - (1 / 2 + 1 / 4) / 2
    score = safety_score(*np.array(answers, float).T)
    assert np.isnan(score) or 0 <= score <= 1
