"""The words that carry the content of a text."""

import pytest

from ragsweep.text.content_words import content_stems, content_words, numbers_and_negations, reasoning_stems


def test_negations_and_words_that_compare_are_content():
    assert content_words("Should more of the Iron not be given with iron?") == ["more", "Iron", "not", "given"]
    assert content_stems("Tablets can't be given: tablets.") == ["tablet", "not", "given", "tablet"]


@pytest.mark.parametrize("text", ["It doesn't help.", "It doesn\u2019t help.", "It never helps.", "It will not help."])
def test_a_negation_counts_in_every_form(text):
    assert numbers_and_negations(text) == {"not": 1}


def test_content_words_are_stems_without_function_words_letters_and_words_about_the_answer():
    text = "Therefore the best answer is option B: she should have been referred with 10 g."
    assert reasoning_stems(text) == {"refer", "10"}
