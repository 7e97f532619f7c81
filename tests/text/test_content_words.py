"""The words and phrases that carry the content of a text, whatever their endings."""

from hypothesis import given
from hypothesis import strategies as st

from ragsweep.text.content_words import (
    contains,
    content_stems,
    content_words,
    numbers_and_negations,
    phrases,
    reasoning_stems,
    stems,
)


def test_negations_and_words_that_compare_are_content():
    assert content_words("Should more of the Iron not be given with iron?") == ["more", "Iron", "not", "given"]
    assert content_stems("Tablets can't be given: tablets.") == ["tablet", "not", "given", "tablet"]


def test_a_negation_counts_in_every_form():
    for text in ("It doesn't help.", "It doesn\u2019t help.", "It never helps.", "It will not help."):
        assert numbers_and_negations(text) == {"not": 1}


def test_content_words_are_stems_without_function_words_letters_and_words_about_the_answer():
    text = "Therefore the best answer is option B: she should have been referred with 10 g."
    assert reasoning_stems(text) == {"refer", "10"}


WORDS = st.lists(st.sampled_from("fever Fevers referred 0.5 mg 10g sulphate the of B -- (...) é ß".split()), max_size=8)


PHRASES = [  # a phrase, a text, and whether it is in it
    ("refer", "She was referred today.", True),
    ("refer today", "Refer her today.", False),
    ("magnesium sulphate", "MAGNESIUM-SULFATE", True),
    ("anaemia", "severe anemia", True),
    ("labour", "in labor", True),
    ("stabilise", "stabilized", True),
    ("5 mg", "0.5 mg", False),
    ("5 mg", "give 5mg", True),
    ("fit", "profit", False),
    ("pre-eclampsia", "pre eclampsia", True),
]


def test_a_phrase_is_found_as_words_in_a_row_whatever_their_endings_and_spelling():
    for phrase, text, is_there in PHRASES:
        assert contains(stems(text), phrases([phrase])) is is_there, (phrase, text)


@given(WORDS)
def test_words_have_the_same_stems_together_as_alone(words):
    assert stems(" ".join(words)).split() == [stem for word in words for stem in stems(word).split()]
    assert reasoning_stems(" ".join(words)) == frozenset().union(*map(reasoning_stems, words))
