"""References are found where they are in the passage, and what is not there is not found."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep_generate.draft_checks import SHORTEST_REFERENCE, locate

PASSAGE = (
    "Gestational diabetes. Dissolve 75 g glucose in 300 ml water.\nShe drinks it within 5\u201310 minutes, "
    "and does not walk home. “Below 120” she continues; at 120 or above the doctor adds\nmetformin or insulin"
)


def found(reference):
    span = locate(reference, PASSAGE)
    return span and PASSAGE[slice(*span)]


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("Dissolve 75 g glucose", "Dissolve 75 g glucose"),
        ('"Dissolve 75 g glucose"', "Dissolve 75 g glucose"),
        ("in 300 ml water. She drinks it", "in 300 ml water.\nShe drinks it"),
        ("DISSOLVE 75 G  glucose", "Dissolve 75 g glucose"),
        ("within 5-10 minutes", "within 5\u201310 minutes"),
        ('"Below 120" she continues', "Below 120” she continues"),
        ("Disolve 75 g glucose in 300 ml of water.", "Dissolve 75 g glucose in 300 ml water."),
        (
            "at 120 or above the doctors add metformin or insulin",
            "at 120 or above the doctor adds\nmetformin or insulin",
        ),
    ],
    ids=["exact", "in quotes", "line end", "case", "dash", "quotes", "typing error", "other forms"],
)
def test_a_reference_is_mapped_to_the_text_of_the_passage(reference, text):
    assert found(reference) == text


@pytest.mark.parametrize(
    "reference",
    [
        "Dissolve 57 g glucose in 300 ml water.",
        "She drinks it within 5\u201310 minutes, and does walk home.",
        "Give her insulin before the test and again after it.",
        "glucose",
        "",
        PASSAGE + " And more.",
    ],
    ids=["another number", "no negation", "invented", "too short", "empty", "longer than the passage"],
)
def test_what_the_passage_does_not_say_is_not_found(reference):
    assert found(reference) is None


@pytest.mark.parametrize("sentence", ["二甲双胍的剂量为257毫克。", "七日以内に作成します。", "วัดความดัน"])
def test_a_sentence_of_a_script_without_spaces_is_long_enough(sentence):
    assert locate(sentence, f"序。{sentence}終。") == (2, 2 + len(sentence))


@given(st.data())
def test_every_part_of_a_passage_is_found_whatever_its_white_space(data):
    words = list(re.finditer(r"\S+", PASSAGE))
    first = data.draw(st.integers(0, len(words) - SHORTEST_REFERENCE))
    last = data.draw(st.integers(first + SHORTEST_REFERENCE, len(words)))
    spaces = data.draw(
        st.lists(st.sampled_from([" ", "\n", "\t ", "  "]), min_size=last - first, max_size=last - first)
    )
    part = "".join(word[0] + space for word, space in zip(words[first:last], spaces, strict=True))
    assert re.findall(r"\w+", found(part)) == re.findall(r"\w+", part)


@given(st.text(max_size=80), st.text(max_size=120))
def test_a_span_is_within_the_text_whatever_both_are(reference, text):
    """Also letters whose lower case is longer, such as İ."""
    span = locate(reference, text)
    if span:
        start, end = span
        assert 0 <= start < end <= len(text)
        assert text[start:end].strip() == text[start:end]


def test_letters_that_grow_in_lower_case_do_not_move_the_span():
    text = "İstanbul İİİİ. Give the child zinc for fourteen days."
    assert text[slice(*locate("Give the chld zinc for fourteen days", text))].startswith("Give the child zinc")
