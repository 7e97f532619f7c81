"""Phrases that are found whatever the endings of their words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep.text.content_words import contains, phrases, reasoning_stems, stems

WORDS = st.lists(st.sampled_from("fever Fevers referred 0.5 mg 10g sulphate the of B -- (...) é ß".split()), max_size=8)


@pytest.mark.parametrize(
    ("phrase", "text", "expected"),
    [
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
    ],
)
def test_a_phrase_is_found_as_words_in_a_row_whatever_their_endings_and_spelling(phrase, text, expected):
    assert contains(stems(text), phrases([phrase])) is expected


@given(WORDS)
def test_words_have_the_same_stems_together_as_alone(words):
    assert stems(" ".join(words)).split() == [stem for word in words for stem in stems(word).split()]
    assert reasoning_stems(" ".join(words)) == frozenset().union(*map(reasoning_stems, words))
