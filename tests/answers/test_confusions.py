"""Conditions that are taken for each other."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.core.errors import ConfigError
from ragsweep.datasets.model.cases import LETTERS, Case, Option
from ragsweep_answers.measuring.proxies.confusions import CONFUSION_KINDS, Pair, confusions, read_groups

GROUPS = read_groups()
CONDITIONS = ("Pneumonia", "acute bronchitis", "Heart failure", "Angina", "broken arm", None)


def case(*conditions, correct="A", condition=None):
    options = tuple(Option(letter, "text") for letter in LETTERS[: max(len(conditions), 2)])
    return Case("q1", "", "What is it?", options, correct, condition=condition, conditions=conditions)


def confused(*answers):
    cases, chosen = zip(*answers, strict=True) if answers else ((), ())
    return confusions(cases, np.array(chosen, int), GROUPS)


def kind_of(one, other):
    return next(kind for kind, count in confused((case(one, other), 1)).counts.items() if count)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Pneumonia", "Acute bronchitis", "similar condition"),
        ("MI", "unstable angina", "similar condition"),
        ("DVT", "Pulmonary embolism", "similar condition"),
        ("Pneumonia", "Heart failure", "unrelated condition"),
        ("Pneumonia", "broken arm", "condition in no group"),
        ("Pneumonia", "PNEUMONIAS", "same condition"),
        ("Pneumonia", None, "condition not known"),
        ("Pneumonia", "--", "condition not known"),
    ],
)
def test_conditions_are_similar_if_they_share_a_group(one, other, expected):
    assert kind_of(one, other) == kind_of(other, one) == expected


def test_pairs_are_counted_both_ways_the_most_common_first():
    found = confused(
        (case("Angina", "Heart failure"), 1),
        (case("Gout", "Pneumonia"), 1),
        (case("Angina", "heart failure", correct="B"), 0),
    )
    assert found.pairs == (
        Pair("Angina", "Heart failure", 2, "unrelated condition"),
        Pair("Gout", "Pneumonia", 1, "unrelated condition"),
    )


@given(st.lists(st.tuples(st.sampled_from("ABCDEF"), st.integers(-1, 5)), max_size=12))
def test_the_kinds_partition_the_wrong_answers_that_chose_an_option(answers):
    cases = [case(*CONDITIONS, correct=correct) for correct, _ in answers]
    found = confused(*zip(cases, [chosen for _, chosen in answers], strict=True))
    wrong = sum(chosen >= 0 and LETTERS[chosen] != correct for correct, chosen in answers)
    assert sum(found.counts.values()) == wrong
    assert tuple(found.counts) == CONFUSION_KINDS
    assert sum(pair.times for pair in found.pairs) == sum(found.counts[kind] for kind in CONFUSION_KINDS[:3])


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
        others = [name for other in groups[:number] + groups[number + 1 :] for name in other]
        assert {kind_of(group[0], name) for name in group[1:]} == {"similar condition"}
        assert {kind_of(name, other) for name in group for other in others} == {"unrelated condition"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found null, expected names of groups, each with a list of conditions"),
        ("- pneumonia", "found a list, expected names of groups"),
        ("lungs: pneumonia", '"lungs": found "pneumonia", expected a list of phrases'),
        ("lungs: []", '"lungs": found an empty list, expected a list of phrases'),
        ("lungs: [1]", '"lungs": found 1, expected a phrase of one word or more'),
        ("lungs: ['--']", '"lungs": found "--", expected a phrase of one word or more'),
        ("lungs: [2020-01-01]", '"lungs": found a date, expected a phrase'),
        ("lungs: [", "not plain YAML"),
        ("lungs: &a [x]\nliver: *a", "holds an alias"),
    ],
)
def test_a_bad_file_of_groups_gives_one_line(tmp_path, text, message):
    path = tmp_path / "groups.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=re.escape(message)) as error:
        read_groups(path)
    assert str(error.value).startswith(f"{path}")
    assert len(str(error.value).splitlines()) == 1


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: cannot be read \(No such file or directory\)"):
        read_groups(tmp_path / "nowhere.yaml")
