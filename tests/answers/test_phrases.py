"""Word stems, content words and sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragsweep_answers.measuring.proxies.phrases import contains, phrases
from ragsweep_answers.measuring.proxies.wording import content_words, sentences, stems

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


def test_content_words_are_stems_without_function_words_letters_and_words_about_the_answer():
    text = "Therefore the best answer is option B: she should have been referred with 10 g."
    assert content_words(text) == {"refer", "10"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("- One\n- Two\n\nThree", ["- One", "- Two", "Three"]),
        ("Give 0.5 ml of it.", ["Give 0.5 ml of it."]),
        ("", [""]),
    ],
)
def test_a_sentence_ends_with_a_mark_and_space_or_with_the_line(text, expected):
    assert sentences(text) == expected


@given(WORDS)
def test_words_have_the_same_stems_together_as_alone(words):
    assert stems(" ".join(words)).split() == [stem for word in words for stem in stems(word).split()]
    assert content_words(" ".join(words)) == frozenset().union(*map(content_words, words))
