"""Steps, words and citations of a reasoning."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep_answers.answering.question import Answer
from ragsweep_answers.measuring.proxies.pitfalls import completeness, evidence_cited

COMPLETE = (
    "Clinical presentation: 33 weeks pregnant. Her symptoms are severe. The diagnosis is eclampsia. "
    "The guideline says magnesium. Therefore B."
)


@pytest.mark.parametrize(
    ("reasoning", "expected"),
    [
        (COMPLETE, 1),
        (COMPLETE.upper(), 1),
        ("A sign of eclampsia; the recommended drug is magnesium.", 2 / 5),
        ("The clinical picture: she presents with a fit.", 0),  # not the phrase
        ("A design for the unconditional.", 0),  # the reference finds "sign" and "condition" in these words
        ("B", 0),
    ],
)
def test_completeness_is_the_share_of_the_five_steps_that_are_named(reasoning, expected):
    assert completeness(Answer("B", reasoning=reasoning)) == expected


@pytest.mark.parametrize(
    ("cited", "units", "expected"),
    [
        (["m#1"], ["m#1", "m#2"], 1 / 2),
        (["m#1", "m#1"], ["m#1", "m#2"], 1 / 2),
        (["m#1"], ["m#1", "m#1", "m#2"], 1 / 2),  # two passages of a page
        (["m#1", "m#9"], ["m#1", "m#2"], 1 / 2),  # m#9 was not given
        ([], ["m#1"], 0),
    ],
)
def test_evidence_cited_is_the_share_of_the_given_units_that_are_cited(cited, units, expected):
    answer = Answer("B", reasoning="Because.", cited=tuple(cited))
    assert evidence_cited(answer, units) == expected


@pytest.mark.parametrize(
    ("answer", "units"), [(Answer("B", reasoning="Because.", cited=("m#1",)), []), (Answer("B"), ["m#1"])]
)
def test_citations_are_not_measured_without_evidence_or_without_a_reasoning(answer, units):
    assert np.isnan(evidence_cited(answer, units))


WORDS = st.lists(st.sampled_from(["clinical presentation", "sign", "diagnosis", "protocol", "answer", "fever", "."]))
UNITS = st.lists(st.sampled_from(["m#1", "m#2", "m#3"]), max_size=4)


@given(WORDS, UNITS, UNITS)
def test_shares_stay_within_bounds(words, cited, units):
    answer = Answer("B", reasoning=" ".join(words), cited=tuple(cited))
    for share in (completeness(answer), evidence_cited(answer, units)):
        assert np.isnan(share) or 0 <= share <= 1
