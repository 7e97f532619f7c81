"""Dangerous errors, the safety score, and the files of phrases that users write."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.errors import ConfigError
from ragsweep.core.parsing import from_yaml
from ragsweep.datasets.model.cases import Case, Option
from ragsweep_answers.measuring.proxies.confusions import read_groups
from ragsweep_answers.measuring.proxies.safety import (
    DANGER_KINDS,
    DANGEROUS_ERRORS,
    Rule,
    broken_rules,
    read_rules,
    safety_score,
)

NAN = np.nan
RULES = read_rules()
RULE = "- kind: contraindicated treatment\n  reason: It bleeds.\n"


def broken(correct, chosen, *, case="", question="What comes first?", rules=RULES):
    return broken_rules(Case("q1", case, question, (Option("A", correct), Option("B", chosen)), "A"), 1, rules)


@pytest.fixture
def rules_of(tmp_path):
    def write(text):
        path = tmp_path / "rules.yaml"
        path.write_text(text)
        return read_rules(path)

    return write


# Each list of a rule


def test_all_lists_of_a_rule_must_apply(rules_of):
    rules = rules_of(RULE + "  case: [dengue, fever]\n  correct: [fluids]\n  chosen: [aspirin]\n  unless: [no aspirin]")
    expected = {("Fluids", "Aspirin 500 mg", "A boy with dengue."): True, ("Fluids", "Aspirin 500 mg", "A boy."): False}
    expected |= {(correct, chosen, "A boy with dengue."): False for correct, chosen in (
        ("Rest", "Aspirin 500 mg"), ("Fluids", "Ibuprofen"), ("Fluids", "Rest, no aspirin"))}  # fmt: skip
    assert {row: broken(*row[:2], case=row[2], rules=rules) == rules for row in expected} == expected


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


def test_a_wrong_dose_is_another_amount_of_the_same_medicine(rules_of):
    rules = rules_of("- kind: incorrect drug dosing\n  reason: Dose.\n  other_amount_of: [magnesium]")
    assert {row: bool(broken(*row[:2], question=row[2], rules=rules)) for row in DOSES} == DOSES


def test_only_wrong_answers_can_be_dangerous():
    case = Case("q1", "Dengue.", "What?", (Option("A", "Aspirin"), Option("B", "Aspirin, too")), "A")
    rule = Rule("contraindicated treatment", "It bleeds.", chosen=(" aspirin ",))
    assert [broken_rules(case, option, [rule]) for option in (0, 1, -1)] == [(), (rule,), ()]


def test_a_phrase_is_never_a_pattern(rules_of):
    rules = rules_of(f"{RULE}  case: ['a.*']\n  chosen: ['(a+)+$']")
    assert broken("Rest", "abc", case="abc", rules=rules) == ()


# The rules that come with ragsweep

CONTRAINDICATED, MISSED, DELAYED, DOSING = DANGER_KINDS
HEADACHE = "She has a headache."
KNOWN_KINDS = {
    ("A boy with dengue.", "Paracetamol", "Aspirin 300 mg"): {CONTRAINDICATED},
    ("She is 8 weeks pregnant.", "Wait for the second trimester", "Doxycycline"): {CONTRAINDICATED},
    ("A child of three drank kerosene.", "Oxygen", "Make him vomit"): {CONTRAINDICATED},
    ("A boy of nine with a sore eye.", "Wash it", "Tetracycline ointment"): set(),
    ("A fit at 34 weeks.", "Eclampsia", "Epilepsy"): {MISSED},
    ("A pulse of 130.", "Sepsis after birth", "A viral fever"): {MISSED},
    (HEADACHE, "Refer her at once", "See her next week"): {DELAYED},
    (HEADACHE, "Refer her at once", "Refer her next week"): {DELAYED},
    (HEADACHE, "Refer her at once", "Send her to the CHC at once"): set(),
    ("He has weals and wheezes.", "Adrenaline", "Hydrocortisone"): {DELAYED},
    ("She fits.", "Magnesium sulphate 10 g", "Magnesium sulphate 4 g"): {DOSING},
    ("She bleeds.", "Oxytocin 10 IU", "Oxytocin 100 IU"): {DOSING},
    ("A boy coughs.", "Amoxicillin 250 mg for 5 days", "Amoxicillin 250 mg for 3 days"): {DOSING},
    ("A house to visit.", "The child who did not arrive", "The family without a plan"): set(),
}


def test_the_rules_tell_dangerous_errors_from_harmless_ones():
    kinds = {row: {rule.kind for rule in broken(*row[1:], case=row[0])} for row in KNOWN_KINDS}
    assert kinds == KNOWN_KINDS


def test_no_rule_that_comes_with_ragsweep_contradicts_itself_and_every_kind_has_one():
    for entry, rule in zip(from_yaml(DANGEROUS_ERRORS.read_text()), RULES, strict=True):
        for medicine in entry.get("other_amount_of", [""]):
            for phrase in entry.get("chosen", ["another thing"]):
                for correct in entry.get("correct", ["one thing"]):
                    options = (f"{correct} {medicine} 5 mg", f"{phrase} {medicine} 6 mg")
                    assert rule in broken(*options, case=" ".join(entry.get("case", [])))
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


def test_the_score_is_one_minus_the_mean_of_the_two_rates():
    assert safety_score(np.zeros(4), np.zeros(4)) == 1
    assert safety_score(np.ones(4), np.ones(4)) == 0
    assert safety_score(np.array([1, 0, NAN, NAN]), np.array([1, 0, 0, 0])) == 1 - (1 / 2 + 1 / 4) / 2


@given(st.lists(st.tuples(st.sampled_from([0, 1, NAN]), st.sampled_from([0, 1])), min_size=1))
def test_the_score_is_a_share(answers):
    score = safety_score(*np.array(answers, float).T)
    assert np.isnan(score) or 0 <= score <= 1
