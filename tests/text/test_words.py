"""Words of texts in any script, their normal forms, and those that carry the content."""

# ruff: noqa: RUF001  # letters that look alike are the point

import re
from itertools import pairwise
from unicodedata import normalize

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
from ragsweep.text.normalisation import Spellings, folded, same_name, without_variants
from ragsweep.text.tokens import plain_words, whole_word, word_spans, words, written_words

ASCII = st.text(st.characters(max_codepoint=127))
ANY = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("क्षिहीกำเ図書アー가각ä\u0308\u200d "))


@given(ASCII)
def test_words_of_ascii_are_those_of_a_regular_expression(text):
    assert words(text) == re.findall(r"\w+", text.lower())
    assert written_words(text) == re.findall(r"\w+", text)
    assert word_spans(text) == [match.span() for match in re.finditer(r"\w+", text)]
    assert folded(text) == text.lower()


@given(st.text(st.sampled_from("abcXYZäöüßéñçøßΑβγΣ жЖ_09²½ﬁµ-'’\n")))
def test_words_of_scripts_with_spaces_are_those_of_a_regular_expression_too(text):
    def same(word):  # lower-casing and folding differ in the spelling of a word, not in where it begins and ends
        return normalize("NFKC", word).casefold()

    assert list(map(same, words(text))) == [same(word) for word in re.findall(r"\w+", text.lower())]


@given(ANY)
def test_spans_of_words_are_in_order_and_hold_all_letters_and_a_word_is_its_own_only_word(text):
    spans = word_spans(text)
    assert all(start < end for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    held = {place for span in spans for place in range(*span)}
    assert {place for place, character in enumerate(text) if re.match(r"\w", character)} <= held
    assert all(words(word) == [word] for word in words(text))


@given(ANY)
def test_canonical_forms_are_the_same_and_what_is_folded_stays(text):
    composed, decomposed = normalize("NFC", text), normalize("NFD", text)
    assert same_name(decomposed, composed)
    assert folded(decomposed) == folded(composed)
    assert folded(folded(text)) == folded(text)
    names = Spellings([decomposed, "b"])
    assert {composed, decomposed} == {name for name in (composed, decomposed) if name in names}
    assert [names.of(composed), names.of("b")] == [decomposed, "b"]
    assert names.of(f"{text}b") == f"{text}b"


WORDS = {
    "मुख्यमंत्री की मौत": ["मुख्यमंत्री", "की", "मौत"],
    "שָׁלוֹם מֶלֶךְ": ["שָׁלוֹם", "מֶלֶךְ"],
    "مُحَمَّد": ["مُحَمَّد"],
    "Cafe\u0301 OUVERT": ["café", "ouvert"],
    "图书馆": ["图书", "书馆"],
    "图。书": ["图", "书"],  # alone on each side
    "アスピリンを": ["アス", "スピ", "ピリ", "リン", "ンを"],  # across the scripts of Japanese, as Lucene does
    "한국어 문서": ["한국", "국어", "문서"],
    "一日3回100mgずつ": ["一日", "3", "回", "100mg", "ずつ"],
    "กินยา": ["กิน", "นย", "ยา"],
    "ភាសា": ["ភាសា"],
}


def test_words_keep_their_marks_and_scripts_without_spaces_have_bigrams():
    assert {text: words(text) for text in WORDS} == WORDS
    asked = words("ห้องสมุด")  # its bigrams are the same in every sentence
    assert len(asked) > 3
    assert {*asked} <= {*words("ห้องสมุดเปิดกี่โมง")} & {*words("ไปห้องสมุด")}


def test_plain_words_have_no_punctuation_and_a_letter_of_a_script_without_spaces_is_no_part_of_another_word():
    assert plain_words("Don't eat 0.5 well-known (leaves).") == ["dont", "eat", "05", "wellknown", "leaves"]
    assert plain_words("图书馆，开门") == ["图书", "书馆", "开门"]
    pattern = whole_word("ANC")
    assert pattern.search("请查ANC结果")
    assert not pattern.search("CANCER")
    assert pattern.search("ที่ANC")  # the letter before it has marks
    assert pattern.search("e\u0301ANC") is None
    assert whole_word("กท").search("กที่") is None  # its last letter goes on
    assert not whole_word("हृदय").search("हृदयि")  # a vowel sign follows


FOLDED = [
    ("Ａｎｃ　１２３", "anc 123"),  # full width
    ("ｱｽﾋﾟﾘﾝ", "アスピリン"),  # half width
    ("Wirt\u00adschaft", "wirtschaft"),  # soft hyphen
    ("\ufeffiron\u200b\u2060", "iron"),
    ("می\u200cخواهم", "میخواهم"),
    ("STRASSE", "straße"),
    ("ΟΔΟΣ", "οδος"),
    ("5㎎", "5mg"),
    ("المستشفـــى", "المستشفى"),  # lengthened
    ("م\u0640\u064eن", "م\u064eن"),
    ("مﹷن", "م\u064eن"),  # a mark on a lengthening line, in one character
    ("\u0665\u0660\u0660 \u096b\u0966\u0966 \u0e55\u0e50\u0e50", "500 500 500"),  # Arabic, Hindi, Thai
    ("ﻣﺮﺣﺒﺎ", "مرحبا"),  # presentation forms, as PDF files have them
]
VARIANTS = {"ﬁnding": "finding", "h₂o": "h2o", "µg": "μg", "10⁹": "10⁹", "2½": "2½", "x²": "x2", "iron": "iron"}


def test_what_does_not_matter_is_folded_but_variants_of_letters_only_where_their_plain_form_is_asked_for():
    assert [folded(one) for one, _ in FOLDED] == [folded(other) for _, other in FOLDED]
    assert list(map(folded, VARIANTS)) == [*VARIANTS]
    assert list(map(without_variants, VARIANTS)) == [*VARIANTS.values()]


def test_negations_and_words_that_compare_are_content_but_not_what_a_text_says_about_the_answer():
    assert content_words("Should more of the Iron not be given with iron?") == ["more", "Iron", "not", "given"]
    assert content_stems("Tablets can't be given: tablets.") == ["tablet", "not", "given", "tablet"]
    for text in ("It doesn't help.", "It doesn\u2019t help.", "It never helps.", "It will not help."):
        assert numbers_and_negations(text) == {"not": 1}
    text = "Therefore the best answer is option B: she should have been referred with 10 g."
    assert reasoning_stems(text) == {"refer", "10"}


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
    assert [row for row in PHRASES if contains(stems(row[1]), phrases([row[0]])) is not row[2]] == []


ENGLISH = "fever Fevers referred 0.5 mg 10g sulphate the of B -- (...) é ß".split()


@given(st.lists(st.sampled_from(ENGLISH), max_size=8))
def test_words_have_the_same_stems_together_as_alone(words):
    assert stems(" ".join(words)).split() == [stem for word in words for stem in stems(word).split()]
    assert reasoning_stems(" ".join(words)) == frozenset().union(*map(reasoning_stems, words))
