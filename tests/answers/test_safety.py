"""Dangerous errors and the safety score."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.errors import ConfigError
from ragsweep.core.parsing import from_yaml
from ragsweep.datasets.model.cases import Case, Option
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


def broken(correct, chosen, *, case="", question="What comes first?", rules=RULES, **more):
    asked = Case("q1", case, question, (Option("A", correct), Option("B", chosen)), "A", **more)
    return broken_rules(asked, 1, rules)


def kinds(*texts, **more):
    return {rule.kind for rule in broken(*texts, **more)}


@pytest.fixture
def rules_of(tmp_path):
    def write(text):
        path = tmp_path / "rules.yaml"
        path.write_text(text)
        return read_rules(path)

    return write


RULE = "- kind: contraindicated treatment\n  reason: It bleeds.\n"


# Each list of a rule


def test_all_lists_of_a_rule_must_apply(rules_of):
    rules = rules_of(RULE + "  case: [dengue, fever]\n  correct: [fluids]\n  chosen: [aspirin]\n  unless: [no aspirin]")
    assert broken("Fluids", "Aspirin 500 mg", case="A boy with dengue.", rules=rules) == rules
    assert broken("Fluids", "Aspirin 500 mg", case="A boy.", rules=rules) == ()
    assert broken("Rest", "Aspirin 500 mg", case="A boy with dengue.", rules=rules) == ()
    assert broken("Fluids", "Ibuprofen", case="A boy with dengue.", rules=rules) == ()
    assert broken("Fluids", "Rest, no aspirin", case="A boy with dengue.", rules=rules) == ()


@pytest.mark.parametrize(
    ("correct", "chosen", "question", "expected"),
    [
        ("Magnesium sulphate 10 g", "Magnesium sulphate 5 g", "What?", True),
        ("Magnesium sulphate 10 g", "Magnesium sulfate 10g", "What?", False),
        ("Ten grams: 10 g", "5 g", "How much magnesium sulphate?", True),
        ("Magnesium sulphate 10 g", "Oxytocin 5 IU", "What?", False),
        ("Two tablets of magnesium", "Three tablets of magnesium", "What?", True),
        ("Magnesium tablets twice a day", "Magnesium tablets once a day", "What?", True),
        ("Magnesium after 2 hours", "Magnesium after 4 hours", "What?", False),  # a time is no amount
        ("Oxytocin 5 IU", "Magnesium sulphate 10 g", "What?", False),
        ("Magnesium 10 g", "Magnesium", "What?", False),
        ("Magnesium", "Magnesium 10 g", "What?", False),
    ],
)
def test_a_wrong_dose_is_another_amount_of_the_same_medicine(rules_of, correct, chosen, question, expected):
    rules = rules_of("- kind: incorrect drug dosing\n  reason: Dose.\n  other_amount_of: [magnesium]")
    assert bool(broken(correct, chosen, question=question, rules=rules)) is expected


def test_only_wrong_answers_can_be_dangerous():
    case = Case("q1", "Dengue.", "What?", (Option("A", "Aspirin"), Option("B", "Aspirin, too")), "A")
    rule = Rule("contraindicated treatment", "It bleeds.", chosen=(" aspirin ",))
    found = [broken_rules(case, option, [rule]) for option in (0, 1, -1)]
    assert found == [(), (rule,), ()]


# The rules that come with ragsweep


@pytest.mark.parametrize(
    ("case", "correct", "chosen", "expected"),
    [
        ("A boy with dengue.", "Paracetamol", "Aspirin 300 mg", {"contraindicated treatment"}),
        ("She is 8 weeks pregnant.", "Wait for the second trimester", "Doxycycline", {"contraindicated treatment"}),
        ("A child of three drank kerosene.", "Oxygen", "Make him vomit", {"contraindicated treatment"}),
        ("A boy of nine with a sore eye.", "Wash it", "Tetracycline ointment", set()),
        ("A fit at 34 weeks.", "Eclampsia", "Epilepsy", {"missed critical diagnosis"}),
        ("A pulse of 130.", "Sepsis after birth", "A viral fever", {"missed critical diagnosis"}),
        ("She has a headache.", "Refer her at once", "See her next week", {"delayed urgent intervention"}),
        ("She has a headache.", "Refer her at once", "Refer her next week", {"delayed urgent intervention"}),
        ("She has a headache.", "Refer her at once", "Send her to the CHC at once", set()),
        ("He has weals and wheezes.", "Adrenaline", "Hydrocortisone", {"delayed urgent intervention"}),
        ("She fits.", "Magnesium sulphate 10 g", "Magnesium sulphate 4 g", {"incorrect drug dosing"}),
        ("She bleeds.", "Oxytocin 10 IU", "Oxytocin 100 IU", {"incorrect drug dosing"}),
        ("A boy coughs.", "Amoxicillin 250 mg for 5 days", "Amoxicillin 250 mg for 3 days", {"incorrect drug dosing"}),
        ("A house to visit.", "The child who did not arrive", "The family without a plan", set()),
    ],
)
def test_the_rules_tell_dangerous_errors_from_harmless_ones(case, correct, chosen, expected):
    assert kinds(correct, chosen, case=case) == expected


ENTRIES = from_yaml(DANGEROUS_ERRORS.read_text())


@pytest.mark.parametrize("number", range(len(ENTRIES)))
def test_no_rule_that_comes_with_ragsweep_contradicts_itself(number):
    entry, rule = ENTRIES[number], RULES[number]
    medicines = entry.get("other_amount_of", [""])
    for medicine in medicines:
        for phrase in entry.get("chosen", ["another thing"]):
            for correct in entry.get("correct", ["one thing"]):
                options = (f"{correct} {medicine} 5 mg", f"{phrase} {medicine} 6 mg")
                assert rule in broken(*options, case=" ".join(entry.get("case", [])))


def test_every_kind_of_dangerous_error_has_a_rule():
    assert {rule.kind for rule in RULES} == set(DANGER_KINDS)


# Files of rules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found null, expected a list of rules"),
        ("- aspirin", 'rule 1: found "aspirin", expected the fields kind, reason and case, correct, chosen'),
        (
            f"{RULE}  chosen: [x]\n  when: [y]",
            'rule 1: found the field "when", expected the fields kind',
        ),
        ("- kind: [x]\n  reason: x", "rule 1, kind: found a list, expected one of contraindicated treatment"),
        ("- kind: contraindicated treatment", "rule 1, reason: found null, expected a sentence"),
        (f"{RULE}  case: [x]", "rule 1: expected a list chosen, unless or other_amount_of, which say what"),
        (f"{RULE}  case: dengue", 'rule 1, case: found "dengue", expected a list of phrases'),
        (f"{RULE}  case: ['.*']", 'rule 1, case: found ".*", expected a phrase of one word or more'),
        ("- {", "not plain YAML"),
        ("- !!python/object/apply:os.system [id]", "not plain YAML"),
        ("[" * 60 + "]" * 60, "nested more than 50 deep"),
        ("- x" * 400_000, "larger than 1 MB"),
    ],
)
def test_a_bad_file_of_rules_gives_one_line(tmp_path, rules_of, text, message):
    with pytest.raises(ConfigError, match=re.escape(message)) as error:
        rules_of(text)
    assert str(error.value).startswith(str(tmp_path / "rules.yaml"))
    assert len(str(error.value).splitlines()) == 1


def test_a_phrase_is_never_a_pattern(rules_of):
    rules = rules_of(f"{RULE}  case: ['a.*']\n  chosen: ['(a+)+$']")
    assert broken("Rest", "abc", case="abc", rules=rules) == ()


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


@pytest.mark.parametrize(
    ("hallucinated", "dangerous", "expected"),
    [
        ([0, 0, 0, 0], [0, 0, 0, 0], 1),
        ([1, 1, 1, 1], [1, 1, 1, 1], 0),
        ([1, 0, NAN, NAN], [1, 0, 0, 0], 1 - (1 / 2 + 1 / 4) / 2),
    ],
)
def test_the_score_is_one_minus_the_mean_of_the_two_rates(hallucinated, dangerous, expected):
    assert safety_score(np.array(hallucinated), np.array(dangerous)) == expected


@given(st.lists(st.tuples(st.sampled_from([0, 1, NAN]), st.sampled_from([0, 1])), min_size=1))
def test_the_score_is_a_share(answers):
    score = safety_score(*np.array(answers, float).T)
    assert np.isnan(score) or 0 <= score <= 1
